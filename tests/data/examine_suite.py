"""Examines the suite inside a measured environment, all in one process; answers in JSON.

    python examine_suite.py BENCHMARKS REAL EXAMPLE < words

BENCHMARKS is the folder of the suite, REAL one with the four real sets, EXAMPLE a workload script.
Standard input has scripts by name, to be run as workloads.
"""

import dataclasses
import json
import os
import pathlib
import sys
import time
from collections import Counter

BENCHMARKS, REAL, EXAMPLE = sys.argv[1:4]
sys.path.insert(0, BENCHMARKS)
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np  # noqa: E402
import overhead  # noqa: E402
import tensorflow as tf  # noqa: E402
from suite import clock, data, generated, real, request, script, training  # noqa: E402
from suite.layers import layers_of  # noqa: E402
from suite.models import MODELS  # noqa: E402
from suite.workload import Size  # noqa: E402
from tensorflow.python.framework import ops  # noqa: E402

TRACED = []
"""Keras runs the Python of a step only when it traces one."""
# Training samples, validation samples, epochs; no multiples of the batch in some.
SHORT = {
    "mnist_mlp": (700, 300, 3),
    "mnist_cnn": (300, 150, 2),
    "cifar10_cnn": (320, 100, 3),
    "imdb_fasttext": (100, 50, 3),
    "imdb_bidirectional_lstm": (192, 64, 3),
    "lstm_text_generation": (1280, 0, 3),
}
LEARNED = {
    "cifar10_cnn": (320, 32, 3),
    "imdb_fasttext": (320, 32, 3),
    "imdb_bidirectional_lstm": (224, 32, 3),
}
FEW_PAIRS = 5_000
"""Of words, in place of 1,180,000: learning is the same, and a step takes a hundredth."""


def watch_traces():
    for name in ("train_step", "test_step"):
        original = getattr(tf.keras.Sequential, name)

        def watched(self, inputs, original=original):
            TRACED.append(1)
            return original(self, inputs)

        setattr(tf.keras.Sequential, name, watched)


class Counting(clock.EpochClock):
    """Counts what Keras really runs: batches by its hooks, samples by its mean of losses."""

    seen = []

    def on_train_begin(self, logs=None):
        self.counts = {"batches": 0, "checks": 0, "samples": [], "checked": []}
        self.counts["traced"] = -len(TRACED)
        Counting.seen.append(self.counts)

    def on_train_batch_end(self, batch, logs=None):
        self.counts["batches"] += 1

    def on_test_batch_end(self, batch, logs=None):
        self.counts["checks"] += 1

    def on_test_begin(self, logs=None):
        self.counts["samples"].append(self.averaged())

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.counts["checked"].append(self.averaged())

    def on_train_end(self, logs=None):
        self.counts["traced"] += len(TRACED)

    def averaged(self):
        return float(np.array(self.model.metrics[0].count))


def shortened(name, sizes):
    module = MODELS[name]
    train, validation, epochs = sizes[name]
    whole = module.WORKLOAD
    module.WORKLOAD = dataclasses.replace(whole, train=train, validation=validation, epochs=epochs)
    return module, whole


def short_run(name, sizes, source):
    module, whole = shortened(name, sizes)
    try:
        return training.train(name, "full", source)
    finally:
        module.WORKLOAD = whole


def counted():
    watch_traces()
    plain, training.EpochClock = training.EpochClock, Counting
    found = {}
    for name in SHORT:
        source = data.Source(pathlib.Path(REAL), "real", 4)
        sample = short_run(name, SHORT, source)
        found[name] = {**sample, **Counting.seen[-1]}
    training.EpochClock = plain
    return found


def learned():
    generated.BIGRAMS = FEW_PAIRS
    source = data.Source(mode="generated", seed=4)
    return {name: short_run(name, LEARNED, source)["losses"] for name in LEARNED}


def seeds():
    def first(seed, **more):
        source = data.Source(mode="generated", seed=seed)
        return training.train("mnist_mlp", "smoke", source, **more)

    return {"again": first(11), "other": first(12), "compiled": first(11, batch=256, xla=True)}


def same_as_keras():
    """Read reviews as Keras and the study did; assertions speak."""
    rng = np.random.default_rng(0)

    def reviews(count):
        result = np.empty(count, dtype=object)
        for n in range(count):
            result[n] = [int(word) for word in rng.integers(1, 30_000, rng.integers(5, 300))]
        return result

    folder = pathlib.Path(REAL) / "drawn"
    folder.mkdir()
    file = folder / "imdb.npz"
    np.savez(
        file,
        x_train=reviews(200),
        y_train=rng.integers(0, 2, 200),
        x_test=reviews(100),
        y_test=rng.integers(0, 2, 100),
    )
    module = sys.modules[tf.keras.datasets.imdb.load_data.__module__]
    module.get_file = lambda *args, **options: str(file)
    (x, y), (x_test, y_test) = tf.keras.datasets.imdb.load_data(num_words=20_000)
    ours = real.imdb(folder, 20_000)
    assert all(list(a) == list(b) for a, b in zip(x, ours.x))
    assert all(list(a) == list(b) for a, b in zip(x_test, ours.x_test))
    assert (y == ours.y).all()
    assert (y_test == ours.y_test).all()
    # Keras 2 had it elsewhere, and moved it in 2.9.
    pad = getattr(tf.keras.utils, "pad_sequences", None)
    pad = pad or tf.keras.preprocessing.sequence.pad_sequences
    assert (pad(x, maxlen=100) == data.pad(ours.x, 100)).all()
    # The pairs as the study's script makes them, with the set of pairs in order.
    known = sorted({pair for review in x for pair in zip(review, review[1:])})
    token = {pair: number + 20_001 for number, pair in enumerate(known)}

    def wide(sets):
        return [
            [*one, *(token[pair] for pair in zip(one, one[1:]) if pair in token)] for one in sets
        ]

    arrays = data.imdb_bigrams(data.Source(folder, "auto", 0), Size(200, 100, 1), 400)
    assert arrays.facts["vocabulary"] == max(token.values()) + 1
    assert (pad(wide(x), maxlen=400) == arrays.x).all()
    assert (pad(wide(x_test), maxlen=400) == arrays.x_validation).all()
    return True


def small_models():
    """Yield models of one kind of layer each, for TensorFlow's own count of operations."""
    layers = tf.keras.layers

    def of(shape, *ones, dtype="float32"):
        return tf.keras.Sequential([tf.keras.Input(shape, dtype=dtype), *ones])

    yield "dense", of((784,), layers.Dense(512), layers.Dense(10))
    yield (
        "conv",
        of((28, 28, 3), layers.Conv2D(32, 3), layers.Conv2D(8, 5, strides=2, padding="same")),
    )
    yield "depthwise", of((10, 10, 8), layers.DepthwiseConv2D(3, depth_multiplier=2))
    yield "pooling", of((24, 24, 4), layers.MaxPooling2D(2), layers.AveragePooling2D(2))
    for kind in (layers.SimpleRNN, layers.LSTM, layers.GRU):
        yield kind.__name__, of((7, 6), kind(5, unroll=True))
    yield "both ways", of((7, 6), layers.Bidirectional(layers.LSTM(5, unroll=True)))


def unseen(graph, node):
    """Return the sums and products of a node that this TensorFlow's profiler does not count."""
    if node.op not in {"Add", "AddV2", "Mul", "Sub"}:
        return 0
    if ops.get_stats_for_node_def(graph, node, "flops").value:
        return 0
    return graph.get_tensor_by_name(node.name + ":0").shape.num_elements()


def profiled():
    """Return layers and TensorFlow's count of a frozen graph, by kind of operation."""
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2_as_graph as freeze,
    )

    found = {}
    for name, model in small_models():
        shape = (1, *model.input_shape[1:])
        function = tf.function(lambda x, model=model: model(x, training=False))
        frozen, _ = freeze(function.get_concrete_function(tf.TensorSpec(shape)))
        with tf.Graph().as_default() as graph:
            tf.graph_util.import_graph_def(frozen.graph.as_graph_def(), name="")
            options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
            options["output"] = "none"
            told = tf.compat.v1.profiler.profile(graph, options=options, cmd="op")
            total = told.total_float_ops + sum(
                unseen(graph, node) for node in graph.as_graph_def().node
            )
        found[name] = {"layers": layers_of(model), "total": total}
    return found


def workload(path, **more):
    """Return a script's sample, or what was said against it."""
    words = {
        "script": {"path": path, "arguments": ["-v"]},
        "scale": "smoke",
        "layers": True,
        **more,
    }
    asked = request.read(json.dumps(words))
    try:
        return {"sample": script.run(asked.script, asked)}
    except Exception as error:  # noqa: BLE001 - the test judges it
        return {"error": f"{type(error).__name__}: {error}"}


def scripts():
    found = {"example": workload(EXAMPLE)}
    found["example in other batches"] = workload(EXAMPLE, setting={"batch": 512, "xla": True})
    for name, told in json.load(sys.stdin).items():
        found[name] = workload(**told)
    return found


def full():
    """Return what each architecture does at the scale of the study."""
    found = {}
    for name, module in MODELS.items():
        size = module.WORKLOAD.size("full")
        found[name] = {"steps": module.WORKLOAD.steps(size), **dataclasses.asdict(size)}
    return found


def clocked():
    """Count calls of our own Python while Keras trains, and pairs of calls with and without it."""
    calls = Counter()

    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(BENCHMARKS):
            calls[frame.f_code.co_name] += 1

    module = MODELS["mnist_mlp"]
    found = {}
    for steps in (2, 10):
        size = Size(steps * 128, 256, 2)
        arrays = module.arrays(data.Source(mode="generated"), size)
        fits = training.Fits(module, module.build(arrays.facts), arrays, module.WORKLOAD, 0)
        calls.clear()
        sys.setprofile(profile)
        fits.run(size)
        sys.setprofile(None)
        found[steps] = dict(calls)
    pairs = overhead.measure("mnist_mlp", 8, epochs=1, samples=512)
    return {"calls": found, "pairs": [dataclasses.asdict(pair) for pair in pairs]}


def main():
    plain = sys.stdout
    sys.stdout = sys.stderr
    found = {}
    for part in (full, clocked, profiled, scripts, same_as_keras, seeds, learned, counted):
        begun = time.process_time()
        found[part.__name__] = part()
        print(part.__name__, time.process_time() - begun, "s of the CPUs")
    plain.write(json.dumps(found) + "\n")


main()
