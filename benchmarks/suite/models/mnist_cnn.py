"""A small convolutional network on MNIST: two convolutions, pool, dense 128, Adadelta."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from suite import data
from suite.workload import Size, Workload

WORKLOAD = Workload(
    name="mnist_cnn",
    batch=128,
    train=60_000,
    validation=10_000,
    epochs=12,
    quick_steps=12,
    smoke_steps=6,
)


def arrays(source: data.Source, size: Size) -> data.Arrays:
    """Return images (n, 28, 28, 1) and one-hot labels (n, 10)."""
    return data.mnist(source, size)


def build(facts: dict[str, int], *, xla: bool = False) -> Any:  # noqa: ARG001 - every shape is fixed
    """Return the compiled model: 1,199,882 parameters."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            layers.Conv2D(32, (3, 3), activation="relu"),
            layers.Conv2D(64, (3, 3), activation="relu"),
            layers.MaxPooling2D((2, 2)),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        loss="categorical_crossentropy",
        # Adadelta as its paper has it and Keras had it in 2017; today's default is 0.001.
        optimizer=tf.keras.optimizers.Adadelta(learning_rate=1.0, rho=0.95),
        metrics=["accuracy"],
        jit_compile=xla,
    )
    return model
