"""A speedup with its interval, and what it allows to say."""

from dataclasses import dataclass
from enum import StrEnum

CONFIDENCE = 0.95
NOISE = 0.02
"""Differences below this share are taken for noise, even where they are certain."""


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
    """Of this interval for itself. Where a session looked at its samples several times, it is more
    than 95 %, so that 95 % hold for all looks together (`tfbuild.stopping`)."""
    paired: bool = True
    """False where the two sides were measured in different sessions."""


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
