"""An example of `tfbuild compare --workload`: a small network that tells drawn bars apart.

Everything but the two lines with `context` is an ordinary training script.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

SAMPLES, VALIDATION = 8_192, 1_024
SIDE = 16
EPOCHS = {"smoke": 2, "quick": 3, "full": 10}


def bars(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return images (count, 16, 16, 1), each with one bright row or column, and which it is."""
    labels = rng.integers(0, 2 * SIDE, count)
    images = rng.random((count, SIDE, SIDE, 1), dtype=np.float32)
    for image, label in zip(images, labels):
        (image if label < SIDE else image.swapaxes(0, 1))[label % SIDE] += 1
    return images, labels


def train(context: Any) -> None:
    """Train for some epochs; the first of them is the warm-up."""
    rng = np.random.default_rng(context.seed)
    x, y = bars(SAMPLES, rng)
    validation = bars(VALIDATION, rng)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(2 * SIDE, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=context.xla)
    model.fit(
        x,
        y,
        batch_size=context.batch or 64,
        epochs=EPOCHS[context.scale],
        validation_data=validation,
        callbacks=[context.clock(samples=len(x), validation_samples=VALIDATION)],
        verbose=2,
    )
