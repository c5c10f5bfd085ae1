"""What the intervals and verdicts promise, simulated: seeds are fixed, the code is the real one.

How often an interval covers the truth is itself seen with an error: `share` gives 99 % bounds of
it (Clopper and Pearson), and what is asserted is that these bounds reach the range promised.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats as oracle

from tests.noise import MODELS, Floats, Noise, drift, loaded, quiet
from tfbuild import stats
from tfbuild.bench import ARCHITECTURES
from tfbuild.cli.bench_options import ROUNDS
from tfbuild.stats import bca

PROMISED = (0.93, 0.97)
FALSE = 0.05
FOUND = 0.90
TRIALS = 20_000
FIVE_PERCENT = math.log(1.05)
THRESHOLD = math.log1p(stats.NOISE)
STEADY = ("mnist_mlp", "mnist_cnn", "cifar10_cnn", "imdb_fasttext", "geometric mean")
"""Whose rounds spread by 2 to 4 % here; those of the LSTMs spread by 6 and 14 %."""


def share(hits: int, trials: int) -> tuple[float, float]:
    interval = oracle.binomtest(hits, trials).proportion_ci(0.99)
    return interval.low, interval.high


def _covers(low: Floats, high: Floats, truth: float = 0.0) -> tuple[float, float]:
    return share(int(((low <= truth) & (truth <= high)).sum()), low.size)


def reaches(bounds: tuple[float, float]) -> bool:
    low, high = bounds
    return low <= PROMISED[1] and high >= PROMISED[0]


def _students(logs: Floats) -> tuple[Floats, Floats]:
    half, centre = stats.half_widths(logs), logs.mean(axis=-1)
    return centre - half, centre + half


@pytest.mark.parametrize("rounds", [4, 6, 10, 20, 40])
@pytest.mark.parametrize("name", MODELS)
def test_students_interval_covers_as_often_as_it_says(name: str, rounds: int) -> None:
    logs = MODELS[name](np.random.default_rng(rounds), TRIALS, rounds)
    assert reaches(_covers(*_students(logs)))


@pytest.mark.parametrize("rounds", [bca.FEWEST, 2 * bca.FEWEST])
@pytest.mark.parametrize("name", MODELS)
def test_the_bootstraps_interval_does_so_from_the_least_number_on(name: str, rounds: int) -> None:
    logs = MODELS[name](np.random.default_rng(rounds), 1_500, rounds)
    found = bca.bounds(logs)
    assert found is not None
    assert reaches(_covers(*found))


def test_a_gross_outlier_deceives_the_bootstrap_and_not_student() -> None:
    """Why Student's interval decides: one LSTM here had one process in six that was 20 % off."""
    logs = quiet()["imdb_bidirectional_lstm"](np.random.default_rng(7), 1_000, bca.FEWEST)
    found = bca.bounds(logs)
    assert found is not None
    assert _covers(*found)[1] < PROMISED[0]
    assert _covers(*_students(logs))[1] >= PROMISED[0]


def test_pairing_in_a_fixed_order_would_not_cover_it() -> None:
    """Why the order within a round is drawn: drift would be taken for a slower candidate."""
    rng = np.random.default_rng(1)
    level = np.cumsum(rng.normal(0.01, 0.03, (TRIALS, 60)), axis=1)
    assert _covers(*_students(level[:, ::2] - level[:, 1::2]))[1] < PROMISED[0]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("measured", [quiet, loaded], ids=["quiet", "loaded"])
def test_students_interval_covers_under_the_noise_seen_here(
    measured: Callable[[], dict[str, Noise]], architecture: str
) -> None:
    logs = measured()[architecture](np.random.default_rng(10), TRIALS, 10)
    assert _covers(*_students(logs))[1] >= PROMISED[0]


@pytest.mark.parametrize("rounds", [4, 10, 20])
@pytest.mark.parametrize("name", MODELS)
def test_what_is_the_same_is_rarely_called_faster_or_slower(name: str, rounds: int) -> None:
    logs = MODELS[name](np.random.default_rng(rounds), TRIALS, rounds)
    assert _false_verdicts(logs)[1] <= FALSE


@pytest.mark.parametrize("rounds", [ROUNDS, 10])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_the_same_is_rarely_called_so_under_heavy_load(
    architecture: str, rounds: int
) -> None:
    logs = loaded()[architecture](np.random.default_rng(rounds), TRIALS, rounds)
    assert _false_verdicts(logs)[0] <= FALSE


def _false_verdicts(logs: Floats) -> tuple[float, float]:
    low, high = _students(logs)
    return share(int(((low > THRESHOLD) | (high < -THRESHOLD)).sum()), low.size)


@pytest.mark.parametrize("name", STEADY)
def test_five_percent_are_found_within_twenty_pairs(name: str) -> None:
    """Called "faster": the whole interval lies beyond the noise threshold of 2 %."""
    logs = quiet()[name](np.random.default_rng(20), TRIALS, 20) + FIVE_PERCENT
    low, _ = _students(logs)
    assert share(int((low > THRESHOLD).sum()), TRIALS)[0] >= FOUND


def test_the_verdict_is_that_of_the_interval_simulated_here() -> None:
    """The short cut of this file, against the functions that a comparison calls."""
    logs = drift(np.random.default_rng(4), 200, 5) + np.linspace(-0.15, 0.15, 200)[:, None]
    lows, highs = _students(logs)
    for values, low, high in zip(logs.tolist(), lows, highs, strict=True):
        verdict = stats.verdict(stats.from_logs(values))
        assert (verdict is stats.Verdict.FASTER) == (low > THRESHOLD)
        assert (verdict is stats.Verdict.SLOWER) == (high < -THRESHOLD)
