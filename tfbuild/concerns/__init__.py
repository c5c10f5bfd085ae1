"""Reasons to trust a comparison less, each with advice. None of them stops it."""

from collections.abc import Iterator

from tfbuild.bench.suite import Side
from tfbuild.concerns import cores, heat, limits, load, losses, sameness, sessions
from tfbuild.concerns.model import Concern, Kind

__all__ = ["Concern", "Kind", "about", "about_one"]

_OF_THE_MACHINE = (load.about, heat.about, limits.about, cores.about)


def about(baseline: Side, candidate: Side, *, is_paired: bool) -> Iterator[Concern]:
    """Yield every concern about a comparison of two sides that may be compared at all."""
    yield from sessions.about(baseline, candidate, is_paired=is_paired)
    yield from sessions.about_end(baseline, candidate)
    for one in _OF_THE_MACHINE:
        yield from one(baseline, candidate)
    yield from losses.about(baseline, candidate)
    yield from sameness.about(baseline, candidate)


def about_one(side: Side) -> Iterator[Concern]:
    """Yield what is to be said of one environment's times alone."""
    yield from sessions.about_end(side)
    for one in _OF_THE_MACHINE:
        yield from one(side)
    yield from losses.about(side)
