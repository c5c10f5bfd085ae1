"""The statistics of a comparison: small, pure, and without dependencies.

A measurement is a time. Its natural scale is the logarithm, because machines and wheels are
"so many times" faster, never "so many seconds" faster. The unit of replication is a fresh
process: what is repeated inside one process shares its memory layout and its luck (Kalibera and
Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). Baseline and candidate are
measured close together in one round, so that whatever drifts slowly cancels in their ratio.

An estimate is the mean of the logarithms of the paired ratios with Student's two-sided interval,
both taken back through the exponential: a geometric mean of ratios.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

CONFIDENCE = 0.95
NOISE = 0.02
"""Differences below this share are taken for noise, even where they are certain."""
_CONVERGED = 1e-15


class Verdict(StrEnum):
    """What may be said about a candidate."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A speedup: the baseline's time over the candidate's, so more than 1 is faster."""

    ratio: float
    low: float | None
    """Bounds of the interval; None where one pair gives no idea of the spread."""
    high: float | None
    pairs: int
    """Pairs of processes; of two unpaired sets, the smaller one's size."""
    confidence: float = CONFIDENCE
    paired: bool = True
    """False where the two sides were measured in different sessions."""


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


def paired(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the speedup from pairs of times; the i-th of both belong to one round.

    Args:
        baseline: times, any unit, all positive.
        candidate: as many, same unit.
        confidence: of the two-sided interval, between 0 and 1.
    """
    return from_logs(
        [math.log(a / b) for a, b in zip(baseline, candidate, strict=True)], confidence
    )


def from_logs(logs: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the estimate from one log ratio a round."""
    centre, count = mean(logs), len(logs)
    half = None
    if count > 1:
        error = standard_deviation(logs) / math.sqrt(count)
        half = error * t_quantile(confidence, count - 1)
    return _estimate(centre, half, pairs=count, confidence=confidence, is_paired=True)


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


def verdict(estimate: Estimate, noise: float = NOISE) -> Verdict:
    """Return what the interval allows to say.

    The whole interval must lie beyond the noise threshold for "faster" or "slower": criterion.rs
    decides in the same way (`compare_to_threshold` in its report module). It must lie within the
    threshold for "equivalent": the interval form of two one-sided tests (Schuirmann 1987). The
    threshold is symmetric in the logarithm, so exchanging the two sides mirrors the verdict.
    """
    if estimate.low is None or estimate.high is None:
        return Verdict.INCONCLUSIVE
    above, below = 1 + noise, 1 / (1 + noise)
    if estimate.low > above:
        return Verdict.FASTER
    if estimate.high < below:
        return Verdict.SLOWER
    if below <= estimate.low and estimate.high <= above:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE


@functools.cache
def t_quantile(confidence: float, freedom: float) -> float:
    """Return t such that |T| <= t has probability `confidence`, for Student's T.

    Args:
        confidence: between 0 and 1, both excluded.
        freedom: degrees of freedom, positive, need not be whole.
    """
    if not (0 < confidence < 1 and freedom > 0):
        raise ValueError(f"no t quantile for confidence {confidence}, {freedom} degrees of freedom")
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        low, high = high, high * 2
    # Bisection to the last bit: some sixty steps, for a number needed a dozen times.
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return high


def incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), for y = 1 - x.

    Continued fraction DLMF 8.17.22 (https://dlmf.nist.gov/8.17#v) by Lentz's method in Thompson
    and Barnett's form (J. Comput. Phys. 64, 1986). Both x and y are asked for, because one of them
    may be too near to 1 for the other to be had by subtraction.
    """
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, y, x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log(y)) / a
    return front * _beta_fraction(a, b, x)


def _within(t: float, freedom: float) -> float:
    square = t * t
    x, y = square / (freedom + square), freedom / (freedom + square)
    return incomplete_beta(0.5, freedom / 2, x, y)


def _beta_fraction(a: float, b: float, x: float) -> float:
    tiny, steps = 1e-300, 10_000  # steps grow with the root of the degrees of freedom
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    value = d
    for m in range(1, steps):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            value *= c * d
        if abs(c * d - 1) < _CONVERGED:
            break
    return value


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
        ratio=math.exp(centre),
        low=None if half is None else math.exp(centre - half),
        high=None if half is None else math.exp(centre + half),
        pairs=pairs,
        confidence=confidence,
        paired=is_paired,
    )
