"""What was fetched into a folder is enough: nothing else is reachable when it is built from."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need, pyenv_python
from tests.engine import outside
from tfbuild.rehearse import copy_workspace

pytestmark = pytest.mark.engine
PATIENCE = 600
RECIPE = ("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system")
# Loopback stays up in a network namespace of its own: Bazel speaks to its server through it.
CUT_OFF = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A folder that was fetched from a server which has gone since."""

    folder: Path
    top: Path
    fetch: tuple[str, ...]
    """The command that made it."""
    requests: list[str]
    """What the server was asked for."""


def start(top: Path, *words: str | Path, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*before, sys.executable, "-m", "tfbuild", *map(str, words)],
        cwd=top,
        env={**os.environ, "XDG_CACHE_HOME": str(top / "cache"), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    out, err = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def tfbuild(
    top: Path, *words: str | Path, before: tuple[str, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    return finish(start(top, *words, before=before))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def source_from_outside(top: Path, host: str) -> Iterator[list[str]]:
    """Make a source that takes parts from a server, and keep the server up within the block."""
    workspace = copy_workspace(top / "source", "2.15.1")
    (workspace / "UNIQUE").write_text(str(top))
    sha256 = outside.offer(top / "served")
    with outside.serving(top / "served", host) as (address, requests):
        outside.need_outside(workspace, sha256, address, f"{address}/unchecked.sh")
        yield requests


@pytest.fixture(scope="module")
def fetched(docker_base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fetched]:
    """What Docker has fetched: first interrupted, then the same command again."""
    top = tmp_path_factory.mktemp("docker")
    folder = top / "offline"
    command = (
        *("fetch", "--engine", "docker", "--target", "nehalem", *RECIPE, "--bazel", "apt"),
        *("--source", "source", "--base-image", docker_base, "--output", "offline", "--json"),
    )
    with source_from_outside(top, outside.bridge()) as requests:
        running = start(top, *command)
        deadline = time.monotonic() + PATIENCE
        while not any(path.stat().st_size > 50 << 20 for path in folder.glob(".part-*/.images*")):
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        interrupted = finish(running)
        assert interrupted.returncode == 130, interrupted.stderr
        assert names_in(folder) == [".lock", "offline.json.part", "source.tar"]
        packed = (folder / "source.tar").stat()
        early = tfbuild(top, "wheel", "--target", "nehalem", "--offline", "offline")
        assert early.returncode == 2
        assert "has not come to its end" in early.stderr

        done = tfbuild(top, *command)
        assert done.returncode == 0, done.stderr
        assert (folder / "source.tar").stat().st_ino == packed.st_ino
        assert sorted(requests) == ["/checked.tar.gz", "/unchecked.sh"]
    image = json.loads(done.stdout)["image"]
    yield Fetched(folder=folder, top=top, fetch=command, requests=requests)
    from tfbuild.engine.container import volumes

    subprocess.run(["docker", "rmi", "-f", image], capture_output=True, check=False)
    for volume in set(volumes(image)) - {"tfbuild-downloads"}:
        subprocess.run(["docker", "volume", "rm", volume], capture_output=True, check=False)


@pytest.fixture
def copy(fetched: Fetched, tmp_path: Path) -> Path:
    """Another name for each file of the folder: they can be replaced one by one."""
    shutil.copytree(fetched.folder, tmp_path / "copy", copy_function=os.link)
    return tmp_path / "copy"


def hashes(folder: Path, names: list[str]) -> dict[str, str]:
    """What sha256sum says about files."""
    words = ["sha256sum", *names]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}


def test_the_manifest_has_what_is_there(fetched: Fetched) -> None:
    document = json.loads((fetched.folder / "offline.json").read_text())
    assert document["schema"] == "tfbuild.offline/1"
    told = {file["name"]: file["sha256"] for file in document["files"]}
    assert set(told) == {"external.tar", "images.tar", "repository.tar", "source.tar"}
    del told["images.tar"]  # more than a gigabyte; the engine that loads it looks at it too
    assert told == hashes(fetched.folder, sorted(told))
    for file in document["files"]:
        assert (fetched.folder / file["name"]).stat().st_size == file["size"]
    words = ["docker", "image", "inspect", "--format", "{{.Id}}", document["image"]]
    assert (
        subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        == (document["image"])
    )


def test_a_whole_folder_is_not_fetched_again(fetched: Fetched) -> None:
    before = {path: path.stat().st_mtime_ns for path in fetched.folder.glob("[!.]*")}
    done = tfbuild(fetched.top, *fetched.fetch)  # the server is gone
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in fetched.folder.glob("[!.]*")} == before


def test_docker_builds_without_network(fetched: Fetched) -> None:
    image = json.loads((fetched.folder / "offline.json").read_text())["image"]
    begin = str(int(time.time()))
    done = tfbuild(
        fetched.top,
        *("wheel", "--engine", "docker", "--target", "haswell", "--offline", "offline", "--json"),
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["image"] == image
    # The daemon's own account: the only network that the container of this recipe was on is none.
    assert networks_of(record["recipe_digest"], begin) == {"none"}
    with zipfile.ZipFile(fetched.top / "wheels" / record["file"]) as wheel:
        assert any(name.endswith("_pywrap_kernels.so") for name in wheel.namelist())


def networks_of(recipe: str, begin: str) -> set[str]:
    """Names of the networks that Docker has connected the recipe's containers to."""

    def events(*filters: str) -> list[dict[str, Any]]:
        chosen = [word for text in filters for word in ("--filter", text)]
        words = ["docker", "events", "--since", begin, "--until", str(int(time.time()) + 1)]
        done = subprocess.run(
            [*words, "--format", "{{json .}}", *chosen], capture_output=True, text=True, check=True
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    started = events("type=container", "event=start", f"label=tfbuild.recipe={recipe}")
    ids = {event["id"] for event in started}
    assert len(ids) == 1
    attributes = [event["Actor"]["Attributes"] for event in events("type=network", "event=connect")]
    return {one["name"] for one in attributes if one["container"] in ids}


@pytest.mark.parametrize("damage", ["one byte", "cut off", "missing"])
def test_a_damaged_file_is_named(damage: str, copy: Path, tmp_path: Path) -> None:
    path = copy / "external.tar"
    data = bytearray(path.read_bytes())
    path.unlink()  # the original stays: it is only a name
    data[len(data) // 2] ^= 1
    if damage != "missing":
        path.write_bytes(data if damage == "one byte" else data[:-512])
    done = tfbuild(
        tmp_path, "wheel", "--engine", "docker", "--target", "haswell", "--offline", copy
    )
    assert done.returncode == 2, done.stderr
    assert f"{path} is not what was fetched" in done.stderr
    assert "tfbuild fetch" in done.stderr
    assert not list((tmp_path / "wheels").glob("*.whl"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tensorflow", "2.16.2"), "fetch --tensorflow 2.16.2"),
        (("--python", "3.10"), "--python 3.10"),
        (("--engine", "local"), "fetch --engine local"),
    ],
)
def test_what_the_folder_does_not_hold(
    words: tuple[str, ...], told: str, fetched: Fetched, tmp_path: Path
) -> None:
    engine = () if "--engine" in words else ("--engine", "docker")
    command = ("wheel", *engine, "--target", "haswell", "--offline", fetched.folder, *words)
    done = tfbuild(tmp_path, *command)
    assert done.returncode == 2, done.stderr
    if "--engine" not in words:
        assert "holds TensorFlow 2.15.1, Python 3.11, compiler system, Bazel apt" in done.stderr
    assert told in done.stderr
    assert not (tmp_path / "wheels").exists() or not list((tmp_path / "wheels").iterdir())


def test_a_folder_that_nothing_was_fetched_into(tmp_path: Path) -> None:
    done = tfbuild(tmp_path, "wheel", "--target", "haswell", "--offline", "offline")
    assert done.returncode == 2
    assert "tfbuild fetch --output offline" in done.stderr


def test_a_full_disk_leaves_nothing_that_looks_whole(fetched: Fetched, tmp_path: Path) -> None:
    need(os.geteuid() == 0, "only root can mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", disk], check=True)
    try:
        index = fetched.fetch.index("--output") + 1
        command = (*fetched.fetch[:index], str(disk / "offline"), *fetched.fetch[index + 1 :])
        done = tfbuild(fetched.top, *command)
        assert done.returncode == 11, done.stderr
        assert "full" in done.stderr or "space" in done.stderr
        assert names_in(disk / "offline") == [".lock", "offline.json.part", "source.tar"]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_of_something_else_is_left_alone(fetched: Fetched, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    index = fetched.fetch.index("--output") + 1
    command = (*fetched.fetch[:index], str(tmp_path / "mine"), *fetched.fetch[index + 1 :])
    done = tfbuild(fetched.top, *command)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert (tmp_path / "mine/thesis.txt").read_text() == "years of work"


def test_this_machine_builds_with_no_network_at_all(tmp_path: Path) -> None:
    need(shutil.which("bazel"), "there is no Bazel here")
    need(os.geteuid() == 0, "only root can take the network away from a program")
    need(pyenv_python("3.11"), "there is no Python 3.11")
    words = ("--engine", "local", *RECIPE, "--bazel", "system", "--source", "source")
    with source_from_outside(tmp_path, "127.0.0.1"):
        done = tfbuild(
            tmp_path, "fetch", "--target", "nehalem", *words, "--output", "offline", "--json"
        )
        assert done.returncode == 0, done.stderr
    names = {file["name"] for file in json.loads(done.stdout)["files"]}
    assert {"external.tar", "repository.tar", "source.tar"} < names
    # For 2.15 the recipe asks for setuptools and wheel.
    assert {name.split("-")[0] for name in names if "/" in name} >= {
        "wheels/setuptools",
        "wheels/wheel",
    }
    # As on another machine: no cache, no source, other places.
    shutil.rmtree(tmp_path / "cache")
    shutil.rmtree(tmp_path / "source")
    there = tmp_path / "there"
    there.mkdir()
    done = tfbuild(
        there,
        # The folder says too that it is for --engine local.
        *("wheel", "--target", "haswell", "--offline", "../offline", "--json"),
        before=CUT_OFF,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"] == "haswell"
