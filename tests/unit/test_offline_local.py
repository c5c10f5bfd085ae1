"""What the local engine's folder gets from outside, from a server on this machine."""

import hashlib
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.outside import serving
from tfbuild import mirrors, recipe, target
from tfbuild.engine import tools
from tfbuild.engine.local import LocalEngine
from tfbuild.errors import EngineError
from tfbuild.offline import local
from tfbuild.recipe import Recipe, Sources

# No release of that number: its hash is not on record.
VERSION = "6.9.9"
PROGRAM = f"#!/bin/sh\necho bazel {VERSION}\n"
ADDRESS = "https://github.com/bazelbuild/bazel/releases/download"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """The folder of a mirror of github.com, and its address."""
    folder = tmp_path / "served" / f"bazelbuild/bazel/releases/download/{VERSION}"
    folder.mkdir(parents=True)
    with serving(tmp_path / "served", "127.0.0.1") as (address, _):
        yield folder, address


def made() -> Recipe:
    return recipe.make("2.15.1", "3.11", target.find("haswell"), Sources(bazel=VERSION))


def fetch(address: str, place: Path) -> None:
    setup = mirrors.setup({"github.com": address})
    local.bazel(made(), setup, lambda _: None, place)


def test_a_bazel_release_comes_through_a_mirror_and_is_found(
    server: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = server
    name = f"bazel-{VERSION}-linux-x86_64"
    digest = hashlib.sha256(PROGRAM.encode()).hexdigest()
    (folder / name).write_text(PROGRAM)
    (folder / f"{name}.sha256").write_text(f"{digest}  {name}\n")
    copy = tmp_path / "copy"
    copy.mkdir()
    fetch(address, copy / "bazel")
    assert (copy / "bazel").read_text() == PROGRAM
    assert [path.name for path in copy.iterdir()] == ["bazel"]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    # As on a disk that lets nothing be executed.
    (copy / "bazel").chmod(0o444)
    local.put_on_path(copy, digest)
    assert tools.bazel().startswith(str(tmp_path / "cache"))
    assert tools.bazel_version(VERSION) == VERSION


@pytest.mark.parametrize("what", ["another program", "cut off", "nothing there"])
def test_another_bazel_is_refused(what: str, server: tuple[Path, str], tmp_path: Path) -> None:
    folder, address = server
    name = f"bazel-{VERSION}-linux-x86_64"
    digest = hashlib.sha256(PROGRAM.encode()).hexdigest()
    (folder / f"{name}.sha256").write_text(f"{digest}  {name}\n")
    if what != "nothing there":
        (folder / name).write_text(PROGRAM[:-3] if what == "cut off" else "#!/bin/sh\n")
    with pytest.raises(EngineError) as caught:
        fetch(address, tmp_path / "bazel")
    assert address in str(caught.value)


def test_the_hash_on_record_counts_and_not_the_servers(
    server: tuple[Path, str], tmp_path: Path
) -> None:
    folder, address = server
    what = recipe.make("2.15.1", "3.11", target.find("haswell"))
    name = f"bazel-{what.bazel}-linux-x86_64"
    place = folder.parent / what.bazel
    place.mkdir()
    (place / name).write_text(PROGRAM)
    digest = hashlib.sha256(PROGRAM.encode()).hexdigest()
    (place / f"{name}.sha256").write_text(f"{digest}  {name}\n")
    with pytest.raises(EngineError, match="not the Bazel that was expected"):
        local.bazel(
            what, mirrors.setup({"github.com": address}), lambda _: None, tmp_path / "bazel"
        )


def test_the_source_keeps_its_times_and_loses_bazels_links(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path / "engine")
    tree = engine.source(made())
    (tree / ".git").mkdir(parents=True)
    (tree / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tree / "tensorflow").mkdir()
    (tree / "tensorflow/BUILD").write_text("")
    os.utime(tree / "tensorflow/BUILD", (1_600_000_000, 1_600_000_000))
    (tree / "bazel-bin").symlink_to("/nowhere/bin")
    (tree / "link").symlink_to("tensorflow/BUILD")
    local.pack_source(engine, made(), tmp_path / "source.tar")
    with tarfile.open(tmp_path / "source.tar") as archive:
        archive.extractall(tmp_path / "out", filter="data")
    out = tmp_path / "out"
    assert (out / ".git/HEAD").is_file()
    assert (out / "tensorflow/BUILD").stat().st_mtime == 1_600_000_000
    assert (out / "link").readlink() == Path("tensorflow/BUILD")
    assert not (out / "bazel-bin").is_symlink()


def test_whether_a_folder_needs_bazel() -> None:
    assert local.needs_bazel(made())
    system = recipe.make("2.15.1", "3.11", target.find("haswell"), Sources(bazel="system"))
    assert not local.needs_bazel(system)
