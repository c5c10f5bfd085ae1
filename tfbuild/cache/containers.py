"""What Docker and Podman have in common in what they keep: labels, owners, who uses what."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from tfbuild.cache.model import Item, Kind
from tfbuild.engine.client import LABEL_CACHE, LABEL_OWNER, LABEL_TOOLCHAIN, LABEL_WHAT
from tfbuild.engine.container import LABEL_RECIPE, cache_volume
from tfbuild.engine.owner import occupied

USED = "used"
"""A file that each build touches in its cache volume: engines do not tell when one was used."""


@dataclass(frozen=True, kw_only=True)
class Thing:
    """An image, a volume or a container, as an engine tells of it."""

    identity: str
    name: str
    size: int
    made: datetime
    """When it was made, or last used if that can be told."""
    labels: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    """ID of a container's image."""
    volumes: frozenset[str] = frozenset()
    """Names of a container's volumes."""
    is_running: bool = False


class Remover(Protocol):
    """The operations of an engine's client that take things away. All raise EngineError."""

    def remove(self, container: str) -> None:
        """Stop a container if it runs, and remove it."""

    def remove_image(self, image: str) -> None:
        """Remove an image that nothing uses."""

    def remove_volume(self, name: str) -> None:
        """Remove a volume that nothing uses."""


def remove(client: Remover, item: Item) -> None:
    """Remove what the item names; the engine refuses what a container uses."""
    if item.kind is Kind.CONTAINER:
        client.remove(item.identity)
    elif item.kind is Kind.IMAGE:
        client.remove_image(item.identity)
    else:
        client.remove_volume(item.identity)


def items(
    place: str, images: Iterable[Thing], volumes: Iterable[Thing], containers: Iterable[Thing]
) -> list[Item]:
    """Return what of all that the engine has is tfbuild's: nothing without its label.

    Args:
        place: name of the engine.
        images: all, or those with tfbuild's label.
        volumes: the same.
        containers: all, since anybody's container may use an image or a volume.
    """
    everyone = list(containers)
    ours = [one for one in images if LABEL_TOOLCHAIN in one.labels]
    kept = [one for one in volumes if LABEL_CACHE in one.labels]
    there = {cache_volume(one.identity) for one in ours}
    return [
        *(_container(place, one) for one in everyone if LABEL_OWNER in one.labels),
        *(_image(place, one, everyone, kept) for one in ours),
        *(_volume(place, one, everyone, there) for one in kept),
    ]


def _container(place: str, thing: Thing) -> Item:
    busy = occupied(thing.labels.get(LABEL_OWNER, ""), is_running=thing.is_running)
    recipe = thing.labels.get(LABEL_RECIPE, "")
    item = _item(place, Kind.CONTAINER, thing)
    return replace(
        item,
        what=item.what or (f"recipe {recipe[:12]}" if recipe else ""),
        busy=busy,
        orphaned="" if busy else "its tfbuild has ended",
    )


def _image(place: str, thing: Thing, containers: Iterable[Thing], volumes: Iterable[Thing]) -> Item:
    users = [one.name for one in containers if one.image == thing.identity]
    own = [one.made for one in volumes if one.name == cache_volume(thing.identity)]
    item = _item(place, Kind.IMAGE, thing)
    return replace(item, used=max([item.used, *own]), busy=_users(users))


def _volume(place: str, thing: Thing, containers: Iterable[Thing], there: set[str]) -> Item:
    users = [one.name for one in containers if thing.name in one.volumes]
    is_downloads = thing.labels[LABEL_CACHE] == Kind.DOWNLOADS
    is_lost = not is_downloads and thing.name not in there
    item = _item(place, Kind.DOWNLOADS if is_downloads else Kind.ACTIONS, thing)
    lost = "its toolchain image is gone" if is_lost else ""
    return replace(item, busy=_users(users), orphaned=lost)


def _item(place: str, kind: Kind, thing: Thing) -> Item:
    return Item(
        place=place,
        kind=kind,
        name=thing.name,
        identity=thing.identity,
        size=thing.size,
        used=thing.made,
        what=thing.labels.get(LABEL_WHAT, ""),
    )


def _users(names: list[str]) -> str:
    return f"container {', '.join(names)} uses it" if names else ""
