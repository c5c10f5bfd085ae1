"""The six architectures, really trained: Keras 2 and Keras 3."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need
from tfbuild import environment, host, resources, spec
from tfbuild.choice import choose
from tfbuild.environment import Installer
from tfbuild.progress import Silent
from tfbuild.spec import Environment

pytestmark = pytest.mark.tensorflow

FOLDER = resources.folder("benchmarks")
# Counted by hand from the layers: weights and biases.
PARAMETERS = {
    "mnist_mlp": 669_706,
    "mnist_cnn": 1_199_882,
    "cifar10_cnn": 1_250_858,
    "imdb_fasttext": (20_001 + 1_180_000) * 50 + 51,
    "imdb_bidirectional_lstm": 2_658_945,
    "lstm_text_generation": 4 * 128 * (57 + 128 + 1) + 128 * 57 + 57,
}
# The study's: training and validation samples, epochs, batch.
STUDY = {
    "mnist_mlp": (60_000, 10_000, 20, 128),
    "mnist_cnn": (60_000, 10_000, 12, 128),
    "cifar10_cnn": (49_984, 10_000, 20, 32),
    "imdb_fasttext": (25_000, 25_000, 5, 32),
    "imdb_bidirectional_lstm": (25_000, 25_000, 4, 32),
    "lstm_text_generation": (200_285, 0, 10, 128),
}
LEARNS = """
import dataclasses, json, sys
sys.path.insert(0, sys.argv[1])
from suite import training
from suite.data import Source
from suite.models import MODELS
shapes = {"mnist_mlp": (20, 3), "mnist_cnn": (5, 3), "cifar10_cnn": (30, 4),
          "imdb_fasttext": (3, 3), "imdb_bidirectional_lstm": (14, 3),
          "lstm_text_generation": (14, 3)}
losses = {}
for name, module in MODELS.items():
    steps, epochs = shapes[name]
    module.WORKLOAD = dataclasses.replace(
        module.WORKLOAD, train=steps * module.WORKLOAD.batch, validation=64, epochs=epochs)
    sample = training.train(name, "full", Source(mode="generated", seed=4))
    losses[name] = [sample["losses"][0], sample["losses"][-1]]
print("LOSSES" + json.dumps(losses))
"""
LOADERS = """
import sys, pathlib
import numpy as np
sys.path.insert(0, sys.argv[1])
folder = pathlib.Path(sys.argv[2])
import tensorflow as tf
from suite import data, real
from suite.workload import Size
rng = np.random.default_rng(0)
def reviews(count):
    result = np.empty(count, dtype=object)
    for n in range(count):
        result[n] = [int(word) for word in rng.integers(1, 30_000, rng.integers(5, 300))]
    return result
file = folder / "imdb.npz"
np.savez(file, x_train=reviews(200), y_train=rng.integers(0, 2, 200),
         x_test=reviews(100), y_test=rng.integers(0, 2, 100))
module = sys.modules[tf.keras.datasets.imdb.load_data.__module__]
module.get_file = lambda *args, **options: str(file)
(x, y), (x_test, y_test) = tf.keras.datasets.imdb.load_data(num_words=20_000)
ours = real.imdb(folder, 20_000)
assert all(list(a) == list(b) for a, b in zip(x, ours.x))
assert all(list(a) == list(b) for a, b in zip(x_test, ours.x_test))
assert (y == ours.y).all() and (y_test == ours.y_test).all()
pad = tf.keras.utils.pad_sequences
assert (pad(x, maxlen=100) == data.pad(ours.x, 100)).all()
# The pairs as the study's script makes them, with the set of pairs in order.
known = sorted({pair for review in x for pair in zip(review, review[1:])})
token = {pair: number + 20_001 for number, pair in enumerate(known)}
def wide(sets):
    return [[*one, *(token[pair] for pair in zip(one, one[1:]) if pair in token)] for one in sets]
arrays = data.imdb_bigrams(data.Source(folder, "auto", 0), Size(200, 100, 1), 400)
assert arrays.facts["vocabulary"] == max(token.values()) + 1
assert (pad(wide(x), maxlen=400) == arrays.x).all()
assert (pad(wide(x_test), maxlen=400) == arrays.x_validation).all()
print("SAME")
"""


@pytest.fixture(scope="module", params=["tensorflow-cpu==2.14.0", "tensorflow-cpu==2.21.0"])
def tensorflow(request: pytest.FixtureRequest) -> Environment:
    """An environment in the user's own cache, so that the next run finds it."""
    cpu = host.detect()
    at = environment.here(cpu, Path("wheels"), Installer())
    (choice,) = choose([spec.parse(request.param)], at).choices
    need(choice.interpreter, f"no Python {choice.python} for {request.param}")
    return environment.prepare(choice, Installer(), cpu, Silent())


def train(python: Path, request: dict[str, Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [python, FOLDER / "worker.py"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def script(python: Path, text: str, *args: str | Path) -> str:
    done = subprocess.run(
        [python, "-c", text, FOLDER, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_all_six_at_the_smallest_scale(tensorflow: Environment) -> None:
    order = list(reversed(PARAMETERS))
    request = {
        "architectures": order,
        "scale": "smoke",
        "seed": 11,
        "setting": {"intra_threads": 2, "inter_threads": 2},
    }
    first, *middle, last = train(
        tensorflow.python, {**request, "data": {"folder": None, "mode": "generated"}}
    )
    assert first["event"] == "environment"
    assert first["tensorflow"] == tensorflow.tensorflow
    assert (first["intra_threads"], first["inter_threads"]) == (2, 2)
    assert last["event"] == "done"
    # 60 million parameters and Adam's two moments, four bytes each, are the least.
    assert last["peak_rss_bytes"] > 3 * 4 * PARAMETERS["imdb_fasttext"]
    assert [(one["event"], one["architecture"]) for one in middle] == [
        (event, name) for name in order for event in ("start", "sample")
    ]
    for sample in middle[1::2]:
        name = sample["architecture"]
        assert sample["parameters"] == PARAMETERS[name], name
        assert sample["data"] == "generated"
        train_, validation, epochs, batch = STUDY[name]
        assert sample["full_train_samples"] == train_
        assert sample["full_validation_samples"] == validation
        assert (sample["full_epochs"], sample["batch_size"]) == (epochs, batch)
        assert sample["steps_per_epoch"] * batch == sample["train_samples"]
        ratio = sample["validation_samples"] / sample["train_samples"]
        assert ratio == pytest.approx(validation / train_, abs=0.01)
        assert len(sample["epoch_seconds"]) == len(sample["losses"]) == 1
        assert sample["epoch_seconds"][0] > 0


def test_a_seed_repeats_the_first_loss(tensorflow: Environment) -> None:
    def losses(seed: int, *names: str) -> dict[str, float]:
        request = {"architectures": names, "scale": "smoke", "seed": seed}
        events = train(tensorflow.python, request)
        return {
            one["architecture"]: one["first_loss"] for one in events if one["event"] == "sample"
        }

    first = losses(3, "mnist_mlp", "cifar10_cnn")
    # The order of architectures is drawn anew in each round; it must not matter.
    assert losses(3, "cifar10_cnn", "mnist_mlp") == pytest.approx(first, rel=1e-4)
    assert losses(4, "mnist_mlp")["mnist_mlp"] != pytest.approx(first["mnist_mlp"], rel=1e-4)


def test_every_model_learns_from_generated_data(tensorflow: Environment) -> None:
    _, _, answer = script(tensorflow.python, LEARNS).rpartition("LOSSES")
    losses = json.loads(answer)
    assert set(losses) == set(PARAMETERS)
    for name, (before, after) in losses.items():
        assert after < before, name


def test_real_reviews_are_read_as_keras_and_the_study_read_them(
    tensorflow: Environment, tmp_path: Path
) -> None:
    assert "SAME" in script(tensorflow.python, LOADERS, tmp_path)
