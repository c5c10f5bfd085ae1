"""Beyond one machine: caches and workers that are real servers. Bazel's own count is the oracle."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine.conftest import answers
from tests.engine.remote_servers import Nginx, buildgrid, executor

pytestmark = [pytest.mark.engine, pytest.mark.network]
TfBuild = Callable[..., "subprocess.CompletedProcess[str]"]
ACTIONS = 21  # those of the bundled workspace that run a program
# With all that an rc file or nginx could take for something else.
SECRET = 'Bearer se#cr"e t{setup}\\x'
RELEASE = ("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled workspace, which announces its options as TensorFlow's own tree does."""
    from tfbuild.rehearse import copy_workspace

    folder = copy_workspace(tmp_path_factory.mktemp("remote") / "source", "2.15.1")
    with (folder / ".bazelrc").open("a") as file:
        file.write("\ncommon --announce_rc\nbuild --announce_rc\n")
    return folder


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with Nginx(tmp_path_factory.mktemp("nginx"), SECRET).running() as server:
        yield server


@pytest.fixture(scope="module")
def grid(nginx: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """BuildGrid behind nginx."""
    with buildgrid(tmp_path_factory.mktemp("grid"), nginx.behind):
        yield f"grpc://127.0.0.1:{nginx.grpc}"


COMPILER = """\
#!/bin/sh
[ "$*" = -v ] && echo "%s" >&2
exec /usr/bin/gcc "$@"
"""


class Machine:
    """This one, with a folder for caches of its own; a new folder of that name makes it another.

    The place is a part of the keys of actions, as it is in the PATH. So is the compiler's path.
    """

    def __init__(self, tfbuild: TfBuild, source: Path, folder: Path) -> None:
        self.tfbuild, self.folder = tfbuild, folder
        self.header = folder / "header"
        self.header.write_text(f"# who we are\nAuthorization: {SECRET}\n")
        self.compiler = folder / "compiler"
        self.change_compiler("the first one")
        self.words: list[str | Path] = [*RELEASE, "--engine", "local", "--bazel", "system"]
        self.words += ["--source", source, "--output-dir", folder / "wheels", "--json"]

    def change_compiler(self, version: str) -> None:
        """Let the compiler, which Bazel does not look into, tell another version."""
        self.compiler.write_text(COMPILER % version)
        self.compiler.chmod(0o755)

    def become_another(self) -> None:
        """Keep nothing of what was compiled."""
        shutil.move(self.folder / "cache", Path(tempfile.mkdtemp(dir=self.folder)) / "old")

    def build(
        self, *options: str | Path, target: str = "nehalem"
    ) -> "subprocess.CompletedProcess[str]":
        return self.tfbuild(
            *("wheel", "--target", target, *self.words, *options),
            env={
                "XDG_CACHE_HOME": str(self.folder / "cache"),
                "CC": str(self.compiler),
                "TEST_SECRET": SECRET,
            },
        )

    def log(self) -> str:
        logs = sorted((self.folder / "cache/tfbuild/logs").glob("*.log"))
        return max(logs, key=lambda path: path.stat().st_mtime_ns).read_text()

    def count(self) -> dict[str, int]:
        """Bazel's closing line: {"remote cache hit": 21, "internal": 9}."""
        line = re.findall(r"^INFO: \d+ processes: (.*)\.$", self.log(), re.MULTILINE)[-1]
        return {kind: int(count) for count, kind in re.findall(r"(\d+) ([a-z][a-z -]*)", line)}

    def holds(self, text: str) -> list[str]:
        """Files of this machine, but the one that was given, that hold a text."""
        words = ["grep", "-rlaF", "-e", text, str(self.folder)]
        found = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return [name for name in found.splitlines() if name != str(self.header)]


@pytest.fixture
def machine(tfbuild: TfBuild, source: Path, tmp_path: Path) -> Machine:
    need(shutil.which("bazel"), "there is no Bazel")
    return Machine(tfbuild, source, tmp_path)


def test_http_cache(machine: Machine, nginx: Nginx) -> None:
    cache = ("--remote-cache", f"http://127.0.0.1:{nginx.http}/c")
    header = ("--remote-header-file", machine.header)
    done = machine.build(*cache, *header)
    assert done.returncode == 0, done.stderr
    assert f"remote cache: http://127.0.0.1:{nginx.http}/c (with Authorization)" in done.stderr
    assert machine.count()["linux-sandbox"] == ACTIONS
    assert sum(way == ("PUT", "ac", 201) for way in nginx.requests()) == ACTIONS
    assert machine.holds("se#cr") == []
    assert "se#cr" not in done.stdout + done.stderr
    # Not even printed and then hidden: it was never said.
    assert "[hidden]" not in machine.log()
    first = json.loads(done.stdout)

    # Another compiler, which Bazel does not see: none of those results, and none given.
    machine.become_another()
    machine.change_compiler("another one")
    done = machine.build(*cache, *header, "--remote-read-only")
    assert done.returncode == 0, done.stderr
    assert "read only" in done.stderr
    assert "remote cache hit" not in machine.count()
    assert set(nginx.requests()) == {("GET", "ac", 404)}

    # The same compiler again: everything is there.
    machine.become_another()
    machine.change_compiler("the first one")
    done = machine.build(*cache, "--remote-header-env", "authorization=TEST_SECRET")
    assert done.returncode == 0, done.stderr
    assert machine.count()["remote cache hit"] == ACTIONS
    third = json.loads(done.stdout)
    assert (third["actions"]["cached"], third["actions"]["executed"]) == (ACTIONS, 0)
    assert third["sha256"] == first["sha256"]
    asked = nginx.requests()
    assert sum(way == ("GET", "ac", 200) for way in asked) == ACTIONS
    assert not [way for way in asked if way[0] == "PUT"]

    # Without the header the server says no; the user hears of it, and gets the wheel.
    done = machine.build(*cache, target="haswell")
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if "remote server" in line]
    assert ["gives nothing" in notes[0], "takes nothing" in notes[1]] == [True, True]
    assert all("401 Unauthorized" in note and "--remote-header-file" in note for note in notes)


def test_https_cache(machine: Machine, nginx: Nginx) -> None:
    authority = nginx.folder / "ca.pem"
    cache = ("--remote-cache", f"https://localhost:{nginx.https}/s")
    header = ("--remote-header-file", machine.header)
    # Bazel 4 goes on or dies, as it happens; the user hears of it either way.
    nginx.requests()
    distrusting = machine.build(*cache, *header, "--remote-timeout", "5")
    assert distrusting.returncode in {0, 5}
    assert "note: the remote server gives nothing" in distrusting.stderr
    assert "--ca-certificate" in distrusting.stderr
    if distrusting.returncode == 5:
        assert "unable to find valid certification path" in distrusting.stderr
    assert nginx.requests() == []
    machine.become_another()
    done = machine.build(*cache, *header, "--ca-certificate", authority)
    assert done.returncode == 0, done.stderr
    assert ("PUT", "ac", 201) in nginx.requests()


def test_grpc_cache(machine: Machine, grid: str) -> None:
    cache = ("--remote-cache", grid, "--remote-instance", "main")
    header = ("--remote-header-file", machine.header)
    refused = machine.build(*cache)
    assert refused.returncode == 5
    assert "UNAUTHENTICATED: HTTP status code 401" in refused.stderr
    assert "--remote-header-file" in refused.stderr
    lost = machine.build("--remote-cache", grid, "--remote-instance", "elsewhere", *header)
    assert lost.returncode == 5
    assert "Invalid instance name: [elsewhere]" in lost.stderr
    assert "--remote-instance" in lost.stderr

    assert machine.build(*cache, *header).returncode == 0
    assert machine.count()["linux-sandbox"] == ACTIONS
    assert machine.holds("se#cr") == []
    machine.become_another()
    done = machine.build(*cache, *header)
    assert done.returncode == 0, done.stderr
    assert machine.count()["remote cache hit"] == ACTIONS


def test_server_that_is_down(machine: Machine) -> None:
    cache = ("--remote-cache", "grpc://127.0.0.1:9")
    for options, said in (((), "127.0.0.1:9"), (("--no-preflight",), "Connection refused: /127")):
        refused = machine.build(*cache, *options)
        assert refused.returncode == 5
        assert said in refused.stderr
        assert "--remote-local-fallback" in refused.stderr
        assert not list((machine.folder / "wheels").glob("*.whl*"))
    done = machine.build(*cache, "--remote-local-fallback")
    assert done.returncode == 0, done.stderr
    assert "note: the remote server does not answer" in done.stderr
    assert machine.count()["linux-sandbox"] == ACTIONS


def test_remote_execution(machine: Machine, tmp_path: Path) -> None:
    """2.4.1 of buildbox speaks version 2.0 of the protocol, as Bazel 4 does; 2.8.1 does not."""
    # The workers' sandbox has the compiler that everybody has.
    machine.compiler = Path("gcc")
    with executor(tmp_path / "new", "2.8.1") as address:
        refused = machine.build("--remote-executor", address)
    assert refused.returncode == 5
    assert "API version 2.0 is not supported by the server" in refused.stderr
    assert "leave the server out" in refused.stderr
    with executor(tmp_path / "old", "2.4.1") as address:
        done = machine.build("--remote-executor", address)
    assert done.returncode == 0, done.stderr
    assert machine.count()["remote"] == ACTIONS
    assert f"remote execution: {address}" in done.stderr


@pytest.fixture
def bridge() -> str:
    """This machine's address as containers see it."""
    need(answers("docker"), "docker does not answer")
    words = ["docker", "network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_http_cache_from_containers(
    bridge: str,
    docker_base: str,
    source: Path,
    tmp_path: Path,
    cache_home: Path,
    disposed: Callable[[str], None],
) -> None:
    """Two targets would share host tools; the second run has no disk cache, so all is remote."""
    nginx = Nginx(tmp_path / "nginx", SECRET, bridge)
    words = [
        *(sys.executable, "-m", "tfbuild", "wheel", "--engine", "docker", "--json", "--replace"),
        *("--target", "nehalem", *RELEASE, "--bazel", "apt", "--source", str(source)),
        *("--base-image", docker_base, "--remote-cache", f"http://{bridge}:{nginx.http}/d"),
        *("--remote-header-env", "authorization=TEST_SECRET"),
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache_home), "TEST_SECRET": SECRET}

    def build() -> tuple[dict[str, dict[str, int]], str]:
        pipe = subprocess.PIPE
        running = subprocess.Popen(
            words, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
        )
        seen = []
        while running.poll() is None:
            seen.append(_all_containers())
            time.sleep(0.5)
        out, err = running.communicate()
        assert running.returncode == 0, err
        return json.loads(out), "".join(seen) + out + err

    with nginx.running():
        first, seen = build()
        image = str(first["image"])
        disposed(image)
        volume = f"tfbuild-cache-{image.removeprefix('sha256:')[:16]}"
        subprocess.run(["docker", "volume", "rm", volume], check=True, capture_output=True)
        second, seen_again = build()
    assert first["actions"]["executed"] == ACTIONS
    assert second["actions"] | {"total": 0} == {"total": 0, "cached": ACTIONS, "executed": 0}
    assert second["sha256"] == first["sha256"]
    assert "tfbuild.recipe" in seen  # a container of ours was looked at
    history = subprocess.run(
        ["docker", "history", "--no-trunc", image], capture_output=True, text=True, check=True
    )
    assert "se#cr" not in seen + seen_again + history.stdout


def _all_containers() -> str:
    listed = subprocess.run(["docker", "ps", "-aq"], capture_output=True, text=True, check=False)
    words = ["docker", "inspect", *listed.stdout.split()]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout
