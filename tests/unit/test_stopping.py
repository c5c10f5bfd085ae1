"""The rule for stopping: what it does, and that it keeps its promise (simulated, seeds fixed)."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.noise import Floats, Noise, bursts, drift, quiet
from tests.unit.test_bench import PLAN
from tests.unit.test_coverage import FALSE, FIVE_PERCENT, FOUND, PROMISED, THRESHOLD, share
from tfbuild import stats
from tfbuild.bench.suite import Plan, Stopped
from tfbuild.stats import boundary
from tfbuild.stats.boundary import Look
from tfbuild.stopping import PILOT, Decision, after

PRECISE = replace(PLAN, rounds=60, precision=0.02, noise=0.02, max_seconds=None)


def critical(shares: Sequence[float]) -> list[float]:
    looks = tuple(Look(pairs=round(1000 * t), spent=boundary.spent(t)) for t in shares)
    levels = [boundary.level(looks[: n + 1]) for n in range(len(looks))]
    return [stats.t_quantile(level, 1e9) for level in levels]  # the normal quantile


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        # R, package ldbounds: ldBounds(t = (1:n)/n, iuse = 1, alpha = 0.05), and the tables of
        # Reboussin, DeMets, Kim and Lan, Controlled Clinical Trials 21 (2000), 190-207.
        (2, [2.9626, 1.9686]),
        (3, [3.7103, 2.5114, 1.9930]),
        (5, [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),
    ],
)
def test_boundaries_agree_with_printed_ones(looks: int, expected: list[float]) -> None:
    shares = [(n + 1) / looks for n in range(looks)]
    # Their programs reckon with normal quantiles; t with a thousand million degrees is one.
    assert critical(shares) == pytest.approx(expected, abs=2e-3)


def test_a_single_look_is_a_plain_interval() -> None:
    assert boundary.level((Look(pairs=9, spent=0.05),)) == pytest.approx(0.95)


def test_looks_at_unequal_distances_stray_as_often_as_allowed() -> None:
    """Simulated walks against the bounds: the sums of normal values, looked at six times."""
    pairs = (6, 8, 14, 16, 30, 31)
    looks = tuple(Look(pairs=n, spent=boundary.spent(n / 31)) for n in pairs)
    walks = np.cumsum(np.random.default_rng(3).normal(size=(200_000, 31)), axis=1)
    strayed = np.zeros(200_000, dtype=bool)
    for place, look in enumerate(looks):
        bound = stats.t_quantile(boundary.level(looks[: place + 1]), 1e9)
        strayed |= np.abs(walks[:, look.pairs - 1]) > bound * math.sqrt(look.pairs)
        low, high = share(int(strayed.sum()), strayed.size)
        assert low <= look.spent <= high


def decide(plan: Plan, ratios: Sequence[Sequence[float]], seconds: float = 1.0) -> Decision:
    return after(plan, ratios, [seconds] * len(ratios[0]))


def session(plan: Plan, ratios: Floats) -> tuple[int, Decision]:
    """Measure round after round until the rule says stop: ratios of shape (pairs, rounds)."""
    rows = ratios.tolist()
    for done in range(1, plan.rounds + 1):
        decision = decide(plan, [row[:done] for row in rows])
        if decision.stop:
            return done, decision
    raise AssertionError


def steady(spread: float, count: int = 60, centre: float = 0.0) -> list[float]:
    """Ratios with nearly this spread after any even number of rounds."""
    return [centre + (spread if n % 2 else -spread) for n in range(count)]


def test_without_precision_all_rounds_are_run_and_intervals_stay_plain() -> None:
    plan = replace(PLAN, rounds=8, precision=None, max_seconds=None)
    for done in range(8):
        found = decide(plan, [[0.5] * done])
        assert found == Decision(stop=None, planned=8, looks=(), level=0.95)
    assert decide(plan, [[0.5] * 8]).stop is Stopped.ROUNDS


def test_a_session_without_a_candidate_runs_all_rounds() -> None:
    assert after(PRECISE, [], [1.0] * 59).stop is None
    assert after(PRECISE, [], [1.0] * 60).stop is Stopped.ROUNDS


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_fewer_rounds_than_a_pilot(rounds: int) -> None:
    plan = replace(PRECISE, rounds=rounds)
    assert after(plan, [[]], []).stop is None
    done, found = session(plan, np.asarray([steady(0.5, rounds)]))
    assert (done, found.stop) == (rounds, Stopped.ROUNDS)
    assert found.level == pytest.approx(0.95)


def test_the_pilot_plans_the_rounds_that_the_precision_needs() -> None:
    found = decide(PRECISE, [steady(0.03, PILOT)])
    # By hand, with t for n - 1 degrees of freedom as printed: t s / sqrt(n) falls below d.
    s, d = 0.03 * math.sqrt(6 / 5), math.log(1.02)
    printed = {12: 2.201, 13: 2.179, 14: 2.160, 15: 2.145}
    assert [n for n, t in printed.items() if t * s / math.sqrt(n) <= d] == [14, 15]
    assert (found.stop, found.planned, found.looks) == (None, 14, (PILOT,))


def test_the_ratio_that_spreads_most_decides() -> None:
    alone = decide(PRECISE, [steady(0.03, PILOT)])
    assert decide(PRECISE, [steady(0.001, PILOT), steady(0.03, PILOT)]).planned == alone.planned


def test_what_is_planned_does_not_depend_on_effects() -> None:
    here = decide(PRECISE, [steady(0.03, 12), steady(0.02, 12)])
    there = decide(PRECISE, [steady(0.03, 12, 0.02), steady(0.02, 12, -0.02)])
    assert (here.planned, here.looks) == (there.planned, there.looks)


def test_it_stops_at_the_precision_asked() -> None:
    done, found = session(PRECISE, np.asarray([steady(0.03, 60, centre=0.02)]))
    assert found.stop is Stopped.PRECISION
    assert done == found.planned
    half = float(stats.half_widths(np.asarray(steady(0.03, done)), found.level))
    assert half <= math.log1p(0.02)
    assert 0.95 <= found.level < 0.965


def test_it_stops_early_where_all_verdicts_are_clear() -> None:
    large = steady(0.03, 60, centre=0.5)
    done, found = session(PRECISE, np.asarray([large, [-each for each in large]]))
    assert (done, found.stop) == (PILOT, Stopped.VERDICT)
    assert found.level > 0.995


def test_one_verdict_that_is_not_clear_keeps_the_session_going() -> None:
    large, unclear = steady(0.03, 60, centre=0.5), steady(0.03, 60, centre=0.02)
    done, found = session(PRECISE, np.asarray([large, unclear]))
    assert found.stop is Stopped.PRECISION
    assert done > PILOT


def test_noise_that_grows_means_more_rounds() -> None:
    calm = steady(0.01, PILOT)
    grown = [*steady(0.02, PILOT + 2), *steady(0.06, 52)]
    assert session(PRECISE, np.asarray([calm + steady(0.01, 54)]))[0] == PILOT
    plan = replace(PRECISE, precision=0.011)
    done, found = session(plan, np.asarray([grown]))
    assert (done, found.stop) == (60, Stopped.ROUNDS)
    assert found.looks[0] == PILOT
    assert found.looks[-1] == 60


def test_no_round_begins_that_would_end_too_late() -> None:
    plan = replace(PRECISE, precision=None, max_seconds=100.0)
    assert after(plan, [[0.1] * 2], [30.0, 30.0]).stop is None
    assert after(plan, [[0.1] * 3], [30.0, 30.0, 30.0]).stop is Stopped.TIME
    assert after(plan, [[0.1] * 2], [20.0, 30.0]).planned == 3
    # A slow first round, that read everything from disk, does not bind for ever.
    assert after(plan, [[0.1] * 5], [40.0, 10.0, 10.0, 10.0, 10.0]).stop is None
    assert after(plan, [[]], []).stop is None


def test_stopped_by_time_all_that_is_left_may_be_spent() -> None:
    plan = replace(PRECISE, max_seconds=9.5)
    found = decide(plan, [steady(0.2, 9)])
    assert found.stop is Stopped.TIME
    assert found.level == pytest.approx(0.95, abs=1e-3)


def test_a_resumed_session_decides_as_one_without_a_break() -> None:
    ratios = drift(np.random.default_rng(1), 3, 60).tolist()
    for done in range(60):
        seen = [row[:done] for row in ratios]
        assert decide(PRECISE, seen) == decide(PRECISE, [[*row] for row in seen])
        longer = decide(PRECISE, [row[: done + 1] for row in ratios])
        assert longer.looks[: len(decide(PRECISE, seen).looks)] == decide(PRECISE, seen).looks


def test_no_spread_at_all_is_precise() -> None:
    assert decide(PRECISE, [[0.0] * PILOT]).stop is Stopped.PRECISION


def simulated(noise: Floats, truth: float = 0.0) -> tuple[int, int, int, int]:
    """Return (intervals, that cover, called faster, called slower) of sessions by the rule.

    Args:
        noise: of shape (sessions, ratios, rounds).
        truth: logarithm of the true ratio.
    """
    covers = faster = slower = 0
    for each in noise + truth:
        done, found = session(PRECISE, each)
        half, centre = stats.half_widths(each[:, :done], found.level), each[:, :done].mean(axis=1)
        covers += int((np.abs(centre - truth) <= half).sum())
        faster += int((centre - half > THRESHOLD).sum())
        slower += int((centre + half < -THRESHOLD).sum())
    return noise.shape[0] * noise.shape[1], covers, faster, slower


def many(noise: Floats, ratios: int) -> Floats:
    return noise.reshape(-1, ratios, noise.shape[1])


@pytest.mark.parametrize(
    ("noise", "ratios", "sessions"),
    [(drift, 1, 500), (drift, 6, 80), (bursts, 1, 150), (bursts, 6, 60)],
    ids=["drift, one", "drift, six", "bursts, one", "bursts, six"],
)
def test_intervals_cover_and_what_is_the_same_is_not_called_different(
    noise: Noise, ratios: int, sessions: int
) -> None:
    made = many(noise(np.random.default_rng(ratios), sessions * ratios, 60), ratios)
    count, covers, faster, slower = simulated(made)
    assert share(covers, count)[1] >= PROMISED[0]
    assert share(faster + slower, count)[1] <= FALSE


@pytest.mark.parametrize("truth", [FIVE_PERCENT, 0.12, 0.4])
def test_intervals_after_an_early_stop_cover_still(truth: float) -> None:
    noise = many(drift(np.random.default_rng(2), 600, 60), 2)
    count, covers, _, slower = simulated(noise, truth)
    assert share(covers, count)[1] >= PROMISED[0]
    assert slower == 0


@pytest.mark.parametrize("architecture", ["mnist_mlp", "mnist_cnn", "cifar10_cnn", "imdb_fasttext"])
def test_five_percent_are_found_at_the_noise_seen_here(architecture: str) -> None:
    made = many(quiet()[architecture](np.random.default_rng(5), 400, 60), 1)
    count, covers, faster, _ = simulated(made, FIVE_PERCENT)
    assert share(covers, count)[1] >= PROMISED[0]
    assert share(faster, count)[1] >= FOUND


def test_looking_without_the_rule_would_call_the_same_different() -> None:
    """Why the intervals of looks are widened: a plain one, looked at after each round."""
    noise = drift(np.random.default_rng(3), 2_000, 60)
    strayed = np.zeros(len(noise), dtype=bool)
    for done in range(PILOT, 61):
        half = stats.half_widths(noise[:, :done])
        strayed |= np.abs(noise[:, :done].mean(axis=1)) > half
    assert share(int(strayed.sum()), len(strayed))[0] > 2 * FALSE
