"""How sure each of several looks at growing data must be, so that all together are sure enough.

Whoever looks at a 95 % interval after each round, and stops when it excludes no difference, is
wrong far more often than once in twenty times (Armitage, McPherson and Rowe, JRSS A 132, 1969).
Lan and DeMets ("Discrete sequential boundaries for clinical trials", Biometrika 70, 1983) let the
allowed error be spent bit by bit, at looks that need not be fixed beforehand, as long as they do
not depend on the effect seen.
"""

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfbuild.stats.estimate import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NODES = 160
_FARTHEST = 8.0
"""Standard errors beyond which nothing is expected: a probability of 1e-15."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look: after how many pairs, and how much of the allowed error is spent by then."""

    pairs: int
    spent: float
    """Probability, under no difference, that this look or one before strays beyond its bounds."""


def spent(share: float, error: float = 1 - CONFIDENCE) -> float:
    """Return the error that may be spent by the time a share of all pairs is seen.

    Two-sided form of Lan and DeMets' function that gives boundaries like O'Brien and Fleming's
    (Biometrics 35, 1979): next to nothing early, nearly all at the end, where most sessions end.

    Args:
        share: of the pairs planned, from 0 (excluded) to 1.
        error: 1 - confidence over all looks.
    """
    from scipy.special import ndtr, ndtri

    return float(4 * ndtr(ndtri(error / 4) / math.sqrt(share)))


def level(looks: tuple[Look, ...]) -> float:
    """Return the confidence that the interval of the last look must have.

    With it the intervals of all looks hold at once with probability 1 - `looks[-1].spent`:
    repeated confidence intervals (Jennison and Turnbull, JRSS B 51, 1989). So the one reported may
    be any of them, whatever made the session stop.

    The boundary is for means with known spread; used as a level for Student's interval it is very
    nearly right for unknown spread too (Jennison and Turnbull, "Group sequential methods", 2000,
    on group sequential t tests), which the tests simulate.

    Args:
        looks: all so far; pairs and spent ascend.
    """
    from scipy.special import ndtr

    return 1 - 2 * float(ndtr(-_critical(looks)))


@functools.lru_cache(maxsize=4096)
def _critical(looks: tuple[Look, ...]) -> float:
    """Return the bound of the last look in standard errors.

    Armitage, McPherson and Rowe's recursion (1969): what a look may spend is the probability to
    stray beyond its bound without having done so before.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    *before, last = looks
    allowed = last.spent - (before[-1].spent if before else 0.0)
    sums, weights = _kept(tuple(before))
    step = math.sqrt(last.pairs - (before[-1].pairs if before else 0))
    root = math.sqrt(last.pairs)

    def strays(bound: float) -> float:
        above = ndtr((sums - bound * root) / step) + ndtr((-sums - bound * root) / step)
        return float(above @ weights)

    if strays(_FARTHEST) >= allowed:
        return _FARTHEST
    return float(brentq(lambda bound: strays(bound) - allowed, 0.0, _FARTHEST))


@functools.lru_cache(maxsize=4096)
def _kept(looks: tuple[Look, ...]) -> "tuple[Floats, Floats]":
    """Return sums over all pairs, in spreads of one, and their weights in an integral over those.

    The part of their distribution that strayed at no look, by Gauss and Legendre's quadrature.
    """
    import numpy as np

    if not looks:
        return np.zeros(1), np.ones(1)  # before the first pair the sum is nought, for sure
    *before, last = looks
    earlier, weights = _kept(tuple(before))
    nodes, widths = _quadrature()
    bound = _critical(looks) * math.sqrt(last.pairs)
    step = math.sqrt(last.pairs - (before[-1].pairs if before else 0))
    apart = np.subtract.outer(nodes * bound, earlier) / step
    density = np.exp(-(apart**2) / 2) @ weights / (step * math.sqrt(2 * math.pi))
    return nodes * bound, density * widths * bound


@functools.cache
def _quadrature() -> "tuple[Floats, Floats]":
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights
