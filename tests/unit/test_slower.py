"""What a continuous integration fails on: intervals against scipy, error rates by simulation."""

import math
import random

import pytest
import scipy.stats

from tfbuild import slower, stats
from tfbuild.errors import SlowerError, UsageError
from tfbuild.slower import Outcome
from tfbuild.stats import Estimate


@pytest.mark.parametrize(
    ("text", "value"), [("3%", 0.03), (" 3 % ", 0.03), ("0.03", 0.03), ("0", 0.0), ("2.5%", 0.025)]
)
def test_a_limit_is_a_share(text: str, value: float) -> None:
    assert slower.limit(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3", "Did you mean 3%?"),
        ("-1%", "no limit"),
        ("100%", "no limit"),
        ("nan", "no limit"),
        ("inf%", "no limit"),
        ("", "no limit"),
        ("3%%", "no limit"),
        ("three", "no limit"),
    ],
)
def test_what_is_no_limit(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        slower.limit(text)
    assert said in str(refused.value)


def logs(centre: float, spread: float, count: int, rng: random.Random) -> list[float]:
    return [rng.gauss(centre, spread) for _ in range(count)]


def test_the_intervals_of_several_are_students_at_a_shared_level() -> None:
    """Bonferroni: seven intervals of 1 - 0.05 / 7 each; scipy's t for the same logarithms."""
    rng = random.Random(5)
    samples = {f"a{n}": logs(-0.05, 0.02, 6, rng) for n in range(7)}
    judged = slower.judge({name: stats.from_logs(each) for name, each in samples.items()}, 0.03)
    for each in judged:
        ours = (each.speedup.low, each.speedup.high)
        test = scipy.stats.ttest_1samp(samples[each.name], 0)
        interval = test.confidence_interval(1 - 0.05 / 7)
        assert ours == pytest.approx((math.exp(interval.low), math.exp(interval.high)), rel=1e-9)


@pytest.mark.parametrize("confidence", [0.95, 1 - 1e-15, math.nextafter(1, 0)])
def test_intervals_of_several_stay_numbers_however_wide(confidence: float) -> None:
    wild = stats.from_logs([40.0, -45.0], confidence)
    calm = stats.from_logs([0.0, 0.01, -0.01], confidence)
    speedups = {f"a{n}": wild if n else calm for n in range(30)}
    for each in slower.judge(speedups, 0.03):
        assert each.speedup.low is not None
        assert each.speedup.high is not None
        assert 0 < each.speedup.low < each.speedup.ratio < each.speedup.high < math.inf
        assert confidence <= each.speedup.confidence < 1


def test_one_alone_keeps_its_interval() -> None:
    estimate = stats.from_logs([0.0, 0.01, -0.01])
    [judged] = slower.judge({"mnist_mlp": estimate}, 0.03)
    assert judged.speedup.low == pytest.approx(estimate.low)
    assert judged.speedup.confidence == estimate.confidence


def estimate(low: float | None, high: float | None) -> Estimate:
    ratio = 0.9 if low is None or high is None else math.sqrt(low * high)
    return Estimate(ratio=ratio, low=low, high=high, pairs=5)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.90, 0.96, Outcome.SLOWER),
        (0.90, 1 / 1.03, Outcome.INCONCLUSIVE),  # the limit itself is not beyond it
        (0.90, 0.98, Outcome.INCONCLUSIVE),
        (0.98, 1.00, Outcome.FINE),  # certainly slower, and certainly by less than 3 %
        (1.00, 1.20, Outcome.FINE),
        (0.90, 1.20, Outcome.INCONCLUSIVE),
        (None, None, Outcome.INCONCLUSIVE),
    ],
)
def test_a_whole_interval_lies_on_one_side(
    low: float | None, high: float | None, outcome: Outcome
) -> None:
    assert slower.outcome(estimate(low, high), 0.03) is outcome


def test_what_is_refused() -> None:
    sure, open_, fine = estimate(0.8, 0.85), estimate(0.8, 1.2), estimate(0.99, 1.01)
    judged = [
        slower.Judged(name=name, speedup=each, outcome=slower.outcome(each, 0.03))
        for name, each in (("a", sure), ("b", open_), ("c", fine))
    ]
    with pytest.raises(SlowerError) as refused:
        slower.refuse("it", judged, 0.03, is_strict=False)
    assert refused.value.what == "it: slower by more than 3 %: a 0.82x (0.80-0.85)."
    slower.refuse("it", judged[1:], 0.03, is_strict=False)
    with pytest.raises(SlowerError, match=r"perhaps slower by more than 3 %: b 0\.98x"):
        slower.refuse("it", judged[1:], 0.03, is_strict=True)
    slower.refuse("it", judged[2:], 0.03, is_strict=True)


@pytest.mark.parametrize(("spread", "rounds"), [(0.08, 4), (0.01, 10)])
def test_no_change_fails_at_most_in_one_of_twenty_runs_over_seven_ratios(
    spread: float, rounds: int
) -> None:
    """At the hardest limit, none at all; each by its own 95 % would fail one run in six."""
    rng = random.Random(11)
    runs, failed, alone = 600, 0, 0
    for _ in range(runs):
        found = {str(n): stats.from_logs(logs(0.0, spread, rounds, rng)) for n in range(7)}
        failed += any(each.outcome is Outcome.SLOWER for each in slower.judge(found, 0.0))
        alone += any(slower.outcome(each, 0.0) is Outcome.SLOWER for each in found.values())
    # 0.05 and three standard errors of so many runs.
    assert failed / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert alone / runs == pytest.approx(1 - 0.975**7, abs=0.05)


def test_a_true_loss_of_8_percent_is_found() -> None:
    """With the noise of 1.5 % between rounds and 10 of them, nine times in ten."""
    rng = random.Random(12)
    runs, found = 200, 0
    for _ in range(runs):
        ratios = {str(n): stats.from_logs(logs(0.0, 0.015, 10, rng)) for n in range(6)}
        ratios["slow"] = stats.from_logs(logs(-math.log(1.08), 0.015, 10, rng))
        judged = slower.judge(ratios, 0.03)
        found += next(each for each in judged if each.name == "slow").outcome is Outcome.SLOWER
    assert found / runs >= 0.9
