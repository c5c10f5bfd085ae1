"""What Docker and Podman must be able to do: the seam below `ContainerEngine`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tfbuild.engine.base import Exit, Facts, OnLine
from tfbuild.engine.transfer import Mover

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

LABEL_OWNER = "tfbuild.owner"
LABEL_STEP = "tfbuild.step"
LABEL_TOOLCHAIN = "tfbuild.toolchain"
LABEL_BASE = "tfbuild.base"
"""Digest of the image that a toolchain image was made from."""
LABEL_CACHE = "tfbuild.cache"
"""Of a volume: "actions" or "downloads"."""
LABEL_WHAT = "tfbuild.what"
"""What it serves, for people: "TensorFlow 2.21.0 for Python 3.12"."""
NO_LABELS = (LABEL_OWNER, LABEL_STEP)
"""Those of a container that an image made of it must not hand down."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A container to be made."""

    image: str
    command: tuple[str, ...]
    volumes: Mapping[str, str] = field(default_factory=dict)
    """Volume's name -> place in the container."""
    labels: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = True
    """False: none but loopback."""
    name: str = ""
    """No two containers of an engine have the same; "" leaves it to the engine."""
    private: str = ""
    """A folder in a nameless volume, which is gone with the container: no image has it."""


class Client(Mover, Protocol):
    """The operations of a container engine that a compile needs. All raise EngineError."""

    @property
    def name(self) -> str:
        """The word of `--engine`."""

    def facts(self) -> Facts:
        """Ask the engine what it is."""

    def image(self, tag: str) -> str | None:
        """Return the ID of the image, None if there is none."""

    def labels(self, image: str) -> Mapping[str, str]:
        """Return the labels of an image that is there."""

    def digest(self, image: str) -> str:
        """Return the digest by which a registry knows an image that is there, else its ID."""

    def pull(self, tag: str, on_line: OnLine) -> None:
        """Fetch an image from its registry."""

    def proxies(self) -> Mapping[str, str]:
        """Return the variables that the engine's own settings have for containers."""

    def build(
        self,
        context: Path,
        *,
        stage: str,
        tag: str,
        labels: Mapping[str, str],
        on_line: OnLine,
        proxies: Mapping[str, str],
    ) -> bool:
        """Build a stage of the Dockerfile in the folder; False if a step failed.

        Args:
            context: folder of the Dockerfile.
            stage: where to stop.
            tag: name of the image.
            labels: of the image.
            on_line: takes the builder's output.
            proxies: variables for its steps, of those in `proxies.RECORDED_NOWHERE`.
        """

    def commit(self, container: str, tag: str) -> str:
        """Make an image of a container that has ended; return its ID."""

    def untag(self, tag: str) -> None:
        """Take a name from an image, which stays as long as another one is built on it."""

    def containers(self, label: str, value: str) -> dict[str, Mapping[str, str]]:
        """Return containers, running or not, that have the label: ID -> all labels."""

    def is_running(self, container: str) -> bool:
        """Return whether the container has been started and has not ended."""

    def make_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume with labels, or leave the one of that name as it is."""

    def create(self, plan: Plan) -> str:
        """Make a container; return its ID. Its name must be free."""

    def put(
        self, container: str, folder: str, files: Mapping[str, bytes], *, mode: int = 0o755
    ) -> None:
        """Copy files into a folder, made if need be, of a container that has not started yet."""

    def run(self, container: str, on_line: OnLine) -> Exit:
        """Start the container, hand over its output, wait for its end."""

    def get(self, container: str, folder: str, into: Path) -> None:
        """Copy the files in a folder of the container into a folder of this machine."""

    def remove(self, container: str) -> None:
        """Stop the container if it runs, and remove it. Volumes stay."""


def what(recipe: "Recipe") -> str:
    """Return what the recipe's toolchain serves, for people.

    It becomes a label, in which Podman 4 takes a comma for the end.
    """
    return f"TensorFlow {recipe.tensorflow} for Python {recipe.python}"


def toolchain_labels(recipe: "Recipe", base: str) -> dict[str, str]:
    """Return the labels of the recipe's toolchain image, made from the image of that digest."""
    return {LABEL_TOOLCHAIN: recipe.toolchain_digest, LABEL_BASE: base, LABEL_WHAT: what(recipe)}
