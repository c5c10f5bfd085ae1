"""Means of logarithms with Student's interval."""

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfbuild.stats.estimate import CONFIDENCE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_FARTHEST = 700.0
"""A logarithm beyond which floats end."""


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, rounded once (`math.fsum`)."""
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1). Needs two values."""
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values."""
    return math.exp(mean([math.log(value) for value in values]))


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation of the logarithms, None for a single value."""
    return standard_deviation([math.log(value) for value in values]) if len(values) > 1 else None


def log_ratios(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    """Return the logarithm of baseline over candidate for each pair."""
    return [math.log(a) - math.log(b) for a, b in zip(baseline, candidate, strict=True)]


def paired(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the speedup from pairs of times; the i-th of both belong to one round.

    Args:
        baseline: times, any unit, all positive.
        candidate: as many, same unit.
        confidence: of the two-sided interval, between 0 and 1.
    """
    return from_logs(log_ratios(baseline, candidate), confidence)


def from_logs(logs: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the estimate from one log ratio a round."""
    import numpy as np

    half = float(half_widths(np.asarray(logs), confidence)) if len(logs) > 1 else None
    return _estimate(mean(logs), half, pairs=len(logs), confidence=confidence, is_paired=True)


def half_widths(logs: "Floats", confidence: float = CONFIDENCE) -> "Floats":
    """Return half the width of Student's interval for the mean, for many samples at a time.

    Student, "The probable error of a mean", Biometrika 6 (1908): t times s over the root of n.

    Args:
        logs: of shape (..., n) with n at least 2: each last axis is one sample.
        confidence: of the two-sided interval.

    Returns:
        Shape (...).
    """
    count = logs.shape[-1]
    error: Floats = logs.std(axis=-1, ddof=1) / math.sqrt(count)
    return error * t_quantile(confidence, count - 1)


def unpaired(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the speedup from times of two sessions, which share no rounds.

    Welch's interval on the difference of the mean logarithms, with the degrees of freedom of
    Welch (Biometrika 34, 1947) and Satterthwaite. It knows nothing of drift between the sessions.
    """
    a, b = [math.log(value) for value in baseline], [math.log(value) for value in candidate]
    centre, half = mean(a) - mean(b), None
    if min(len(a), len(b)) > 1:
        half = _welch_half_width(a, b, confidence)
    return _estimate(
        centre, half, pairs=min(len(a), len(b)), confidence=confidence, is_paired=False
    )


@functools.cache
def t_quantile(confidence: float, freedom: float) -> float:
    """Return t such that |T| <= t has probability `confidence`, for Student's T.

    Args:
        confidence: between 0 and 1, both excluded.
        freedom: degrees of freedom, positive, need not be whole.

    Raises:
        ValueError: there is no such number.
    """
    if not (0 < confidence < 1 and freedom > 0):
        raise ValueError(f"no t quantile for confidence {confidence}, {freedom} degrees of freedom")
    # scipy.stats would take several times as long to import.
    from scipy.special import stdtrit

    # The lower tail, whose probability keeps its digits where the upper one's is rounded to 1.
    return -float(stdtrit(freedom, (1 - confidence) / 2))


def _welch_half_width(a: Sequence[float], b: Sequence[float], confidence: float) -> float:
    va, vb = standard_deviation(a) ** 2 / len(a), standard_deviation(b) ** 2 / len(b)
    if va + vb == 0:
        return 0.0
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return math.sqrt(va + vb) * t_quantile(confidence, freedom)


def _estimate(
    centre: float, half: float | None, *, pairs: int, confidence: float, is_paired: bool
) -> Estimate:
    return Estimate(
        ratio=exponential(centre),
        low=None if half is None else exponential(centre - half),
        high=None if half is None else exponential(centre + half),
        pairs=pairs,
        confidence=confidence,
        paired=is_paired,
    )


def exponential(value: float) -> float:
    """Return the exponential, finite and positive whatever odd times were in a file."""
    return math.exp(max(-_FARTHEST, min(_FARTHEST, value)))
