"""A Docker daemon of the tests' own: killed, out of disk space, pruned."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need
from tests.engine.standin import (
    ALL,
    ENOUGH,
    PATIENCE,
    Build,
    Onlooker,
    executed,
    fill,
    names,
    stored,
    until,
    workspace,
)

pytestmark = pytest.mark.engine


class Daemon:
    """A dockerd with everything of its own, its data on a small disk of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/docker.sock"
        self.data = folder / "data"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # In a network of its own: without a bridge, it would take docker0 from the machine.
        words: list[str | Path] = [
            *("unshare", "--net", "dockerd"),
            *("--data-root", self.data, "--exec-root", self.folder / "exec"),
            *("--pidfile", self.folder / "pid", "--host", self.host),
            *("--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"),
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)

        def answers() -> bool:
            assert self.process is not None
            if self.process.poll() is not None:
                pytest.fail((self.folder / "log").read_text()[-2000:])
            return self.docker("info", check=False).returncode == 0

        until(answers, "a daemon")

    def kill(self) -> None:
        """Kill the daemon alone; its containers know nothing of it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        # Its containerd dies with it. Where nobody collects the dead, that number seems to live,
        # and the next daemon would wait for it.
        (self.folder / "exec/containerd/containerd.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
        # One that was killed has left its containerd.
        left = self.folder / "exec/containerd/containerd.pid"
        if left.exists():
            number = int(left.read_text())
            program = Path(f"/proc/{number}/cmdline")
            if program.exists() and str(self.folder) in program.read_text():
                os.kill(number, signal.SIGKILL)

    def docker(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        command = ["docker", "--host", self.host, *words]
        return subprocess.run(command, capture_output=True, text=True, check=check)

    def volume(self, image: str) -> Path:
        """Return where the cache volume of a toolchain image lies."""
        return self.data / f"volumes/tfbuild-cache-{image.removeprefix('sha256:')[:16]}/_data"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    need(os.geteuid() == 0, "only root may start a daemon and mount")
    for program in ("dockerd", "mkfs.ext4", "unshare"):
        need(shutil.which(program), f"{program} is not here")
    one = Daemon(tmp_path_factory.mktemp("daemon"))
    with (one.folder / "disk").open("wb") as file:
        file.truncate(6 << 30)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", one.folder / "disk"], check=True)
    one.data.mkdir()
    subprocess.run(["mount", "-o", "loop", one.folder / "disk", one.data], check=True)
    try:
        one.start()
        yield one
    finally:
        one.stop()
        subprocess.run(["umount", "--lazy", one.data], check=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("standin") / "source", "/cache/log.json")


@pytest.fixture(scope="module")
def image(daemon: Daemon, source: Path, docker_base: str, cache_home: Path) -> Iterator[str]:
    """A toolchain image, made by the machine's daemon, in both; no volume."""
    first = Build("docker", source, source.parent, cache_home, base_image=docker_base)
    tag = str(first.plan()["image"])

    def identity() -> str:
        words = ["docker", "image", "inspect", "--format", "{{.Id}}", tag]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    running = first.start()
    made = str(until(identity, "a toolchain image", running))
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=PATIENCE)
    with subprocess.Popen(["docker", "save", tag], stdout=subprocess.PIPE) as saved:
        subprocess.run(
            ["docker", "--host", daemon.host, "load", "-q"], stdin=saved.stdout, check=True
        )
    yield made
    subprocess.run(["docker", "rmi", "-f", made], capture_output=True, check=False)
    volume = f"tfbuild-cache-{made.removeprefix('sha256:')[:16]}"
    subprocess.run(["docker", "volume", "rm", volume], capture_output=True, check=False)


@pytest.fixture
def build(daemon: Daemon, image: str, source: Path, docker_base: str, tmp_path: Path) -> Build:
    """A build in that daemon, whose cache is empty."""
    name = f"tfbuild-cache-{image.removeprefix('sha256:')[:16]}"
    daemon.docker("volume", "rm", "-f", name, check=False)
    env = {"DOCKER_HOST": daemon.host}
    cache = tmp_path / "cache"
    return Build("docker", source, tmp_path, cache, base_image=docker_base, env=env)


def test_a_daemon_that_is_killed(build: Build, daemon: Daemon, image: str) -> None:
    volume = daemon.volume(image)
    with Onlooker(build.wheels):
        running = build.start()
        until(lambda: len(stored(volume / "disk")) >= ENOUGH, "some actions", running)
        daemon.kill()
        _, err = running.communicate(timeout=PATIENCE)
        assert running.returncode == 5, err
        assert "docker does not answer" in err
        assert not list(build.wheels.glob("*.whl*"))
        # Starting again, the daemon ends the containers that it finds.
        daemon.start()
        finished = stored(volume / "disk")
        record = build.finish()
    ran = executed(volume / "log.json")
    assert record["actions"]["executed"] == len(ran) <= ALL - len(finished)
    assert record["attempts"]["count"] == 2
    assert record["attempts"]["repeated"] == len(names(ran) & finished) == 0
    assert daemon.docker("ps", "--all", "--quiet").stdout == ""


def test_a_daemon_without_disk_space(build: Build, daemon: Daemon, image: str) -> None:
    volume = daemon.volume(image)
    with Onlooker(build.wheels):
        running = build.start()
        until(lambda: len(stored(volume / "disk")) >= ENOUGH, "some actions", running)
        filler = daemon.data / "filler"
        try:
            fill(filler)
            _, err = running.communicate(timeout=PATIENCE)
            assert running.returncode in {5, 6}, err
            assert "pace" in err, "it says that it is the disk"
            assert not list(build.wheels.glob("*.whl*"))
            finished = stored(volume / "disk")
        finally:
            filler.unlink()
        record = build.finish()
    ran = executed(volume / "log.json")
    assert record["actions"]["executed"] == len(ran) < ALL
    assert record["attempts"]["count"] == 2
    assert record["attempts"]["repeated"] == len(names(ran) & finished)


def test_prune_takes_what_is_unused_and_tfbuilds(
    build: Build, daemon: Daemon, image: str, tmp_path: Path
) -> None:
    def tfbuild(*words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "tfbuild", "cache", *words, "--json"],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            # This machine's Podman is not to be pruned.
            env={**build.environment, "PATH": str(Path(sys.executable).parent)},
        )
        return json.loads(done.stdout)

    def there() -> set[str]:
        words = ("--format", "{{.Name}}")
        return set(daemon.docker("volume", "ls", *words).stdout.split())

    own = daemon.volume(image).parent.name
    daemon.docker("volume", "create", "tfbuild-cache-0123456789abcdef")
    daemon.docker("volume", "create", "--label", "tfbuild.cache=actions", "tfbuild-cache-lost")
    running = build.start()
    until(lambda: stored(daemon.volume(image) / "disk"), "an action", running)
    tfbuild("prune", "--all", "--yes")
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert json.loads(out)["image"] == image
    assert there() == {own, "tfbuild-downloads", "tfbuild-cache-0123456789abcdef"}

    kept = {item["name"]: item for item in tfbuild("show")["items"] if item["place"] == "docker"}
    assert set(kept) == {own, "tfbuild-downloads", kept_tag(daemon, image)}
    assert kept[own]["what"] == "TensorFlow 2.15.1 for Python 3.11"
    files = [path for path in daemon.volume(image).rglob("*") if path.is_file()]
    assert kept[own]["size"] == sum(path.stat().st_size for path in files)
    assert tfbuild("prune")["chosen"] == [], "used within 30 days"
    planned = tfbuild("prune", "--all", "--dry-run")
    assert {item["name"] for item in planned["chosen"]} >= set(kept)
    assert there() == {own, "tfbuild-downloads", "tfbuild-cache-0123456789abcdef"}
    wheels = sorted(path.name for path in build.wheels.iterdir())
    tfbuild("prune", "--all", "--yes")
    assert there() == {"tfbuild-cache-0123456789abcdef"}
    gone = daemon.docker("image", "inspect", image, check=False)
    assert gone.returncode != 0
    assert sorted(path.name for path in build.wheels.iterdir()) == wheels


def kept_tag(daemon: Daemon, image: str) -> str:
    return daemon.docker("inspect", "--format", "{{index .RepoTags 0}}", image).stdout.strip()
