"""Collects everything that a recipe needs in one folder. An interrupted fetch goes on later."""

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import __version__, artifact, settings, signals
from tfbuild.engine import tools
from tfbuild.engine.base import (
    BAZEL,
    EXTERNAL,
    IMAGES,
    NO_SETUP,
    REPOSITORY,
    SOURCE,
    WHEELS,
    Engine,
    Setup,
    joined,
)
from tfbuild.engine.blame import failure
from tfbuild.engine.container import ContainerEngine, image_tag
from tfbuild.engine.local import LocalEngine
from tfbuild.engine.watch import Watch
from tfbuild.errors import EngineError, SaveError, UsageError
from tfbuild.offline import local, manifest
from tfbuild.offline.manifest import MANIFEST, UNFINISHED, File, Manifest
from tfbuild.progress import BuildProgress, Silent
from tfbuild.recipe import archive

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

IN_FOLDER = "./"
"""Begins an option's value that names a file of the fetched folder."""
_LOCK = ".lock"
_PART = ".part-"
_STEP = {"TFBUILD_STEP": "fetch"}
_SILENT = Silent()


def fetch(
    recipe: "Recipe",
    engine: Engine,
    folder: Path,
    progress: BuildProgress = _SILENT,
    *,
    options: Mapping[str, str],
    setup: Setup = NO_SETUP,
    mirrors: tuple[str, ...] = (),
) -> Manifest:
    """Put everything that the recipe needs into the folder; what is there already stays.

    The manifest is written last, so a folder that has one is whole.

    Args:
        recipe: what is to be built later, for this or for other targets.
        engine: where it will be built: a container engine or this machine.
        folder: new, empty, or of an earlier fetch of the same release and toolchain.
        progress: told what goes on.
        options: the command-line options that decide the toolchain.
        setup: how this run reaches the world.
        mirrors: those of `--mirror`, as written.

    Raises:
        UsageError: the folder holds something else.
        EngineError: the engine does not answer, or a server cannot be reached.
        BuildError: Bazel cannot read the source.
        SaveError: the folder cannot be written, or the disk is full.
    """
    watch = Watch(log_path(recipe), progress, secrets=setup.secrets)
    with signals.stoppable(), _locked(folder), watch as run:
        facts = _facts(recipe, engine, options, mirrors)
        whole = manifest.read(folder)
        before = whole or manifest.read(folder, UNFINISHED)
        _check_folder(folder, before, facts)
        known = facts if before is None else _refreshed(before, facts)
        job = _Job(recipe, engine, folder, setup, run, progress, known)
        job.keep_whole_files()
        if whole is not None and job.is_done():
            return whole
        if whole is not None:
            (folder / MANIFEST).replace(folder / UNFINISHED)
        with _disk_full(folder):
            return job.run()


def log_path(recipe: "Recipe") -> Path:
    """Return where the full output of the recipe's last fetch is kept."""
    return settings.cache_folder("logs") / f"fetch-{recipe.tensorflow}-{recipe.digest[:8]}.log"


@dataclass
class _Job:
    """One fetch on its way."""

    recipe: "Recipe"
    engine: Engine
    folder: Path
    setup: Setup
    watch: Watch
    progress: BuildProgress
    known: Manifest

    def keep_whole_files(self) -> None:
        """Forget every file of the manifest that is missing or damaged."""
        self.progress.phase("Checking what is there", self.known.size >> 20 or None)
        done = 0

        def count(size: int) -> None:
            nonlocal done
            done += size
            self.progress.step(done >> 20)

        broken = [
            file.name
            for file in self.known.files
            if not manifest.is_whole(self.folder, file, count)
        ]
        if any(name.startswith(f"{WHEELS}/") for name in broken):
            broken += [file.name for file in self.known.below(WHEELS)]
        self.known = self.known.without(*broken)

    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        wanted = {EXTERNAL, REPOSITORY, *self.recipe.archives.keys() & {SOURCE, BAZEL}}
        if isinstance(self.engine, ContainerEngine):
            wanted.add(IMAGES)
        else:
            wanted.add(SOURCE)
            wanted |= {BAZEL} if local.needs_bazel(self.recipe) else set()
            wanted |= {WHEELS} if self.recipe.python_packages else set()
        there = {file.name.partition("/")[0] for file in self.known.files}
        return wanted <= there and self.recipe.digest in self.known.recipes

    def run(self) -> Manifest:
        """Fetch what is missing, one part after the other; each part that is done stays."""
        for name, path in self.recipe.archives.items():
            if name in {SOURCE, BAZEL}:
                self._part(name, partial(_pack, path))
        self.progress.phase("Toolchain")
        image = self.engine.prepare(self.recipe, self.watch.line, self.setup)
        if isinstance(self.engine, ContainerEngine):
            self._images(self.engine, image)
        elif isinstance(self.engine, LocalEngine):
            self._local(self.engine)
        self._repositories(image)
        final = replace(self.known, fetched_at=_now(), tfbuild=__version__)
        artifact.save(final, self.folder / MANIFEST)
        (self.folder / UNFINISHED).unlink(missing_ok=True)
        return final

    def _part(self, name: str, make: Callable[[Path], None]) -> None:
        """Make a file in a folder of its own, and take it over when it is whole."""
        if self.known.file(name) is not None:
            return
        with self._workplace() as work:
            make(work / Path(name).name)
            self._adopt(work / Path(name).name, name)

    @contextmanager
    def _workplace(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=_PART) as place:
            yield Path(place).absolute()

    def _adopt(self, made: Path, name: str) -> None:
        self._note(self.known.with_file(manifest.adopt(made, self.folder, name)))

    def _note(self, known: Manifest) -> None:
        """Write down what is done: it outlives a kill."""
        self.known = known
        artifact.save(known, self.folder / UNFINISHED)

    def _images(self, engine: ContainerEngine, image: str | None) -> None:
        if self.known.image != image:
            self.known = replace(self.known.without(IMAGES), image=image)
        tags = [image_tag(self.recipe)]
        # The toolchain is built on it: it adds a name, and no layer.
        if engine.client.image(self.recipe.base_image) is not None:
            tags.insert(0, self.recipe.base_image)
        self.progress.phase("Images")
        self._part(IMAGES, lambda place: engine.client.save(tags, place))

    def _local(self, engine: LocalEngine) -> None:
        self.progress.phase("Source, Bazel, Python packages")
        self._part(SOURCE, partial(local.pack_source, engine, self.recipe))
        if local.needs_bazel(self.recipe):
            self._part(BAZEL, partial(local.bazel, self.recipe, self.setup, self.watch.line))
        if self.recipe.python_packages and not self.known.below(WHEELS):
            with self._workplace() as work:
                local.wheels(self.recipe, self.setup, self.watch.line, work)
                known = self.known
                for path in sorted(work.glob("*.whl")):
                    entry = manifest.adopt(path, self.folder, f"{WHEELS}/{path.name}")
                    known = known.with_file(entry)
                self._note(known)

    def _repositories(self, image: str | None) -> None:
        """Let Bazel fetch what the source names, beside what earlier fetches have."""
        parts = (EXTERNAL, REPOSITORY)
        there = {name for name in parts if self.known.file(name) is not None}
        if len(there) == len(parts) and self.recipe.digest in self.known.recipes:
            return
        self.progress.phase("What the source names")
        earlier = {name: self.folder / name for name in there} if len(there) == len(parts) else {}
        setup = joined(self.setup, Setup(environment=_STEP, fetched=earlier))
        with self._workplace() as work:
            out = work / "out"
            end = self.engine.compile(self.recipe, image, out, self.watch.line, setup)
            if end.code != 0:
                raise failure(end, self.watch, self.engine.facts())
            recipes = self.known.recipes if earlier else ()
            # Either both are of this fetch or none counts.
            self._note(replace(self.known.without(*parts), recipes=()))
            for name in parts:
                if not (out / name).is_file():
                    raise EngineError(f"The build script has left no {name}.")
                self._adopt(out / name, name)
        self._note(replace(self.known, recipes=(*recipes, self.recipe.digest)))


def _facts(
    recipe: "Recipe", engine: Engine, options: Mapping[str, str], mirrors: tuple[str, ...]
) -> Manifest:
    """Return the manifest of an empty folder."""
    is_container = isinstance(engine, ContainerEngine)
    own = {
        name: f"{IN_FOLDER}{part}"
        for name, part in (("source", SOURCE), ("bazel", BAZEL))
        if part in recipe.archives
    }
    return Manifest(
        kind="container" if is_container else "local",
        tensorflow=recipe.tensorflow,
        python=recipe.python,
        architecture=recipe.target.architecture,
        compiler=recipe.compiler,
        bazel=Path(recipe.bazel).name if BAZEL in recipe.archives else recipe.bazel,
        base_image=recipe.base_image if is_container else "",
        options={**options, **own},
        toolchain_digest=recipe.toolchain_digest,
        host="" if is_container else tools.compiler_digest(recipe),
        mirrors=mirrors,
        fetched_at=_now(),
        tfbuild=__version__,
    )


def _refreshed(before: Manifest, facts: Manifest) -> Manifest:
    """Return what was known, with this run's words for it."""
    known = before
    if before.host != facts.host:
        # Bazel's repositories know the compiler.
        known = replace(before.without(EXTERNAL, REPOSITORY), recipes=())
    words = ("options", "mirrors", "host")
    return replace(known, **{name: getattr(facts, name) for name in words})


def _check_folder(folder: Path, before: Manifest | None, facts: Manifest) -> None:
    if before is None:
        if any(path.name != _LOCK and not path.name.startswith(_PART) for path in folder.iterdir()):
            raise UsageError(
                f"{folder} is not empty, and nothing that tfbuild fetched.",
                why=f"It has no {MANIFEST}. Nothing was changed.",
                do="Name a new or an empty folder with --output.",
            )
    elif (before.kind, before.toolchain_digest) != (facts.kind, facts.toolchain_digest):
        raise UsageError(
            f"{folder} was fetched for something else.",
            why=f"It holds {before}, for engines of kind {before.kind} (toolchain "
            f"{before.toolchain_digest[:12]}); this is {facts}, kind {facts.kind} (toolchain "
            f"{facts.toolchain_digest[:12]}).",
            do="Name another folder with --output, or remove this one.",
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second fetch out of the folder, and clear what a killed one has left."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / _LOCK).open("w")
    except OSError as error:
        raise SaveError(
            f"Cannot write to {folder}.",
            why=error.strerror or str(error),
            do="Name another folder with --output.",
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"Another tfbuild fetches into {folder} just now.") from error
        for left in folder.glob(f"{_PART}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


@contextmanager
def _disk_full(folder: Path) -> Iterator[None]:
    """Turn a full disk into an error that says which one."""
    try:
        yield
    except OSError as error:
        raise SaveError(
            f"Cannot write to {folder}: {error.strerror or error}.",
            do="Free some space, or name a folder on another disk with --output; what is done "
            "stays, and the same command goes on.",
        ) from error


def _pack(source: Path, place: Path) -> None:
    with artifact.writing(place) as file:
        archive.write(source, file)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


__all__ = ["IN_FOLDER", "File", "fetch", "log_path"]
