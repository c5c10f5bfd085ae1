"""What a place that compiles can do: Docker, Podman, or this machine itself."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

OnLine = Callable[[str], None]
"""Receives each line of output as it comes."""


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

    def prepare(self, recipe: "Recipe", on_line: OnLine) -> str | None:
        """Make the toolchain, or find it made; return the image's ID, None without an image.

        Raises:
            EngineError: it cannot be made; names the outside source that did not answer.
        """

    def compile(self, recipe: "Recipe", toolchain: str | None, out: Path, on_line: OnLine) -> Exit:
        """Run the recipe's build script and copy what it leaves into the folder `out`.

        An interrupt stops what was started and leaves the caches. Nothing is copied when the
        script fails.

        Raises:
            EngineError: the engine failed, not the script.
        """

    def reaches(self, recipe: "Recipe", host: str, port: int) -> bool:
        """Return whether the toolchain's packages could be fetched from there: a quick look."""
