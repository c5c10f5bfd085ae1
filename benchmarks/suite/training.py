"""Trains one architecture and takes the time of its epochs."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from suite.models import MODELS

if TYPE_CHECKING:
    from suite.data import Arrays, Source
    from suite.workload import Size, Workload


class EpochClock(tf.keras.callbacks.Callback):
    """Takes the time from the beginning of an epoch to its end, validation included.

    It has no hook for batches, so that Keras runs no Python of ours between two steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.losses: list[float] = []
        self._begun = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Start the clock."""
        self._begun = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Stop the clock."""
        self.seconds.append(time.perf_counter() - self._begun)
        self.losses.append(float((logs or {})["loss"]))


def train(name: str, scale: str, source: Source) -> dict[str, Any]:
    """Train the architecture and return its sample.

    The model and data go before the next architecture begins.
    """
    model_of = MODELS[name]
    workload: Workload = model_of.WORKLOAD
    size = workload.size(scale)
    tf.keras.utils.set_random_seed(source.seed)

    begun = time.perf_counter()
    arrays = model_of.arrays(source, size)
    model = model_of.build(arrays.facts)
    prepared = time.perf_counter()
    first = _fit(model_of, model, arrays, workload.warmup(size), source.seed)
    warm = time.perf_counter()
    clock = _fit(model_of, model, arrays, size, source.seed)

    full = workload.size("full")
    sample = {
        "data": arrays.kind,
        "parameters": int(model.count_params()),
        "epoch_seconds": clock.seconds,
        "train_samples": size.train,
        "validation_samples": size.validation,
        "batch_size": workload.batch,
        "steps_per_epoch": workload.steps(size),
        "full_train_samples": full.train,
        "full_validation_samples": full.validation,
        "full_epochs": full.epochs,
        "warmup_seconds": warm - prepared,
        "prepare_seconds": prepared - begun,
        "losses": clock.losses,
        "first_loss": first.losses[0],
    }
    del model, arrays
    tf.keras.backend.clear_session()
    gc.collect()
    return sample


def _fit(model_of: Any, model: Any, arrays: Arrays, size: Size, seed: int) -> EpochClock:
    workload: Workload = model_of.WORKLOAD
    clock = EpochClock()
    x, y = arrays.x[: size.train], arrays.y[: size.train]
    options: dict[str, Any] = {"epochs": size.epochs, "verbose": 0, "callbacks": [clock]}
    if size.validation and arrays.x_validation is not None and arrays.y_validation is not None:
        options["validation_data"] = (
            arrays.x_validation[: size.validation],
            arrays.y_validation[: size.validation],
        )
        options["validation_batch_size"] = workload.batch
    if hasattr(model_of, "batches"):
        endless = model_of.batches(x, y, workload.batch, seed)
        model.fit(endless, steps_per_epoch=workload.steps(size), shuffle=False, **options)
    else:
        model.fit(x, y, batch_size=workload.batch, **options)
    return clock
