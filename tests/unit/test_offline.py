"""A fetched folder grows, goes on, and is never taken for what it is not."""

# ruff: noqa: ARG002 - the recording engine has the real one's arguments

import fcntl
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_engine_container import Recording
from tfbuild import artifact, offline, recipe, target
from tfbuild.engine.base import EXTERNAL, IMAGES, REPOSITORY, Exit, OnLine
from tfbuild.engine.client import Plan
from tfbuild.engine.container import ContainerEngine
from tfbuild.errors import BuildError, EngineError, SaveError, UsageError
from tfbuild.offline.manifest import UNFINISHED
from tfbuild.recipe import Options, Recipe

HASWELL = recipe.make("2.15.1", "3.11", target.find("haswell"))
ZEN3 = recipe.make("2.15.1", "3.11", target.find("zen3"))
OTHER = recipe.make("2.16.2", "3.11", target.find("haswell"))
OPTIONS = {"tensorflow": "2.15.1", "python": "3.11"}


class Container(Recording):
    """A container whose build script fetches: it adds one repository to what it was given."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.given: bytes = b""
        self.saved = 0
        self.after_saving: Callable[[], None] = lambda: None

    def create(self, plan: Plan) -> str:
        self.given = b""
        return super().create(plan)

    def save(self, tags: object, path: Path) -> None:
        self.saved += 1
        path.write_bytes(b"images")
        self.after_saving()

    def send(self, container: str, folder: str, files: Mapping[str, Path]) -> None:
        super().send(container, folder, files)
        self.given = files[EXTERNAL].read_bytes()

    def run(self, container: str, on_line: OnLine) -> Exit:
        if self.code:
            on_line(
                "ERROR: Error fetching repository: java.io.IOException: Error downloading "
                "[https://github.com/x.tar.gz] to /x.tar.gz: Unknown host: github.com"
            )
        return super().run(container, on_line)

    def get(self, container: str, folder: str, into: Path) -> None:
        (into / EXTERNAL).write_bytes(self.given + b"+repository")
        (into / REPOSITORY).write_bytes(b"downloads")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def fetch(container: Container, folder: Path, what: Recipe = HASWELL) -> offline.Manifest:
    return offline.fetch(what, ContainerEngine(client=container), folder, options=OPTIONS)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".lock"}


def test_what_is_there_is_told_by_its_hash(tmp_path: Path) -> None:
    made = fetch(Container(), tmp_path / "copy")
    assert names_in(tmp_path / "copy") == {"offline.json", EXTERNAL, IMAGES, REPOSITORY}
    assert artifact.load(offline.Manifest, tmp_path / "copy/offline.json") == made
    for file in made.files:
        data = (tmp_path / "copy" / file.name).read_bytes()
        assert (file.sha256, file.size) == (hashlib.sha256(data).hexdigest(), len(data))


def test_a_second_target_adds_what_it_needs_and_images_stay(tmp_path: Path) -> None:
    container = Container()
    fetch(container, tmp_path)
    made = fetch(container, tmp_path, ZEN3)
    assert (tmp_path / EXTERNAL).read_bytes() == b"+repository+repository"
    assert made.recipes == (HASWELL.digest, ZEN3.digest)
    assert container.saved == 1
    runs = container.calls.count("run")
    assert fetch(container, tmp_path, ZEN3) == made
    assert container.calls.count("run") == runs


def test_a_damaged_file_is_fetched_again_and_no_other(tmp_path: Path) -> None:
    container = Container()
    made = fetch(container, tmp_path)
    (tmp_path / IMAGES).write_bytes(b"imageS")
    runs = container.calls.count("run")
    assert fetch(container, tmp_path).files == made.files
    assert (tmp_path / IMAGES).read_bytes() == b"images"
    assert container.calls.count("run") == runs


def test_a_folder_that_is_not_whole_says_so_and_goes_on(tmp_path: Path) -> None:
    container = Container(code=1)
    with pytest.raises((EngineError, BuildError), match="reach"):
        fetch(container, tmp_path)
    assert names_in(tmp_path) == {UNFINISHED, IMAGES}
    with pytest.raises(UsageError, match="has not come to its end"):
        offline.find(tmp_path)
    container.code = 0
    fetch(container, tmp_path)
    assert container.saved == 1
    assert UNFINISHED not in names_in(tmp_path)


def test_an_interrupt_between_two_parts_leaves_no_whole_folder(tmp_path: Path) -> None:
    container = Container()
    fetch(container, tmp_path)

    def interrupt() -> None:
        raise KeyboardInterrupt

    container.after_saving = interrupt
    (tmp_path / IMAGES).unlink()
    with pytest.raises(KeyboardInterrupt):
        fetch(container, tmp_path)
    # It was whole, and is so no longer.
    assert names_in(tmp_path) == {UNFINISHED, EXTERNAL, REPOSITORY}
    with pytest.raises(UsageError, match="has not come to its end"):
        offline.find(tmp_path)


def test_what_a_killed_fetch_has_left_goes(tmp_path: Path) -> None:
    (tmp_path / ".part-dead").mkdir()
    (tmp_path / ".part-dead/images.tar").write_bytes(b"half")
    fetch(Container(), tmp_path)
    assert ".part-dead" not in names_in(tmp_path)


def test_a_folder_of_another_release_is_left_alone(tmp_path: Path) -> None:
    fetch(Container(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(UsageError, match="fetched for something else") as caught:
        fetch(Container(), tmp_path, OTHER)
    assert "TensorFlow 2.15.1" in caught.value.why
    assert {path: path.read_bytes() for path in before} == before


def test_two_fetches_into_one_folder(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="Another tfbuild fetches into"):
            fetch(Container(), tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="Cannot write"):
        fetch(Container(), tmp_path / "file/copy")


def test_options_come_back_with_paths_into_the_folder(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tensorflow/tools/pip_package").mkdir(parents=True)
    (tree / "tensorflow/tools/pip_package/BUILD").write_text("")
    sources = recipe.Sources(source=str(tree))
    here = recipe.make("2.15.1", "3.11", target.find("haswell"), sources)
    options = {**OPTIONS, "source": str(tree)}
    folder = tmp_path / "copy"
    offline.fetch(here, ContainerEngine(client=Container()), folder, options=options)
    copy = offline.find(folder)
    assert copy.options() == {**OPTIONS, "source": str(folder / "source.tar")}
    # On the other machine the tree is not there, and the recipe is the same.
    moved = recipe.Sources(source=copy.options()["source"])
    copy.check(recipe.make("2.15.1", "3.11", target.find("zen3"), moved))


@pytest.mark.parametrize("what", [OTHER, recipe.make("2.15.1", "3.10", target.find("haswell"))])
def test_what_a_folder_does_not_serve(what: Recipe, tmp_path: Path) -> None:
    fetch(Container(), tmp_path)
    with pytest.raises(UsageError, match="does not serve") as caught:
        offline.find(tmp_path).check(what)
    assert "It holds TensorFlow 2.15.1, Python 3.11" in caught.value.why
    assert f"tfbuild fetch --tensorflow {what.tensorflow} --python {what.python}" in caught.value.do


def test_other_compiler_options_are_served(tmp_path: Path) -> None:
    fetch(Container(), tmp_path)
    wide = recipe.make("2.15.1", "3.11", target.find("zen3"), options=Options(optimize="speed"))
    offline.find(tmp_path).check(wide)


def test_a_build_takes_images_only_where_they_are_missing(tmp_path: Path) -> None:
    container = Container()
    engine = ContainerEngine(client=container)
    fetch(container, tmp_path)
    copy = offline.find(tmp_path)
    there = copy.setup(HASWELL, engine)
    assert not there.network
    assert set(there.fetched) == {EXTERNAL, REPOSITORY}
    tags = dict(container.images)
    container.images.clear()
    container.calls.clear()
    setup = copy.setup(HASWELL, engine)
    assert set(setup.fetched) == {EXTERNAL, REPOSITORY, IMAGES}
    with pytest.raises(EngineError, match="no toolchain image"):
        engine.prepare(HASWELL, lambda _: None, setup)
    # Podman's archives name a host that Docker keeps.
    container.archived = {f"localhost/{tag}": image for tag, image in tags.items()}
    assert engine.prepare(HASWELL, lambda _: None, setup) in tags.values()
    assert not [call for call in container.calls if call.startswith(("build", "pull"))]
