"""Intervals for totals that a sample estimates, for common and for rare things alike.

The interval of Fay and Feuer for weighted sums of Poisson counts (Statistics in Medicine 16, 1997,
791-801). For common things it is the usual normal interval; for few sightings it is skewed as it
must be; for none it is the bound that a share of at most 1 - 0.025^(1/n) gives.
"""

import math

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2
_LARGE = 100.0
_NORMAL = 1.959963984540054
_SMALL = 0.1
_STEPS, _TERMS = 60, 2000
_CONVERGED = 1e-10


def interval(estimate: float, variance: float, weight: float) -> tuple[float, float]:
    """Return the two-sided 95 % interval of a total.

    Args:
        estimate: the estimated total.
        variance: of the estimate.
        weight: by how much one more sighting would raise the estimate.
    """
    low = 0.0
    if estimate > 0:
        low = estimate if variance <= 0 else _scaled(estimate, variance, _TAIL)
    more, spread = estimate + weight, variance + weight**2
    high = _scaled(more, spread, 1 - _TAIL) if spread > 0 else estimate
    return min(low, estimate), max(high, estimate)


def _scaled(mean: float, variance: float, share: float) -> float:
    """Return the quantile of a gamma distribution by its mean and variance."""
    return variance / mean * gamma_quantile(mean**2 / variance, share)


def gamma_quantile(shape: float, share: float) -> float:
    """Return the quantile of the gamma distribution of scale 1 at 2.5 % or 97.5 %."""
    if shape == 1:
        return -math.log1p(-share)
    normal = _NORMAL if share > 0.5 else -_NORMAL  # noqa: PLR2004
    # Wilson and Hilferty's approximation, exact to 0.01 % from here on.
    root = 1 - 1 / (9 * shape) + normal / (3 * math.sqrt(shape))
    guess = shape * max(root, 0.0) ** 3
    if shape > _LARGE:
        return guess
    return _solved(shape, share, guess)


def _solved(shape: float, share: float, guess: float) -> float:
    low, high = 0.0, max(2 * shape, guess) + 20.0
    # Of small x the share is nearly x^shape / gamma(shape + 1), and never more.
    small = math.exp((math.log(share) + math.lgamma(shape + 1)) / shape)
    x = small if small < _SMALL else min(max(guess, small), high)
    for _ in range(_STEPS):
        error = _lower(shape, x) - share
        low, high = (low, x) if error > 0 else (x, high)
        if x <= 0:
            return 0.0
        slope = math.exp((shape - 1) * math.log(x) - x - math.lgamma(shape))
        step = error / slope if slope else math.inf
        following = x - step
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= _CONVERGED * x:
            return following
        x = following
    return x


def _lower(shape: float, x: float) -> float:
    """Return the regularised lower incomplete gamma function by its series."""
    if x <= 0:
        return 0.0
    term = total = 1 / shape
    for number in range(1, _TERMS):
        term *= x / (shape + number)
        total += term
        if term < total * 1e-14:
            break
    return min(1.0, total * math.exp(shape * math.log(x) - x - math.lgamma(shape)))
