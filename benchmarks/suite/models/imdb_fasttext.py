"""FastText on IMDB: the average of word and bigram embeddings, then one sigmoid; Adam."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from suite import data
from suite.workload import Size, Workload

WORKLOAD = Workload(
    name="imdb_fasttext",
    batch=32,
    train=25_000,
    validation=25_000,
    epochs=5,
    quick_steps=4,
    smoke_steps=2,
)
LENGTH = 400
EMBEDDING = 50


def arrays(source: data.Source, size: Size) -> data.Arrays:
    """Return word and bigram indices (n, 400) and sentiments (n,)."""
    return data.imdb_bigrams(source, size, LENGTH)


def build(facts: dict[str, int], *, xla: bool = False) -> Any:
    """Return the compiled model: 50 parameters for each index, and 51."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((LENGTH,), dtype="int32"),
            layers.Embedding(facts["vocabulary"], EMBEDDING),
            layers.GlobalAveragePooling1D(),
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
