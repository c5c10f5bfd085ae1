"""Beyond one machine: caches and workers that are real servers. Bazel's own count is the oracle."""

import json
import re
import subprocess
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


class Machine:
    """This one, but with a folder for caches of its own: as good as another one."""

    def __init__(self, tfbuild: TfBuild, source: Path, folder: Path) -> None:
        self.tfbuild, self.folder = tfbuild, folder
        self.header = folder / "header"
        self.tools = folder.parent / "tools"
        self.tools.mkdir(exist_ok=True)
        folder.mkdir()
        self.header.write_text(f"# who we are\nAuthorization: {SECRET}\n")
        self.words: tuple[str | Path, ...] = (
            *RELEASE,
            "--engine",
            "local",
            "--bazel",
            "system",
            "--source",
            source,
        )

    def build(
        self, *options: str | Path, target: str = "nehalem"
    ) -> "subprocess.CompletedProcess[str]":
        import os

        return self.tfbuild(
            *("wheel", "--target", target, *self.words, "--output-dir", self.folder / "wheels"),
            *options,
            env={
                "XDG_CACHE_HOME": str(self.folder / "cache"),
                # The PATH is a part of the key of an action.
                "PATH": f"{self.tools}:{os.environ['PATH']}",
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
def machine(tfbuild: TfBuild, source: Path, tmp_path: Path) -> Callable[[str], Machine]:
    return lambda name: Machine(tfbuild, source, tmp_path / name)


def test_http_cache(machine: Callable[[str], Machine], nginx: Nginx) -> None:
    cache = ("--remote-cache", f"http://127.0.0.1:{nginx.http}/c")
    first, second, third = machine("first"), machine("second"), machine("third")
    done = first.build(*cache, "--remote-header-file", first.header)
    assert done.returncode == 0, done.stderr
    assert f"remote cache: http://127.0.0.1:{nginx.http}/c (with Authorization)" in done.stderr
    assert first.count()["linux-sandbox"] == ACTIONS
    assert sum(way == ("PUT", "ac", 201) for way in nginx.requests()) == ACTIONS
    assert first.holds("se#cr") == []
    assert "se#cr" not in done.stdout + done.stderr
    # Not even printed and then hidden: it was never said.
    assert "[hidden]" not in first.log()

    # Another assembler, which Bazel does not see: none of those results, and none given.
    (first.tools / "as").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "GNU assembler 9.9"\nexec /usr/bin/as "$@"\n'
    )
    (first.tools / "as").chmod(0o755)
    done = second.build(*cache, "--remote-header-file", second.header, "--remote-read-only")
    assert done.returncode == 0, done.stderr
    assert "read only" in done.stderr
    assert "remote cache hit" not in second.count()
    assert set(nginx.requests()) == {("GET", "ac", 404)}

    # The same tools again: everything is there.
    (first.tools / "as").unlink()
    done = third.build(*cache, "--remote-header-env", "authorization=TEST_SECRET", "--json")
    assert done.returncode == 0, done.stderr
    assert third.count()["remote cache hit"] == ACTIONS
    assert json.loads(done.stdout)["actions"]["cached"] == ACTIONS
    assert json.loads(done.stdout)["actions"]["executed"] == 0
    asked = nginx.requests()
    assert sum(way == ("GET", "ac", 200) for way in asked) == ACTIONS
    assert not [way for way in asked if way[0] == "PUT"]
    wheels = {json.loads(done.stdout)["sha256"]}
    wheels |= {json.loads(next((one.folder / "wheels").glob("*.json")).read_text())["sha256"]
               for one in (first, second)}  # fmt: skip
    assert len(wheels) == 1

    # Without the header the server says no; the user hears of it, and gets the wheel.
    done = third.build(*cache, target="haswell")
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if "remote server" in line]
    assert ["gives nothing" in notes[0], "takes nothing" in notes[1]] == [True, True]
    assert all("401 Unauthorized" in note and "--remote-header-file" in note for note in notes)


def test_https_cache(machine: Callable[[str], Machine], nginx: Nginx) -> None:
    one, authority = machine("one"), nginx.folder / "ca.pem"
    cache = ("--remote-cache", f"https://localhost:{nginx.https}/s")
    header = ("--remote-header-file", one.header)
    distrusting = one.build(*cache, *header)
    assert distrusting.returncode == 5
    assert "unable to find valid certification path" in distrusting.stderr
    assert "--ca-certificate" in distrusting.stderr
    nginx.requests()
    done = one.build(*cache, *header, "--ca-certificate", authority)
    assert done.returncode == 0, done.stderr
    assert ("PUT", "ac", 201) in nginx.requests()


def test_grpc_cache(machine: Callable[[str], Machine], nginx: Nginx, grid: str) -> None:
    cache = ("--remote-cache", grid, "--remote-instance", "main")
    first, second = machine("first"), machine("second")
    header = ("--remote-header-file", first.header)
    refused = first.build(*cache)
    assert refused.returncode == 5
    assert "UNAUTHENTICATED: HTTP status code 401" in refused.stderr
    assert "--remote-header-file" in refused.stderr
    lost = first.build("--remote-cache", grid, "--remote-instance", "elsewhere", *header)
    assert lost.returncode == 5
    assert "Invalid instance name: [elsewhere]" in lost.stderr
    assert "--remote-instance" in lost.stderr

    assert first.build(*cache, *header).returncode == 0
    assert first.count()["linux-sandbox"] == ACTIONS
    assert first.holds("se#cr") == []
    done = second.build(*cache, *header)
    assert done.returncode == 0, done.stderr
    assert second.count()["remote cache hit"] == ACTIONS


def test_server_that_is_down(machine: Callable[[str], Machine]) -> None:
    one = machine("one")
    cache = ("--remote-cache", "grpc://127.0.0.1:9")
    for options, said in (((), "127.0.0.1:9"), (("--no-preflight",), "Connection refused: /127")):
        refused = one.build(*cache, *options)
        assert refused.returncode == 5
        assert said in refused.stderr
        assert "--remote-local-fallback" in refused.stderr
        assert not list((one.folder / "wheels").glob("*.whl*"))
    done = one.build(*cache, "--remote-local-fallback")
    assert done.returncode == 0, done.stderr
    assert "note: the remote server does not answer" in done.stderr
    assert one.count()["linux-sandbox"] == ACTIONS


def test_remote_execution(machine: Callable[[str], Machine], tmp_path: Path) -> None:
    """2.4.1 of buildbox speaks version 2.0 of the protocol, as Bazel 4 does; 2.8.1 does not."""
    one = machine("one")
    with executor(tmp_path / "new", "2.8.1") as address:
        refused = one.build("--remote-executor", address)
    assert refused.returncode == 5
    assert "API version 2.0 is not supported by the server" in refused.stderr
    assert "leave the server out" in refused.stderr
    with executor(tmp_path / "old", "2.4.1") as address:
        done = one.build("--remote-executor", address)
    assert done.returncode == 0, done.stderr
    assert one.count()["remote"] == ACTIONS
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
    import os
    import sys

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
