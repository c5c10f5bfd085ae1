"""The bootstrap's interval: bias-corrected and accelerated, with the width that small samples need.

Efron, "Better bootstrap confidence intervals", JASA 82 (1987), by scipy. The rounds are drawn with
replacement, each with its pair whole. Drawn from n values, the spread of a mean is too small by the
root of (n - 1)/n, and the normal quantile is too small for a spread that is itself estimated: so
the level is raised as in Hesterberg, "What teachers should know about the bootstrap", The American
Statistician 69 (2015), "expanded percentile interval".
"""

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfbuild.stats.estimate import CONFIDENCE, Estimate
from tfbuild.stats.student import exponential, log_ratios, mean, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 10
"""Pairs below which it may cover less than 93 % where some processes are slower than the rest."""
RESAMPLES = 9_999
_IN_A_TAIL = 10
"""Resamples that must lie beyond each bound, or the bound is a matter of chance."""
_SEED = 1987
_AT_A_TIME = 250
"""Resamples in memory at once."""


def bootstrap(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate | None:
    """Return the speedup from pairs of times with the BCa interval; the same for the same times.

    Args:
        baseline: times, any unit, all positive.
        candidate: as many, same unit; the i-th of both belong to one round.
        confidence: of the two-sided interval.

    Returns:
        None where there are too few pairs for such an interval.
    """
    import numpy as np

    logs = log_ratios(baseline, candidate)
    found = bounds(np.asarray([logs]), confidence) if len(logs) >= FEWEST else None
    if found is None or not np.isfinite(found).all():
        return None
    return Estimate(
        ratio=exponential(mean(logs)),
        low=exponential(found[0][0]),
        high=exponential(found[1][0]),
        pairs=len(logs),
        confidence=confidence,
    )


def bounds(logs: "Floats", confidence: float = CONFIDENCE) -> "tuple[Floats, Floats] | None":
    """Return the bounds for the mean, for many samples at a time.

    Args:
        logs: of shape (samples, n).
        confidence: of the two-sided interval.

    Returns:
        Lower and upper bounds, each of shape (samples,), not a number where a sample does not tell;
        None where n is too small for the confidence.
    """
    import numpy as np
    from scipy.special import ndtr
    from scipy.stats import bootstrap as resample

    count = logs.shape[-1]
    tail = float(ndtr(-math.sqrt(count / (count - 1)) * t_quantile(confidence, count - 1)))
    if tail * RESAMPLES < _IN_A_TAIL:
        return None
    with warnings.catch_warnings():
        # Equal values have no acceleration; they are dealt with below.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = resample(
            (logs,),
            np.mean,
            axis=-1,
            method="BCa",
            confidence_level=1 - 2 * tail,
            n_resamples=RESAMPLES,
            batch=_AT_A_TIME,
            rng=np.random.default_rng(_SEED),
        ).confidence_interval
    equal = np.ptp(logs, axis=-1) == 0
    return np.where(equal, logs[:, 0], found.low), np.where(equal, logs[:, 0], found.high)
