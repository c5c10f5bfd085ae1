"""Looks through every place that keeps something."""

import shutil
from collections.abc import Sequence

from tfbuild.cache.model import Inventory, Item, Store
from tfbuild.errors import EngineError


def survey(places: Sequence[Store] | None = None) -> Inventory:
    """Return all that is kept: by the engines that answer, and below the user's cache folder.

    Raises:
        SaveError: the cache folder cannot be read.
    """
    items: list[Item] = []
    unasked = []
    for place in stores() if places is None else places:
        try:
            items += place.items()
        except EngineError as error:
            unasked.append(f"{place.name}: {error.what} {error.why}".strip())
    items.sort(key=lambda item: (item.place, item.kind, item.name))
    return Inventory(
        items=tuple(items), total=sum(item.size for item in items), unasked=tuple(unasked)
    )


def stores() -> list[Store]:
    """Return the places: this user's folder, and the engines that are installed."""
    from tfbuild.cache.docker import DockerStore
    from tfbuild.cache.folders import FolderStore
    from tfbuild.cache.podman import PodmanStore

    found: list[Store] = [FolderStore(), DockerStore()]
    if shutil.which("podman"):
        found.append(PodmanStore())
    return found
