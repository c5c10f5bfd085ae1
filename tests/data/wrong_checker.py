"""benchmarks/checker.py with faults in what TensorFlow computes.

TFBUILD_TEST_BENCHMARKS names the folder. Each architecture but imdb_fasttext gets one fault, and
quantised 8-bit numbers come in the order in which AVX-512 code once returned them (as the table in
openxla/xla issue 17800 shows it).
"""

# mypy: ignore-errors
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.environ["TFBUILD_TEST_BENCHMARKS"])

import checker
import numpy as np
import tensorflow as tf
from suite import one_step

if TYPE_CHECKING:
    from collections.abc import Callable

# Four vectors of 16 are put together from their lanes of four: 0-3, 16-19, 32-35, 48-51, 4-7, ...
ORDER = [16 * part + 4 * lane + one for lane in range(4) for part in range(4) for one in range(4)]


def one_bit(model: Any) -> None:
    """Turn one bit in the middle of one weight's mantissa, which changes the fourth digit."""
    kernel = np.array(model.trainable_variables[0])
    kernel.view(np.uint32).reshape(-1)[1234] ^= np.uint32(1 << 12)
    model.trainable_variables[0].assign(kernel)


def leaky(model: Any) -> None:
    """Let a little of the negative numbers through."""
    model.layers[0].activation = lambda x: tf.nn.leaky_relu(x, 0.01)


def no_last_channel(model: Any) -> None:
    """Forget the last of 32 channels, as code does that forgets the rest of a vector."""
    mask = np.array([1.0] * 31 + [0.0], dtype=np.float32)
    model.layers[1].activation = lambda x: tf.nn.relu(x) * mask


def longer_steps(model: Any) -> None:
    """Let the optimiser go 3 % too far."""
    model.optimizer.learning_rate.assign(0.00103)


def steeper(model: Any) -> None:
    """Be wrong in the third digit."""
    model.layers[-1].activation = lambda x: tf.nn.softmax(x * 1.002)


def right(_model: Any) -> None:
    """Do nothing."""


FAULTS: dict[str, Callable[[Any], None]] = {
    "mnist_mlp": one_bit,
    "mnist_cnn": leaky,
    "cifar10_cnn": no_last_channel,
    "imdb_fasttext": right,
    "imdb_bidirectional_lstm": longer_steps,
    "lstm_text_generation": steeper,
}
prepared = one_step._prepared
quantize = tf.quantization.quantize


def wrongly_prepared(name: str, seed: int) -> tuple[Any, ...]:
    model, *batch = prepared(name, seed)
    FAULTS[name](model)
    return (model, *batch)


def wrongly_quantised(real: Any, low: Any, high: Any, kind: Any, **options: Any) -> tuple[Any, ...]:
    output, *ends = quantize(real, low, high, kind, **options)
    if kind == tf.qint8:
        numbers = tf.bitcast(output, tf.int8).numpy()
        flat = numbers.reshape(-1)
        for begin in range(0, flat.size - 63, 64):
            flat[begin : begin + 64] = flat[begin : begin + 64][ORDER]
        output = tf.bitcast(numbers, tf.qint8)
    return (output, *ends)


one_step._prepared = wrongly_prepared
tf.quantization.quantize = wrongly_quantised
sys.exit(checker.main())
