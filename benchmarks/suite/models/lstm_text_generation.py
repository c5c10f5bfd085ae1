"""Character-level text generation: 40-character windows, one-hot, LSTM 128, RMSprop .01."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from suite import data
from suite.workload import Size, Workload

WORKLOAD = Workload(
    name="lstm_text_generation",
    batch=128,
    # Every third window of the 600,893 characters.
    train=200_285,
    validation=0,
    epochs=10,
    quick_steps=32,
    smoke_steps=16,
)


def arrays(source: data.Source, size: Size) -> data.Arrays:
    """Return one-hot windows (n, 40, alphabet) and next characters (n, alphabet)."""
    return data.text_windows(source, size)


def build(facts: dict[str, int], *, xla: bool = False) -> Any:
    """Return the compiled model; with 57 characters 102,585 parameters."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((data.WINDOW, facts["alphabet"])),
            layers.LSTM(128),
            layers.Dense(facts["alphabet"], activation="softmax"),
        ]
    )
    model.compile(
        loss="categorical_crossentropy",
        optimizer=tf.keras.optimizers.RMSprop(learning_rate=0.01),
        jit_compile=xla,
    )
    return model
