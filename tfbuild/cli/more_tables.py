"""Tables of what only some comparisons have: costs, the roofline, sizes, start-up."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from rich.table import Table

from tfbuild.report import words
from tfbuild.stats import mean

if TYPE_CHECKING:
    from tfbuild.bench.suite import Side
    from tfbuild.compare import Times
    from tfbuild.prices import Price
    from tfbuild.sweep import Curve

MOST_SIDES = 5
"""Columns of numbers that 80 columns have room for."""
_WHEEL = 32
"""Letters of a wheel and what is switched on in it: the rest of its table takes 44."""
NONE = "-"

Lettered: TypeAlias = 'Sequence[tuple[str, Sequence["Times"]]]'
"""Each contender's letter and times, all in the same order of architectures."""


def plain() -> Table:
    """Return a table without lines."""
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")


def costs(lettered: Lettered) -> Iterator[Table]:
    """Yield what the study's run costs, if anything has a cost."""
    found = [each.cost for _, times in lettered for each in times if each.cost is not None]
    if not found:
        return
    table = plain()
    table.add_column("cost of the\nstudy's run", no_wrap=True)
    for letter, _ in lettered:
        table.add_column(f"{letter}\n{found[0].price.currency}", justify="right", no_wrap=True)
    has_k80 = any(cost.of_k80 is not None for cost in found)
    for letter, _ in lettered if has_k80 else ():
        table.add_column(f"{letter} to\nK80", justify="right", no_wrap=True)
    for row in zip(*(times for _, times in lettered), strict=True):
        relative = map(_of_k80, row) if has_k80 else ()
        table.add_row(row[0].architecture, *map(_amount, row), *relative)
    yield table


def _amount(times: "Times") -> str:
    return NONE if times.cost is None else words.number(times.cost.amount)


def _of_k80(times: "Times") -> str:
    cost = times.cost
    return NONE if cost is None or cost.of_k80 is None else f"{cost.of_k80:.2f}x"


def prices(times: Iterable["Times"]) -> tuple["Price", ...]:
    """Return each price that was used once."""
    return tuple(dict.fromkeys(each.cost.price for each in times if each.cost is not None))


def roofline(lettered: Lettered) -> Iterator[Table]:
    """Yield how near each came to the machine's limit, if that was measured."""
    if all(each.achieved is None for _, times in lettered for each in times):
        return
    table = plain()
    has_peak = bool(fractions(each for _, times in lettered for each in times))
    table.add_column("share of the\nroofline" if has_peak else "work\ndone", no_wrap=True)
    for letter, _ in lettered:
        table.add_column(f"{letter}\nGFLOP/s", justify="right", no_wrap=True)
    for letter, _ in lettered if has_peak else ():
        table.add_column(f"{letter}\nof roof", justify="right", no_wrap=True)
    table.add_column("\nlimited by" if has_peak else "", no_wrap=True)
    for row in zip(*(times for _, times in lettered), strict=True):
        last = row[-1].achieved
        bound = NONE if last is None else last.bound or NONE
        shares = [*map(_fraction, row), bound] if has_peak else []
        table.add_row(row[0].architecture, *map(_reached, row), *shares)
    yield table


def fractions(times: Iterable["Times"]) -> list[float]:
    """Return the known shares of a roof."""
    found = (each.achieved.fraction for each in times if each.achieved is not None)
    return [each for each in found if each is not None]


def _reached(times: "Times") -> str:
    found = None if times.achieved is None else times.achieved.gflops
    return NONE if found is None else words.number(found)


def _fraction(times: "Times") -> str:
    found = None if times.achieved is None else times.achieved.fraction
    return NONE if found is None else f"{found:.0%}"


def sizes(curves: Sequence["Curve"]) -> Iterator[Table]:
    """Yield time and cost against vCPUs, a table for each wheel; of several models, their mean."""
    means = [each for each in curves if not each.architecture] or list(curves)
    for curve in means:
        table = plain()
        what = curve.architecture or "geometric mean"
        wheel = words.cut(curve.wheel, _WHEEL)
        table.add_column(f"{wheel}\n{what}", justify="left", no_wrap=True)
        table.add_column("whole\nrun, s", justify="right", no_wrap=True)
        table.add_column(f"\n{curve.currency or 'cost'}", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for point in curve.points:
            amount = NONE if point.amount is None else words.number(point.amount)
            best = {"fastest": curve.fastest, "cheapest": curve.cheapest}
            names = [name for name, vcpus in best.items() if vcpus == point.vcpus]
            names += ["Pareto"] if point.vcpus in curve.pareto else []
            unit = "vCPU" if point.vcpus == 1 else "vCPUs"
            cells = (words.number(point.seconds), amount, ", ".join(names))
            table.add_row(f"{point.vcpus:>4} {unit}", *cells)
        yield table


def apart(sides: Sequence["Side"], letters: Sequence[str]) -> Iterator[Table]:
    """Yield start-up and first steps, which no other number holds, where they are known."""
    shown = list(zip(sides, letters, strict=False))[:MOST_SIDES]
    rows = [("start-up", [_mean([run.startup_seconds for run in side.runs]) for side, _ in shown])]
    for name in sides[0].suite.plan.architectures:
        firsts = [
            _mean([run.sample(name).first_step_seconds for run in side.runs]) for side, _ in shown
        ]
        rows.append((name, firsts))
    known = [row for row in rows if any(each != NONE for each in row[1])]
    if not known:
        return
    table = plain()
    table.add_column("not in the times above:\nstart-up and first step", no_wrap=True)
    for _, letter in shown:
        table.add_column(f"{letter}\ns", justify="right", no_wrap=True)
    for label, cells in known:
        table.add_row(label, *cells)
    yield table


def _mean(values: Sequence[float | None]) -> str:
    known = [each for each in values if each is not None]
    return words.number(mean(known)) if known else NONE
