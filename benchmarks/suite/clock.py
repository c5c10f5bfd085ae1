"""The clock: from the beginning of an epoch to its end, validation included, as in the study."""

from __future__ import annotations

import math
import time
from typing import Any

import tensorflow as tf


class EpochClock(tf.keras.callbacks.Callback):
    """Takes the time of each epoch, and counts its steps by the optimiser's own counter.

    It has no hook for batches, so that Keras runs no Python of ours between two steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.losses: list[float] = []
        self.steps: list[int] = []
        self._begun = 0.0
        self._before = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Start the clock."""
        self._before = updates(self.model)
        self._begun = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Stop the clock; a model of the user's own may tell no loss."""
        self.seconds.append(time.perf_counter() - self._begun)
        self.losses.append(float((logs or {}).get("loss", math.nan)))
        self.steps.append(updates(self.model) - self._before)


def updates(model: Any) -> int:
    """Return how often the model's optimiser has updated the weights; 0 where it has none."""
    optimizer = getattr(model, "optimizer", None)
    return int(optimizer.iterations.numpy()) if optimizer is not None else 0
