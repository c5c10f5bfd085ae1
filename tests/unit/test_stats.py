"""scipy is the oracle; what no oracle knows is simulated with fixed seeds."""

import math
import random
import statistics

import pytest
from scipy import special
from scipy import stats as oracle

from tfbuild import stats
from tfbuild.stats import Estimate, Verdict

CONFIDENCES = (1e-6, 0.01, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.999999)
FREEDOMS = (0.5, 1, 1.7, 2, 3, 4, 5.25, 7, 10, 29, 30.5, 100, 333, 1_000, 10_000, 1e6)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("freedom", FREEDOMS)
def test_t_quantile_agrees_with_scipy(confidence: float, freedom: float) -> None:
    # The tail is halved, not the body, so that the oracle's argument keeps all its digits.
    expected = float(oracle.t.isf((1 - confidence) / 2, freedom))
    if confidence < 0.01:  # near the centre that argument is the one without digits
        expected = confidence / (2 * float(oracle.t.pdf(0, freedom)))
    assert stats.t_quantile(confidence, freedom) == pytest.approx(expected, rel=1e-8)


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


def session(rng: random.Random, rounds: int, ratio: float, *, shuffled: bool) -> Estimate:
    """Times of two wheels on a machine that slows down and speeds up by 3 % from one to the next.

    The walk also climbs by 1 % a process, as a machine does that warms up.
    """
    level = 0.0
    a: list[float] = []
    b: list[float] = []
    for _ in range(rounds):
        sides = [(a, 1.0), (b, 1 / ratio)]
        if shuffled:
            rng.shuffle(sides)
        for times_, scale in sides:
            level += rng.gauss(0.01, 0.03)
            times_.append(scale * math.exp(level + rng.gauss(0, 0.01)))
    return stats.paired(a, b)


def covered(trials: int, rounds: int, *, shuffled: bool, ratio: float = 1.05) -> int:
    rng = random.Random(2017)
    found = [session(rng, rounds, ratio, shuffled=shuffled) for _ in range(trials)]
    return sum((e.low or 0) <= ratio <= (e.high or 0) for e in found)


@pytest.mark.parametrize("rounds", [3, 5, 15])
def test_interval_covers_the_truth_as_often_as_it_says_while_the_machine_drifts(
    rounds: int,
) -> None:
    trials = 1_000
    low, high = oracle.binom.interval(0.9999, trials, 0.95)
    assert low <= covered(trials, rounds, shuffled=True) <= high


def test_a_fixed_order_would_not_cover_it() -> None:
    """Why the order within a round is drawn: drift would be taken for a slower candidate."""
    trials = 400
    low, _ = oracle.binom.interval(0.9999, trials, 0.95)
    assert covered(trials, 30, shuffled=False) < low
