"""Whether a speedup is a slowdown beyond a limit, for sure: what a continuous integration acts on.

Several ratios are judged at a time, and one that looks slow by chance shall not stop anybody. So
each interval is widened until 95 % hold for all of them together (Bonferroni), and it must lie
beyond the limit as a whole.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tfbuild import stats
from tfbuild.errors import SlowerError, UsageError
from tfbuild.stats import Estimate

LIMIT = 0.03
_WHOLE = 100
_SUREST = math.nextafter(1.0, 0.0)
"""Of intervals the widest that a float can ask for."""
_EXAMPLE = "Example: --fail-if-slower 3%"


class Outcome(StrEnum):
    """What is known of one ratio."""

    SLOWER = "slower"
    """By more than the limit, for sure."""
    FINE = "fine"
    """Not slower by more than the limit, for sure."""
    INCONCLUSIVE = "inconclusive"
    """The limit lies within the interval, or one round gave none."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One ratio and what was found."""

    name: str
    """Architecture, or "geometric mean"."""
    speedup: Estimate
    """With the interval that was judged: wide enough for all ratios together."""
    outcome: Outcome


def limit(text: str) -> float:
    """Return 0.03 for "3%", "3 %" and "0.03".

    Raises:
        UsageError: it is none of these, or not between 0 and 100 %.
    """
    number, is_percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        hint = f"Did you mean {number}%? " if 1 <= value <= _WHOLE else ""
        raise UsageError(
            f"{text!r} is no limit for a slowdown.",
            why="It is a share of the time: 3% or 0.03.",
            do=f"{hint}{_EXAMPLE}",
        )
    return value


def judge(speedups: Mapping[str, Estimate], most: float) -> tuple[Judged, ...]:
    """Judge several ratios together.

    Args:
        speedups: by name, each with its own interval.
        most: the slowdown that is let through: at 0.03 a speedup below 1 / 1.03 is too slow.
    """
    found = []
    for name, each in speedups.items():
        wide = widened(each, together(each.confidence, len(speedups)))
        found.append(Judged(name=name, speedup=wide, outcome=outcome(wide, most)))
    return tuple(found)


def together(confidence: float, count: int) -> float:
    """Return the confidence of each of several intervals that hold together with the one given."""
    return min(1 - (1 - confidence) / count, _SUREST)


def widened(estimate: Estimate, confidence: float) -> Estimate:
    """Return the estimate with the interval of another confidence.

    Student's interval grows by the ratio of two quantiles. For unpaired samples the degrees of
    freedom lie between the smaller sample's and both together; the smaller's widen it most.
    """
    if estimate.low is None or estimate.high is None:
        return replace(estimate, confidence=confidence)
    freedom = estimate.pairs - 1
    factor = stats.t_quantile(confidence, freedom) / stats.t_quantile(estimate.confidence, freedom)
    centre = math.log(estimate.ratio)
    return replace(
        estimate,
        low=stats.exponential(centre + (math.log(estimate.low) - centre) * factor),
        high=stats.exponential(centre + (math.log(estimate.high) - centre) * factor),
        confidence=confidence,
    )


def refuse(what: str, judged: Sequence[Judged], most: float, *, is_strict: bool) -> None:
    """Raise if something is too slow.

    Args:
        what: who was compared with whom.
        judged: the ratios.
        most: the limit that they were judged with.
        is_strict: refuse what is not known, too.

    Raises:
        SlowerError: with the names of what is slower, or inconclusive where that counts.
    """
    for kind, is_refused in ((Outcome.SLOWER, True), (Outcome.INCONCLUSIVE, is_strict)):
        named = [told(each) for each in judged if each.outcome is kind]
        if named and is_refused:
            is_slower = kind is Outcome.SLOWER
            raise SlowerError(
                f"{what}: {'slower' if is_slower else 'perhaps slower'} by more than "
                f"{most * 100:.3g} %: {', '.join(named)}.",
                why="The intervals hold for all of them together; below 1 is slower.",
                do="Measure again to be sure that it was not the machine."
                if is_slower
                else "More rounds make the intervals narrower: --rounds 10",
            )


def told(judged: Judged) -> str:
    """Return "mnist_cnn 0.93x (0.91-0.95)"."""
    low, high = judged.speedup.low, judged.speedup.high
    span = "" if low is None or high is None else f" ({low:.2f}-{high:.2f})"
    return f"{judged.name} {judged.speedup.ratio:.2f}x{span}"


def outcome(estimate: Estimate, most: float) -> Outcome:
    """Return what the interval says of a limit."""
    if estimate.low is None or estimate.high is None:
        return Outcome.INCONCLUSIVE
    if estimate.high < 1 / (1 + most):
        return Outcome.SLOWER
    return Outcome.FINE if estimate.low >= 1 / (1 + most) else Outcome.INCONCLUSIVE
