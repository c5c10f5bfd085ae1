"""What a place that compiles can do: Docker, Podman, or this machine itself."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

OnLine = Callable[[str], None]
"""Receives each line of output as it comes."""
SETUP_FOLDER = "/tfbuild/setup"
"""Where a run's own files are in a container."""
IMAGES, EXTERNAL, REPOSITORY = "images.tar", "external.tar", "repository.tar"
"""A container's parts of a fetched folder: images, Bazel's repositories, its download cache."""
SOURCE, BAZEL, WHEELS = "source.tar", "bazel", "wheels"
"""The local engine's: besides EXTERNAL and REPOSITORY a tree, a program, a folder."""
RC = "run.bazelrc"
"""Name of the file, among a run's own, that Bazel reads last."""
_SPECIAL = re.compile(r"[\s\\\"'#]")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How one run reaches the world: network, caches, proxies, certificates.

    Nothing here changes what the wheel holds, so nothing of it is in the recipe's digest, and
    nothing of it enters an image: it may hold secrets.
    """

    network: bool = True
    """False: the compile has none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the toolchain's steps and of the compile, like those that name proxies."""
    rc: str = field(default="", repr=False)
    """Bazel's options, a line each ("build --remote_cache=..."); {setup} is the files' folder."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Keys, certificates: only root in the container, or the user locally, may read them."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Texts that no log may hold, should a program print them."""
    fetched: Mapping[str, Path] = field(default_factory=dict)
    """Parts of a folder of `tfbuild fetch`, by the names below, that stand in for the network."""

    def placed(self, folder: str) -> dict[str, bytes]:
        """Return every file of the run, `RC` among them, as it has to be in that folder."""
        # Bazel reads its rc files as a shell reads words.
        place = _SPECIAL.sub(r"\\\g<0>", folder)
        return {**self.files, RC: self.rc.replace("{setup}", place).encode()}


NO_SETUP = Setup()


def joined(*setups: Setup) -> Setup:
    """Return one setup that has what each of several has; of two values the later counts."""
    return Setup(
        network=all(setup.network for setup in setups),
        environment={key: text for setup in setups for key, text in setup.environment.items()},
        rc="".join(setup.rc for setup in setups),
        files={name: data for setup in setups for name, data in setup.files.items()},
        secrets=frozenset().union(*(setup.secrets for setup in setups)),
        fetched={name: path for setup in setups for name, path in setup.fetched.items()},
    )


@dataclass(frozen=True, kw_only=True)
class Facts:
    """An engine that answered."""

    name: str
    version: str
    """"20.10.24"; Bazel's version for the local engine."""
    architecture: str
    """"x86_64" or "aarch64", of the machine where it compiles."""
    cpus: int
    memory: int
    """Bytes."""
    rootless: bool = False
    """The engine runs without root: what is root in a container is its user outside."""
    storage: str = ""
    """Folder of images and volumes; "" where that is another machine's."""
    is_remote: bool = False
    """It compiles on another machine, or in a virtual one, as far as its address tells."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How the build script ended."""

    code: int
    out_of_memory: bool = False
    """The kernel killed something in the container for want of memory."""


class Engine(Protocol):
    """Compiles a recipe. Files go in and out by copy, so the machine may be another one."""

    @property
    def name(self) -> str:
        """The word of `--engine`: "docker", "podman" or "local"."""

    def facts(self) -> Facts:
        """Ask the engine what it is. Raises EngineError when it does not answer."""

    def prepare(self, recipe: "Recipe", on_line: OnLine, setup: Setup = NO_SETUP) -> str | None:
        """Make the toolchain, or find it made; return the image's ID, None without an image.

        Raises:
            EngineError: it cannot be made; names the outside source that did not answer.
        """

    def base(self, toolchain: str | None) -> str:
        """Return what a toolchain image was made from: "sha256:..." of its base image.

        The registry's digest, or the image's own ID where it came from no registry; "" where that
        is not known, and without images.
        """

    def compile(
        self,
        recipe: "Recipe",
        toolchain: str | None,
        out: Path,
        on_line: OnLine,
        setup: Setup = NO_SETUP,
    ) -> Exit:
        """Run the recipe's build script and copy what it leaves into the folder `out`.

        An interrupt stops what was started and leaves the caches. Nothing is copied when the
        script fails.

        Raises:
            EngineError: the engine failed, not the script.
        """

    def reaches(self, recipe: "Recipe", host: str, port: int) -> bool:
        """Return whether the toolchain's packages could be fetched from there: a quick look."""
