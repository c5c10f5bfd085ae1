"""Whether the CPU slowed down in the course of a session."""

import math
import statistics
from collections.abc import Iterator, Sequence

from tfbuild.bench.suite import Run, Side
from tfbuild.concerns.model import Concern, Kind

SLOWER = 0.03
"""Share by which times of all sides must have grown, and the clock rate fallen, to be called drift.
Between the first third of the rounds and the last: a single slow round does not make it."""
_FEWEST_ROUNDS = 6
_DO = (
    "Rounds cancel what slows all sides alike; better cooling or a lower, fixed frequency ends it."
)


def about(*sides: Side) -> Iterator[Concern]:
    """Yield one concern where the kernel counted heat, or times and clock rate say so together.

    Times alone do not: a session slows down for many reasons. Nor does the clock rate alone, which
    is only seen between two processes.
    """
    runs = [run for side in sides for run in side.runs]
    if (hot := sum(map(_hot_events, runs))) > 0:
        yield Concern(
            kind=Kind.THERMAL_DRIFT,
            what=f"The CPU was slowed down because of heat, {hot} times by the kernel's counters.",
            do=_DO,
        )
        return
    growth = [_growth(side) for side in sides]
    fall = _fall(runs)
    if growth and min(growth) > SLOWER and fall > SLOWER:
        yield Concern(
            kind=Kind.THERMAL_DRIFT,
            what=f"All times grew by {min(growth):.0%} or more in the course of the session, and "
            f"the clock rate fell by {fall:.0%}.",
            do=_DO,
        )


def _hot_events(run: Run) -> int:
    before, after = run.before.hot_events, run.after.hot_events
    return 0 if before is None or after is None else max(0, after - before)


def _growth(side: Side) -> float:
    """Return the relative growth of times from the first third of the rounds to the last."""
    by_round = [
        statistics.fmean(math.log(sample.study_epoch_seconds) for sample in run.samples)
        for run in side.runs
        if run.samples
    ]
    if len(by_round) < _FEWEST_ROUNDS:
        return 0.0
    first, last = _thirds(by_round)
    return math.expm1(last - first)


def _fall(runs: Sequence[Run]) -> float:
    in_order = sorted(runs, key=lambda run: (run.round, run.position))
    rates = [run.after.mhz for run in in_order if run.after.mhz]
    if len(rates) < _FEWEST_ROUNDS:
        return 0.0
    first, last = _thirds(rates)
    return 1 - last / first


def _thirds(values: Sequence[float]) -> tuple[float, float]:
    size = len(values) // 3
    return statistics.fmean(values[:size]), statistics.fmean(values[-size:])
