"""Adds tallies up; of estimates the intervals too."""

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tfbuild.code.evidence import Count, Tally
from tfbuild.code.extensions import ORDER
from tfbuild.code.forms import ENCODINGS, WIDTHS

K = TypeVar("K", str, int)


def added(tallies: Sequence[Tally]) -> Tally:
    """Return the sum of tallies; all zero for none."""
    return Tally(
        functions=sum(tally.functions for tally in tallies),
        bytes=sum(tally.bytes for tally in tallies),
        decoded=sum(tally.decoded for tally in tallies),
        instructions=total([tally.instructions for tally in tallies]),
        extensions=_by_key(ORDER, [tally.extensions for tally in tallies]),
        widths=_by_key(WIDTHS, [tally.widths for tally in tallies]),
        encodings=_by_key(ENCODINGS, [tally.encodings for tally in tallies]),
        fused=total([tally.fused for tally in tallies]),
    )


def total(counts: Sequence[Count]) -> Count:
    """Return the sum of counts.

    Estimates of different libraries are independent, so the distances to their bounds add up as
    standard deviations do.
    """
    value = sum(count.value for count in counts)
    below = math.hypot(*(count.value - count.low for count in counts))
    above = math.hypot(*(count.high - count.value for count in counts))
    return Count(value=value, low=value - math.ceil(below), high=value + math.ceil(above))


def _by_key(keys: Iterable[K], tallies: Sequence[dict[K, Count]]) -> dict[K, Count]:
    found = {key: [tally[key] for tally in tallies if key in tally] for key in keys}
    return {key: total(counts) for key, counts in found.items() if counts}
