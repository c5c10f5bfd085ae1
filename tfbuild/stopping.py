"""When a session has measured enough, by a rule that keeps its promise of 95 %."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild import stats
from tfbuild.bench.suite import Plan, Stopped


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the rule says after some rounds."""

    stop: Stopped | None
    """None: go on."""
    planned: int
    """Rounds that will be run if nothing stops it early; from the pilot on a good estimate."""
    looks: tuple[int, ...]
    """Rounds at which it was asked whether to stop, this one included if it is one."""
    level: float
    """Confidence that the intervals have to be computed with now, so that 95 % hold over all."""


def after(plan: Plan, ratios: Sequence[Sequence[float]], seconds: Sequence[float]) -> Decision:
    """Return whether to go on: a pure function of what was seen, so a resumed session agrees.

    Args:
        plan: what was asked for.
        ratios: for each pair of candidate and architecture, control excluded, the logarithm of
            baseline's time over candidate's in each finished round.
        seconds: how long each finished round took.
    """
    done = min([len(seconds), *map(len, ratios)])
    return Decision(
        stop=Stopped.ROUNDS if done >= plan.rounds else None,
        planned=plan.rounds,
        looks=(),
        level=stats.CONFIDENCE,
    )
