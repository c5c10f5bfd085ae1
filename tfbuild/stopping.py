"""When a session has measured enough, by a rule that keeps its promise of 95 %.

Without a precision all rounds are run, and there is nothing to keep. With one:

1. A pilot of a few rounds tells the spread of each ratio, and from the widest of them follows the
   number of rounds at which every interval is as narrow as asked: Stein's idea (Annals of
   Mathematical Statistics 16, 1945), carried on in each later look, so that a pilot that saw too
   little costs nothing.
2. At a few looks on the way, intervals widened for just that (`stats.boundary`) are asked whether
   every verdict is clear. Then the session stops early.

What is planned depends on spreads only, never on the effects: that is what the promise rests on.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfbuild import stats
from tfbuild.bench.suite import Plan, Stopped
from tfbuild.stats.boundary import Look, level, spent
from tfbuild.stats.estimate import Verdict

PILOT = 6
LOOKS = 5
"""Looks planned, pilot and end included; more only where the spread turns out larger."""
_RECENT = 3


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
    in_time = done + _rounds_left(plan, seconds[:done])
    looks: list[_Planned] = []
    if plan.precision is not None and ratios:
        looks = list(_looks(plan, plan.precision, ratios, done))
    planned = looks[-1].planned if looks else plan.rounds
    stop = _stop(plan, ratios, done, looks)
    ends = level(tuple(each.look for each in looks)) if stop is Stopped.VERDICT else None
    if stop is None and done >= in_time:
        stop = Stopped.TIME
    return Decision(
        stop=stop,
        planned=max(done, min(planned, in_time)),
        looks=tuple(each.look.pairs for each in looks),
        level=_last_level(looks, done) if ends is None else ends,
    )


@dataclass(frozen=True, kw_only=True)
class _Planned:
    """A look, and the rounds that were planned then."""

    look: Look
    planned: int
    is_precise: bool


def _looks(
    plan: Plan, precision: float, ratios: Sequence[Sequence[float]], done: int
) -> Iterator[_Planned]:
    """Yield the looks up to now; none comes after one that ends the session by itself."""
    before: list[_Planned] = []
    pairs = min(PILOT, plan.rounds)
    while pairs <= done:
        half_width = _HalfWidth(
            deviation=max(_spread(each[:pairs]) for each in ratios),
            confidence=_last_level(before, pairs),
        )
        planned = half_width.pairs_for(math.log1p(precision), pairs, plan.rounds)
        already = before[-1].look.spent if before else 0.0
        found = _Planned(
            look=Look(pairs=pairs, spent=max(already, spent(pairs / planned))),
            planned=planned,
            is_precise=half_width.after(pairs) <= math.log1p(precision),
        )
        before.append(found)
        yield found
        if planned <= pairs:
            return
        step = math.ceil((planned - pairs) / max(1, LOOKS - len(before)))
        pairs = min(_even(pairs + step), planned)


@dataclass(frozen=True, kw_only=True)
class _HalfWidth:
    """Of the interval of the ratio that spreads most."""

    deviation: float
    confidence: float

    def after(self, pairs: int) -> float:
        if pairs < 2:  # noqa: PLR2004 - one value has no spread
            return math.inf
        return stats.t_quantile(self.confidence, pairs - 1) * self.deviation / math.sqrt(pairs)

    def pairs_for(self, wanted: float, least: int, most: int) -> int:
        """Return the pairs at which it is no more than wanted, even unless they are the least."""
        if self.after(least) <= wanted or least >= most:
            return least
        if self.after(most) > wanted:
            return most
        few, many = least, most
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if self.after(middle) <= wanted else (middle, many)
        return min(_even(many), most)


def _stop(
    plan: Plan, ratios: Sequence[Sequence[float]], done: int, looks: Sequence[_Planned]
) -> Stopped | None:
    if looks and looks[-1].is_precise:
        return Stopped.PRECISION
    if done >= plan.rounds:
        return Stopped.ROUNDS
    if looks and looks[-1].look.pairs == done:
        confidence = level(tuple(each.look for each in looks))
        found = (stats.from_logs(each[:done], confidence) for each in ratios)
        if all(stats.verdict(each, plan.noise) is not Verdict.INCONCLUSIVE for each in found):
            return Stopped.VERDICT
    return None


def _last_level(looks: Sequence[_Planned], pairs: int) -> float:
    """Return the level if it ends here for a reason that is not the effect: all may be spent."""
    before = tuple(each.look for each in looks if each.look.pairs < pairs)
    if not before:
        return stats.CONFIDENCE
    return level((*before, Look(pairs=pairs, spent=1 - stats.CONFIDENCE)))


def _even(rounds: int) -> int:
    """Every second round turns the order of the one before around: whole pairs of rounds."""
    return rounds + rounds % 2


def _spread(logs: Sequence[float]) -> float:
    return stats.standard_deviation(logs) if len(logs) > 1 else math.inf


def _rounds_left(plan: Plan, seconds: Sequence[float]) -> int:
    """Return how many more rounds fit, each as long as the longest of the last few."""
    left = plan.rounds - len(seconds)
    if plan.max_seconds is None or not seconds:
        return left
    time = plan.max_seconds - math.fsum(seconds)
    return max(0, min(left, math.floor(time / max(seconds[-_RECENT:]))))
