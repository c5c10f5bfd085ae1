"""Printed tables, closed forms and worked examples; scipy where our code is not scipy's."""

import math
import random
import statistics

import numpy as np
import pytest
from scipy import stats as oracle

from tfbuild import stats
from tfbuild.stats import Estimate, Verdict


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [
        # As printed in tables since Fisher's, "Statistical methods for research workers" (1925).
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 3, 3.182),
        (0.95, 4, 2.776),
        (0.95, 5, 2.571),
        (0.95, 9, 2.262),
        (0.95, 19, 2.093),
        (0.95, 29, 2.045),
        (0.95, 120, 1.980),
        (0.99, 1, 63.657),
        (0.99, 2, 9.925),
        (0.99, 4, 4.604),
        (0.99, 9, 3.250),
        (0.99, 19, 2.861),
        (0.90, 5, 2.015),
    ],
)
def test_t_quantile_agrees_with_printed_tables(
    confidence: float, freedom: float, expected: float
) -> None:
    assert stats.t_quantile(confidence, freedom) == pytest.approx(expected, abs=5.1e-4)


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.9999, 0.99999999])
def test_t_quantile_agrees_with_its_closed_forms(confidence: float) -> None:
    # One degree of freedom is Cauchy's distribution; two have an algebraic inverse.
    cauchy = math.tan(math.pi * confidence / 2)
    assert stats.t_quantile(confidence, 1) == pytest.approx(cauchy, rel=1e-6)
    two = confidence * math.sqrt(2 / ((1 - confidence) * (1 + confidence)))
    assert stats.t_quantile(confidence, 2) == pytest.approx(two, rel=1e-6)


@pytest.mark.parametrize(("confidence", "freedom"), [(0, 3), (1, 3), (-1, 3), (0.9, 0), (0.9, -1)])
def test_t_quantile_refuses_what_has_none(confidence: float, freedom: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        stats.t_quantile(confidence, freedom)


def times(seed: int, count: int, centre: float = 10.0, spread: float = 0.2) -> list[float]:
    rng = random.Random(seed)
    return [centre * math.exp(rng.gauss(0, spread)) for _ in range(count)]


def test_moments_agree_with_the_standard_library() -> None:
    values = times(1, 9)
    assert stats.mean(values) == pytest.approx(statistics.fmean(values), rel=1e-15)
    assert stats.standard_deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-14)
    expected = statistics.geometric_mean(values)
    assert stats.geometric_mean(values) == pytest.approx(expected, rel=1e-14)
    deviation = statistics.stdev(math.log(value) for value in values)
    assert stats.spread(values) == pytest.approx(deviation, rel=1e-14)
    assert stats.spread([1.0]) is None


@pytest.mark.parametrize("count", [2, 3, 5, 20])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_paired_estimate_agrees_with_scipy(count: int, confidence: float) -> None:
    a, b = times(count, count, 12), times(count + 100, count, 10)
    result = oracle.ttest_rel([math.log(x) for x in a], [math.log(x) for x in b])
    interval = result.confidence_interval(confidence)
    estimate = stats.paired(a, b, confidence)
    assert estimate.ratio == pytest.approx(
        stats.geometric_mean([x / y for x, y in zip(a, b, strict=True)])
    )
    assert estimate.low == pytest.approx(math.exp(interval.low), rel=1e-9)
    assert estimate.high == pytest.approx(math.exp(interval.high), rel=1e-9)
    assert (estimate.pairs, estimate.confidence, estimate.paired) == (count, confidence, True)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 9), (10, 4)])
def test_unpaired_estimate_agrees_with_scipy(m: int, n: int) -> None:
    a, b = times(m, m, 12, 0.3), times(n + 100, n, 10, 0.1)
    result = oracle.ttest_ind([math.log(x) for x in a], [math.log(x) for x in b], equal_var=False)
    interval = result.confidence_interval(0.95)
    estimate = stats.unpaired(a, b)
    assert estimate.low == pytest.approx(math.exp(interval.low), rel=1e-9)
    assert estimate.high == pytest.approx(math.exp(interval.high), rel=1e-9)
    assert (estimate.pairs, estimate.paired) == (min(m, n), False)


def test_unpaired_sets_without_spread_have_an_interval_of_no_width() -> None:
    estimate = stats.unpaired([2.0, 2.0], [1.0, 1.0, 1.0])
    assert (estimate.low, estimate.ratio, estimate.high) == pytest.approx((2, 2, 2))


def test_one_pair_has_a_ratio_but_no_interval_and_decides_nothing() -> None:
    for estimate in (stats.paired([30.0], [10.0]), stats.unpaired([30.0], [10.0, 10.0])):
        assert estimate.ratio == pytest.approx(3)
        assert estimate.low is None
        assert estimate.high is None
        assert stats.verdict(estimate) is Verdict.INCONCLUSIVE


def test_times_that_no_machine_shows_give_bounds_that_are_numbers() -> None:
    wild = [1e-200, 1e200]
    for estimate in (stats.paired(wild, wild[::-1]), stats.unpaired(wild, wild[::-1])):
        assert estimate.low is not None
        assert estimate.high is not None
        assert 0 < estimate.low < estimate.ratio < estimate.high < math.inf


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="zip"):
        stats.paired([1.0, 2.0], [1.0])


def interval(low: float, high: float) -> Estimate:
    return Estimate(ratio=math.sqrt(low * high), low=low, high=high, pairs=5)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.03, 1.10, Verdict.FASTER),
        (1.01, 1.10, Verdict.INCONCLUSIVE),  # excludes 1, but not the noise
        (0.90, 1.10, Verdict.INCONCLUSIVE),
        (0.99, 1.01, Verdict.EQUIVALENT),
        (1.005, 1.015, Verdict.EQUIVALENT),  # certain, and too small to matter
        (0.99, 1.03, Verdict.INCONCLUSIVE),
        (0.80, 0.97, Verdict.SLOWER),
        (0.80, 0.99, Verdict.INCONCLUSIVE),
    ],
)
def test_verdict_and_its_mirror(low: float, high: float, expected: Verdict) -> None:
    mirrored = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    assert stats.verdict(interval(low, high)) is expected
    assert stats.verdict(interval(1 / high, 1 / low)) is mirrored.get(expected, expected)


def test_noise_threshold_moves_the_verdict() -> None:
    assert stats.verdict(interval(1.03, 1.04), noise=0.05) is Verdict.EQUIVALENT
    assert stats.verdict(interval(1.001, 1.002), noise=0.0) is Verdict.FASTER


SLEEP = (
    # Student's own example, Biometrika 6 (1908): hours of sleep gained by ten patients with two
    # drugs; R's data set `sleep`.
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)


def test_students_own_example() -> None:
    """R: t.test(extra ~ group, data = sleep, paired = TRUE)."""
    first, second = SLEEP
    found = stats.from_logs([b - a for a, b in zip(first, second, strict=True)])
    assert math.log(found.ratio) == pytest.approx(1.58)
    assert math.log(found.low or 0) == pytest.approx(0.7001142, abs=1e-6)
    assert math.log(found.high or 0) == pytest.approx(2.4598858, abs=1e-6)


def test_welchs_interval_of_students_example() -> None:
    """R: t.test(extra ~ group, data = sleep), which prints -3.3654832 and 0.2054832."""
    first, second = (list(map(math.exp, values)) for values in SLEEP)
    found = stats.unpaired(first, second)
    assert math.log(found.low or 0) == pytest.approx(-3.3654832, abs=1e-6)
    assert math.log(found.high or 0) == pytest.approx(0.2054832, abs=1e-6)


def test_many_samples_at_once_have_the_intervals_of_each() -> None:
    samples = np.random.default_rng(5).normal(0.1, 0.05, (4, 3, 7))
    found = stats.half_widths(samples, 0.9)
    assert found.shape == (4, 3)
    for index in np.ndindex(4, 3):
        one = stats.from_logs(samples[index].tolist(), 0.9)
        assert math.log(one.high or 0) - math.log(one.ratio) == pytest.approx(found[index])


def bca_by_hand(logs: list[float], share: float, draws: int) -> tuple[float, float]:
    """Efron's formulas (1987), equations 2.3 and 7.3, for a two-sided share."""
    rng, n = np.random.default_rng(11), len(logs)
    values = np.asarray(logs)
    means = np.sort(values[rng.integers(0, n, (draws, n))].mean(axis=1))
    z0 = oracle.norm.ppf(np.mean(means < values.mean()))
    left_out = np.asarray([np.delete(values, k).mean() for k in range(n)])
    apart = left_out.mean() - left_out
    a = np.sum(apart**3) / (6 * np.sum(apart**2) ** 1.5)
    z = z0 + oracle.norm.ppf([(1 - share) / 2, (1 + share) / 2])
    low, high = np.quantile(means, oracle.norm.cdf(z0 + z / (1 - a * z)))
    return float(low), float(high)


@pytest.mark.parametrize("count", [10, 30])
def test_bootstrap_agrees_with_efrons_formulas_at_the_expanded_level(count: int) -> None:
    rng = np.random.default_rng(count)
    logs = rng.gamma(2, 0.05, count).tolist()  # skewed
    found = stats.bootstrap(list(map(math.exp, logs)), [1.0] * count)
    assert found is not None
    # Hesterberg (2015): the normal quantile that gives Student's width.
    t = math.sqrt(count / (count - 1)) * oracle.t.ppf(0.975, count - 1)
    low, high = bca_by_hand(logs, 1 - 2 * oracle.norm.sf(t), 100_000)
    width = high - low
    assert found.ratio == pytest.approx(math.exp(np.mean(logs)))
    assert math.log(found.low or 0) == pytest.approx(low, abs=0.04 * width)
    assert math.log(found.high or 0) == pytest.approx(high, abs=0.04 * width)
    assert (found.pairs, found.confidence, found.paired) == (count, 0.95, True)


def test_bootstrap_of_the_same_times_is_the_same() -> None:
    a, b = times(1, 12, 12), times(2, 12, 10)
    assert stats.bootstrap(a, b) == stats.bootstrap(a, b)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_bootstrap_of_few_pairs_is_none(count: int) -> None:
    assert stats.bootstrap(times(1, count), times(2, count)) is None


def test_bootstrap_is_none_where_resamples_do_not_reach_so_far() -> None:
    a, b = times(1, 10), times(2, 10)
    assert stats.bootstrap(a, b, 0.95) is not None
    assert stats.bootstrap(a, b, 0.999) is None


def test_bootstrap_of_equal_ratios_has_no_width() -> None:
    found = stats.bootstrap([3.0] * 10, [2.0] * 10)
    assert found is not None
    assert (found.low, found.ratio, found.high) == pytest.approx((1.5, 1.5, 1.5))


def test_bootstrap_bears_ratios_equal_but_for_rounding_and_a_single_odd_one() -> None:
    equal = [0.1 * k for k in range(1, 11)]
    found = stats.bootstrap([3 * each for each in equal], equal)
    assert found is None or found.low == pytest.approx(3)
    odd = stats.bootstrap([2.0] * 9 + [4.0], [1.0] * 10)
    assert odd is not None
    assert 1.999 <= (odd.low or 0) <= odd.ratio <= (odd.high or 0) <= 4.001
