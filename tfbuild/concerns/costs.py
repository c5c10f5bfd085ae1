"""Prices that are too old to believe, or lacking."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from tfbuild import sweep
from tfbuild.bench.suite import Side
from tfbuild.concerns.model import Concern, Kind
from tfbuild.prices import Price, fitting

OLD_DAYS = 90


def about_sides(sides: Sequence[Side], prices: Sequence[Price]) -> Iterator[Concern]:
    """Yield what is to be said today of the prices that contenders' costs were reckoned with."""
    sizes = [sweep.rented(side.who.setting, side.suite.machine) for side in sides]
    yield from about(prices, datetime.now(UTC).date(), sizes)


def about(prices: Sequence[Price], on: date, sizes: Sequence[int] = ()) -> Iterator[Concern]:
    """Yield what is to be said of the prices that costs were reckoned with.

    Args:
        prices: those that were used.
        on: the day of the comparison.
        sizes: the numbers of vCPUs that were measured.
    """
    if not prices:
        return
    oldest = min(price.as_of for price in prices)
    if (age := (on - oldest).days) > OLD_DAYS:
        yield Concern(
            kind=Kind.OLD_PRICES,
            what=f"The prices are of {oldest}, {age} days ago.",
            do="Costs are those of that day; write today's into a prices file, with as_of.",
        )
    if lacking := [size for size in sorted(set(sizes)) if fitting(prices, size) is None]:
        there = sorted({price.vcpus for price in prices if price.device == "cpu"})
        yield Concern(
            kind=Kind.NO_PRICE,
            what=f"No price for {_named(lacking)} vCPU{'' if lacking == [1] else 's'}; "
            f"there are those for {_named(there)}.",
            do="Their costs are left out: a part of a larger machine is nothing that is sold.",
        )


def _named(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
