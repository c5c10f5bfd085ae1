"""A figure before it is put on a page: drawings, what they mean, and the numbers under them."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild.report.svg import Drawing
from tfbuild.report.view import Contender, Pair, View


@dataclass(frozen=True, kw_only=True)
class Table:
    """Numbers, ready to show."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each begins with what the row is about."""
    words: frozenset[int] = frozenset()
    """Columns that hold words, besides the first; all others are numbers, put to the right."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One drawing of a figure."""

    heading: str
    """"" where the figure has one drawing only."""
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a legend."""

    series: int
    label: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One question, answered by a drawing and by a table."""

    key: str
    heading: str
    lead: str
    """What it shows, in a sentence or two."""
    panels: tuple[Panel, ...]
    tables: tuple[Table, ...]
    legend: tuple[Entry, ...] = ()
    remarks: tuple[str, ...] = ()


def key(view: View, *parts: object) -> str:
    """Return a name for an element that no other report on the same page has."""
    return "-".join(["r" + view.report.sha256[:10], *map(str, parts)])


def legend(shown: Sequence[Contender | Pair]) -> tuple[Entry, ...]:
    """Return the legend of contenders, or of pairs."""
    return tuple(Entry(series=each.series, label=each.label) for each in shown)
