"""A multilayer perceptron on MNIST: 784-512-512-10, dropout .2, RMSprop."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from suite import data
from suite.workload import Size, Workload

WORKLOAD = Workload(
    name="mnist_mlp",
    batch=128,
    train=60_000,
    validation=10_000,
    epochs=20,
    quick_steps=240,
    smoke_steps=60,
)


def arrays(source: data.Source, size: Size) -> data.Arrays:
    """Return flat images (n, 784) and one-hot labels (n, 10)."""
    return data.flat(data.mnist(source, size))


def build(facts: dict[str, int], *, xla: bool = False) -> Any:  # noqa: ARG001 - every shape is fixed
    """Return the compiled model: 669,706 parameters."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((784,)),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        loss="categorical_crossentropy",
        optimizer=tf.keras.optimizers.RMSprop(learning_rate=0.001),
        metrics=["accuracy"],
        jit_compile=xla,
    )
    return model
