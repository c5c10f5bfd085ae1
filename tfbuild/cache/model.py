"""One kept thing, all kept things, and the places that have them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Protocol


class Kind(StrEnum):
    """What a kept thing is."""

    IMAGE = "image"
    """A toolchain image."""
    ACTIONS = "actions"
    """Bazel's finished actions: a volume, or a folder of the local engine."""
    DOWNLOADS = "downloads"
    """What Bazel has downloaded; all toolchains share it."""
    CONTAINER = "container"
    """A compile's container, at work or left behind."""
    OUTPUT = "output"
    """Bazel's working folder of the local engine."""
    SOURCE = "source"
    """A TensorFlow tree of the local engine."""
    PYTHON = "python"
    """A Python environment that the local engine builds with."""
    BAZEL = "bazel"
    """A Bazel from a fetched folder."""
    PROFILE = "profile"
    """A wheel that counts what it runs, and what it has counted."""
    LOG = "log"
    JOURNAL = "journal"
    """What earlier attempts of a recipe came to."""
    ENVIRONMENT = "environment"
    """An environment that a wheel is measured in."""
    DATA = "data"
    """Data that is trained on."""
    INSPECTION = "inspection"
    """What was found in a wheel."""
    WHEEL = "wheel"
    """A wheel that found its place taken; never pruned."""


# What can be had again only by downloading it goes when everything goes.
PRECIOUS = frozenset({Kind.DOWNLOADS, Kind.DATA})


@dataclass(frozen=True, kw_only=True)
class Item:
    """One kept thing."""

    place: str
    """"docker", "podman", or "here": below the user's cache folder."""
    kind: Kind
    name: str
    """Image tag, volume, container; a path for what is here."""
    identity: str
    """What the place calls it: an ID, a name, a path."""
    size: int
    """Bytes that go with it; parts shared with other things are not counted."""
    used: datetime
    """When it was last used, as far as anything tells; else when it was made."""
    what: str = ""
    """"TensorFlow 2.21.0 for Python 3.12"."""
    busy: str = ""
    """Why it cannot go now: who uses it."""
    orphaned: str = ""
    """Why nothing can use it any more."""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """All kept things."""

    SCHEMA: ClassVar[str] = "tfbuild.cache"
    VERSION: ClassVar[int] = 1

    items: tuple[Item, ...]
    total: int
    """Bytes."""
    unasked: tuple[str, ...] = ()
    """Engines that did not answer, a sentence each: what they keep is not here."""


class Store(Protocol):
    """A place that keeps things."""

    @property
    def name(self) -> str:
        """The word that items have as their place."""

    def items(self) -> list[Item]:
        """Return what is kept there and is tfbuild's. Raises EngineError, SaveError."""

    def remove(self, item: Item) -> None:
        """Remove it. Raises EngineError or SaveError when it cannot go."""
