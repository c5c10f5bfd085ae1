"""A bidirectional LSTM on IMDB: embedding 20,000 x 128, 64 units each way, Adam."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from suite import data
from suite.workload import Size, Workload

WORKLOAD = Workload(
    name="imdb_bidirectional_lstm",
    batch=32,
    train=25_000,
    validation=25_000,
    epochs=4,
    quick_steps=24,
    smoke_steps=12,
)
WORDS = 20_000
LENGTH = 100


def arrays(source: data.Source, size: Size) -> data.Arrays:
    """Return word indices (n, 100) and sentiments (n,)."""
    return data.imdb_words(source, size, LENGTH)


def build(facts: dict[str, int], *, xla: bool = False) -> Any:  # noqa: ARG001 - every shape is fixed
    """Return the compiled model: 2,658,945 parameters."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((LENGTH,), dtype="int32"),
            layers.Embedding(WORDS, 128),
            layers.Bidirectional(layers.LSTM(64)),
            layers.Dropout(0.5),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        loss="binary_crossentropy",
        optimizer=tf.keras.optimizers.Adam(learning_rate=0.001),
        metrics=["accuracy"],
        jit_compile=xla,
    )
    return model
