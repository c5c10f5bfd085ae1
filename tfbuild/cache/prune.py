"""Decides what may go, and removes it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tfbuild.cache.model import PRECIOUS, Item, Kind, Store
from tfbuild.errors import TfbuildError

# Containers hold images and volumes, volumes are told by their image: this is the order to go.
_ORDER = (Kind.CONTAINER, Kind.ACTIONS, Kind.DOWNLOADS, Kind.IMAGE)


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What became of an item that was to go."""

    item: Item
    error: str = ""
    """Why it stays; "" when it went."""


def chosen(
    items: Iterable[Item], older_than: timedelta, *, everything: bool, now: datetime | None = None
) -> list[Item]:
    """Return what may go, in the order in which it has to go.

    Nothing that is in use, and no wheel, ever. What nothing can use any more always.

    Args:
        items: what is kept.
        older_than: what was used within this time stays.
        everything: of any age, and downloads too.
        now: the time to reckon from.
    """
    limit = (now or datetime.now(UTC)) - older_than
    may = [item for item in items if not item.busy and item.kind is not Kind.WHEEL]
    found = [
        item
        for item in may
        if everything or item.orphaned or (item.kind not in PRECIOUS and item.used <= limit)
    ]
    return sorted(found, key=_rank)


def remove(items: Iterable[Item], places: Sequence[Store]) -> list[Removal]:
    """Remove the items; one that cannot go does not keep the others."""
    by_name = {place.name: place for place in places}
    done = []
    for item in items:
        try:
            by_name[item.place].remove(item)
        except TfbuildError as error:
            done.append(Removal(item=item, error=f"{error.what} {error.why}".strip()))
        else:
            done.append(Removal(item=item))
    return done


def _rank(item: Item) -> int:
    return _ORDER.index(item.kind) if item.kind in _ORDER else len(_ORDER)
