"""Intervals of sampled totals: against scipy, and in simulations of what they promise."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tfbuild.code import intervals
from tfbuild.code.evidence import Count
from tfbuild.code.sample import estimated
from tfbuild.code.sums import total


@pytest.mark.parametrize("share", [0.025, 0.975])
@pytest.mark.parametrize("shape", [0.5, 1, 1.7, 2, 5, 12.5, 40, 150, 199, 201, 1e3, 1e6])
def test_quantiles_are_scipys(shape: float, share: float) -> None:
    expected = stats.gamma.ppf(share, shape)
    assert intervals.gamma_quantile(shape, share) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("seen", [0, 1, 2, 5, 30, 400])
def test_of_equal_sightings_it_is_the_exact_poisson_interval(seen: int) -> None:
    # Garwood's exact interval; every sighting counts 1, so the variance is the number itself.
    low, high = intervals.interval(seen, seen, 1)
    assert low == pytest.approx(stats.chi2.ppf(0.025, 2 * seen) / 2 if seen else 0, rel=1e-3)
    assert high == pytest.approx(stats.chi2.ppf(0.975, 2 * seen + 2) / 2, rel=1e-3)


def test_of_common_things_it_is_the_normal_interval() -> None:
    low, high = intervals.interval(1e6, 1e6, 1)
    assert low == pytest.approx(1e6 - 1.96e3, rel=1e-5)
    assert high == pytest.approx(1e6 + 1.96e3, rel=1e-5)


def test_nothing_seen_has_the_bound_of_a_share() -> None:
    # The share of which 2.5 % of such samples would show nothing.
    bound = 1 - 0.025 ** (1 / 5000)
    found = estimated(np.zeros(5000), 4_000_000)
    assert (found.value, found.low) == (0, 0)
    # At most one instruction in four bytes.
    assert found.high == pytest.approx(bound * 1e6, rel=0.01)


def test_sums_of_estimates_have_the_spread_of_independent_ones() -> None:
    one = Count(value=100, low=70, high=140)
    two = Count(value=50, low=10, high=80)
    assert total([one, two]) == Count(value=150, low=100, high=200)
    assert total([Count.exactly(3), Count.exactly(4)]).is_exact


Population = np.ndarray[tuple[int], np.dtype[np.float64]]


def covered(kind: Callable[[np.random.Generator], Population], sample: int) -> float:
    """Return how often the interval of a systematic sample holds the total of a new population."""
    chance = np.random.default_rng(5)
    held = 0
    for _ in range(_RUNS):
        population = kind(chance)
        places = (np.arange(sample) + chance.random()) * (_UNITS / sample)
        found = estimated(population[places.astype(int)], _UNITS)
        held += found.low <= population.sum() <= found.high
    return held / _RUNS


_RUNS = 400
_UNITS = 60_000


def common(chance: np.random.Generator) -> Population:
    return chance.gamma(4, 0.05, _UNITS)


def skewed(chance: np.random.Generator) -> Population:
    """Return a class that one unit in fifty has, some of them a hundred times as much."""
    return np.where(chance.random(_UNITS) < 0.02, chance.lognormal(-4, 1.2, _UNITS), 0)


def rare(chance: np.random.Generator) -> Population:
    """Return a class of which a sample shows two or three units."""
    return np.where(chance.random(_UNITS) < 0.001, chance.uniform(0.05, 0.2, _UNITS), 0)


def clustered(chance: np.random.Generator) -> Population:
    """Return a class that comes in runs of neighbours, as kernels of one file do."""
    starts = chance.integers(0, _UNITS, 40)
    values = np.zeros(_UNITS)
    for start in starts:
        values[start : start + 60] = chance.uniform(0.02, 0.2)
    return values


@pytest.mark.parametrize("kind", [common, skewed, rare, clustered], ids=lambda kind: kind.__name__)
def test_intervals_hold_the_truth_as_often_as_they_say(
    kind: Callable[[np.random.Generator], Population],
) -> None:
    # 400 samples tell a share of 95 % to 2 %; to be cautious is allowed, to be bold is not.
    assert covered(kind, 2500) >= 0.93
