"""What machines do to times: models of it, and times measured.

Each returns logarithms of paired ratios without a true difference, of shape (trials, rounds). As in
a session, the order within a round is drawn, and every second round turns it around.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]

DATA = Path(__file__).parent / "data"
OWN = 0.03
"""Spread of a process's time by itself."""


def drift(rng: np.random.Generator, trials: int, rounds: int) -> Floats:
    """A machine that walks at random by 3 % from process to process, and slows down by 1 %."""
    level = np.cumsum(rng.normal(0.01, 0.03, (trials, 2 * rounds)), axis=1)
    return _ratios(rng, level + rng.normal(0, 0.01, level.shape))


def outliers(rng: np.random.Generator, trials: int, rounds: int) -> Floats:
    """One process in twenty is slower by 5 to 15 %."""
    times = rng.normal(0, OWN, (trials, 2 * rounds))
    is_slow = rng.random(times.shape) < 0.05
    return _ratios(rng, times + is_slow * rng.uniform(0.05, 0.15, times.shape))


def bursts(rng: np.random.Generator, trials: int, rounds: int) -> Floats:
    """Load comes for ten processes on average, a third of the time, and slows by up to 20 %."""
    times = rng.normal(0, OWN, (trials, 2 * rounds))
    is_on = rng.random(trials) < 1 / 3
    for process in range(2 * rounds):
        times[:, process] += is_on * rng.uniform(0, 0.2, trials)
        is_on = np.where(is_on, rng.random(trials) < 0.9, rng.random(trials) < 0.05)
    return _ratios(rng, times)


MODELS: dict[str, Noise] = {"drift": drift, "outliers": outliers, "bursts": bursts}


def _ratios(rng: np.random.Generator, processes: Floats) -> Floats:
    trials, count = processes.shape
    apart = processes[:, ::2] - processes[:, 1::2]
    first = np.repeat(rng.random((trials, count // 4 + 1)) < 0.5, 2, axis=1)[:, : count // 2]
    turned = np.arange(count // 2) % 2 == 1
    return np.where(first ^ turned, apart, -apart)


def quiet() -> dict[str, Noise]:
    """For each architecture: pairs drawn from processes of one wheel on an idle machine.

    And for the geometric mean over all of a process, as they fell together.
    """
    found = {name: sides[0] for name, sides in _measured("noise_quiet").items()}
    found["geometric mean"] = [
        math.exp(float(np.mean(np.log(process)))) for process in zip(*found.values(), strict=True)
    ]
    return {name: _drawn(seconds) for name, seconds in found.items()}


def _drawn(seconds: list[float]) -> Noise:
    logs = np.log(seconds)
    # The spread among n values drawn from n is too small by the root of (n - 1)/n.
    logs = (logs - logs.mean()) * math.sqrt(len(logs) / (len(logs) - 1))

    def draw(rng: np.random.Generator, trials: int, rounds: int) -> Floats:
        return _ratios(rng, rng.choice(logs, (trials, 2 * rounds)))

    return draw


def loaded() -> dict[str, Noise]:
    """For each architecture: rounds drawn from an A/A session beside heavy load, either way up."""
    return {name: _drawn_rounds(*sides) for name, sides in _measured("noise_loaded").items()}


def _drawn_rounds(one: list[float], other: list[float]) -> Noise:
    ratios = np.log(one) - np.log(other)

    def draw(rng: np.random.Generator, trials: int, rounds: int) -> Floats:
        shape = (trials, rounds)
        drawn: Floats = rng.choice(ratios, shape) * rng.choice([-1.0, 1.0], shape)
        return drawn

    return draw


def _measured(name: str) -> dict[str, list[list[float]]]:
    document = json.loads((DATA / f"{name}.json").read_text())
    found: dict[str, list[list[float]]] = document["epoch_seconds"]
    return found
