"""Builds from a fetched folder: finds it, checks it, and lets it stand in for the network."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import mirrors
from tfbuild.engine import tools
from tfbuild.engine.base import (
    BAZEL,
    EXTERNAL,
    IMAGES,
    REPOSITORY,
    SOURCE,
    WHEELS,
    Engine,
    Setup,
    joined,
)
from tfbuild.engine.container import ContainerEngine, image_tag
from tfbuild.errors import UsageError
from tfbuild.offline import local, manifest
from tfbuild.offline.fetch import IN_FOLDER
from tfbuild.offline.manifest import MANIFEST, UNFINISHED, File, Manifest
from tfbuild.progress import Progress, Silent

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_SILENT = Silent()
# Of Bazel's own downloads; since version 7 without the first word, which is still understood.
_NO_DOWNLOADS = "build --experimental_repository_disable_download\n"


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A fetched folder that is whole, as far as its manifest tells."""

    folder: Path
    manifest: Manifest

    def options(self) -> dict[str, str]:
        """Return the options that decide the toolchain, with paths into the folder."""
        return {
            name: str(self.folder / value.removeprefix(IN_FOLDER))
            if value.startswith(IN_FOLDER)
            else value
            for name, value in self.manifest.options.items()
        }

    def check(self, recipe: "Recipe") -> None:
        """Check that the folder serves this recipe.

        Raises:
            UsageError: it was fetched for something else.
        """
        held = self.manifest
        if held.toolchain_digest == recipe.toolchain_digest:
            return
        wanted = f"TensorFlow {recipe.tensorflow}, Python {recipe.python}"
        asked = [f"--tensorflow {recipe.tensorflow}", f"--python {recipe.python}"]
        why = f"It holds {held}, fetched by tfbuild {held.tfbuild}."
        if (held.tensorflow, held.python) == (recipe.tensorflow, recipe.python):
            why += (
                f" This recipe has compiler {recipe.compiler}, Bazel {recipe.bazel}, base image "
                f"{recipe.base_image}, or its sources or its tfbuild are others."
            )
        raise UsageError(
            f"{self.folder} does not serve {wanted} as it is asked for here.",
            why=why,
            do="Leave the options out that differ, or fetch with them on a machine with a network: "
            f"tfbuild fetch {' '.join(asked)} --output OTHER",
        )

    def check_engine(self, name: str) -> None:
        """Raise UsageError when the folder is not for the engine of that word of `--engine`."""
        if (name == "local") != (self.manifest.kind == "local"):
            is_local = self.manifest.kind == "local"
            raise UsageError(
                f"{self.folder} was not fetched for --engine {name}.",
                why="It serves --engine local alone."
                if is_local
                else "It serves container engines.",
                do=f"Fetch again on a machine with a network: tfbuild fetch --engine {name} "
                "--output OTHER",
            )

    def setup(self, recipe: "Recipe", engine: Engine, progress: Progress = _SILENT) -> Setup:
        """Return the setup of a build without network, once the files that it takes are checked.

        Raises:
            UsageError: the folder serves other engines, or a file is missing or damaged.
        """
        held = self.manifest
        self.check_engine(engine.name)
        kind = held.kind
        if kind == "local" and held.host != tools.compiler_digest(recipe):
            raise UsageError(
                f"{self.folder} was fetched on a machine with another compiler.",
                why="Bazel's repositories describe the compiler of the machine.",
                do="Fetch on a machine like this one, or use a container engine for both.",
            )
        taken = self._taken(recipe, engine)
        self._verify(taken, progress)
        places = self._places(taken)
        # Repositories may depend on the variables that mirrors bring.
        led = mirrors.setup(mirrors.parse(held.mirrors))
        if kind == "container":
            return joined(led, Setup(network=False, fetched=places))
        environment = {"UV_OFFLINE": "1"}
        if WHEELS in places:
            environment["UV_FIND_LINKS"] = str(places[WHEELS])
        own = Setup(network=False, fetched=places, environment=environment, rc=_NO_DOWNLOADS)
        return joined(led, own)

    def use_programs(self) -> None:
        """Let this process take the folder's Bazel, if it has one.

        Raises:
            UsageError: it is missing or damaged.
        """
        file = self.manifest.file(BAZEL)
        if self.manifest.kind == "local" and file is not None:
            self._verify([file], _SILENT)
            local.put_on_path(self.folder, file.sha256)

    def _taken(self, recipe: "Recipe", engine: Engine) -> list[File]:
        names = {EXTERNAL, REPOSITORY}
        if isinstance(engine, ContainerEngine):
            if engine.client.image(image_tag(recipe)) is None:
                names.add(IMAGES)
            return [self._entry(name) for name in sorted(names)]
        others = [self._entry(SOURCE), *self.manifest.below(WHEELS)]
        bazel = self.manifest.file(BAZEL)
        return [
            *(self._entry(name) for name in sorted(names)),
            *others,
            *([bazel] if bazel else []),
        ]

    def _entry(self, name: str) -> File:
        file = self.manifest.file(name)
        if file is None:
            raise self._damaged(name, f"{MANIFEST} does not name it.")
        return file

    def _verify(self, files: list[File], progress: Progress) -> None:
        progress.phase("Checking what was fetched", sum(file.size for file in files) >> 20 or None)
        done = 0

        def count(size: int) -> None:
            nonlocal done
            done += size
            progress.step(done >> 20)

        for file in files:
            path = self.folder / file.name
            if not path.is_file():
                raise self._damaged(file.name, "It is missing.")
            found = manifest.measured(self.folder, file.name, count)
            if found != file:
                raise self._damaged(
                    file.name,
                    f"It has {found.size} bytes and SHA-256 {found.sha256}; fetched were "
                    f"{file.size} bytes and {file.sha256}.",
                )

    def _damaged(self, name: str, why: str) -> UsageError:
        return UsageError(
            f"{self.folder / name} is not what was fetched.",
            why=why,
            do="Copy the folder again, or complete it on a machine with a network: run the same "
            "tfbuild fetch again; it fetches only what is missing or damaged.",
        )

    def _places(self, files: list[File]) -> Mapping[str, Path]:
        folder = self.folder.absolute()
        # Wheels count as one: the folder that they are in.
        names = {file.name.partition("/")[0] for file in files}
        return {name: folder / name for name in names}


def find(folder: Path) -> Copy:
    """Read the manifest of a fetched folder.

    Raises:
        UsageError: there is none, or the fetch has not come to its end.
    """
    found = manifest.read(folder)
    if found is not None:
        return Copy(folder=folder, manifest=found)
    if (folder / UNFINISHED).is_file():
        raise UsageError(
            f"The fetch into {folder} has not come to its end.",
            why=f"There is {UNFINISHED} and no {MANIFEST}.",
            do="Run the same tfbuild fetch again: it goes on where it was.",
        )
    raise UsageError(
        f"{folder} is no folder that tfbuild fetched.",
        why=f"It has no {MANIFEST}." if folder.is_dir() else "There is no such folder.",
        do=f"Fetch on a machine with a network, then bring the folder here: tfbuild fetch "
        f"--output {folder}",
    )
