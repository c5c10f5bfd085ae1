"""Trains one architecture and takes the time of its epochs."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from suite.clock import EpochClock
from suite.layers import layers_of
from suite.models import MODELS

if TYPE_CHECKING:
    from suite.data import Arrays, Source
    from suite.workload import Size, Workload


class WorkError(Exception):
    """Keras did not run the steps that it was asked to run."""


def train(
    name: str,
    scale: str,
    source: Source,
    *,
    batch: int | None = None,
    xla: bool = False,
    layers: bool = False,
) -> dict[str, Any]:
    """Train the architecture and return its sample.

    The model and data go before the next architecture begins.

    Args:
        name: one of the six.
        scale: how much of the study's work.
        source: of the data; its seed decides all random numbers.
        batch: samples in a batch; the study's if None.
        xla: whether XLA compiles the training step.
        layers: whether the sample tells the model's layers.

    Raises:
        WorkError: the optimiser counted other steps than asked for.
    """
    model_of = MODELS[name]
    workload: Workload = model_of.WORKLOAD.with_batch(batch)
    size = workload.size(scale)
    tf.keras.utils.set_random_seed(source.seed)

    begun = time.perf_counter()
    arrays = model_of.arrays(source, size)
    model = model_of.build(arrays.facts, xla=xla)
    fits = Fits(model_of, model, arrays, workload, source.seed)
    prepared = time.perf_counter()
    first = fits.run(workload.first(size), shuffle=False)
    stepped = time.perf_counter()
    fits.run(workload.warmup(size))
    warm = time.perf_counter()
    clock = fits.run(size)

    full = workload.size("full")
    sample = {
        "data": arrays.kind,
        "parameters": int(model.count_params()),
        "epoch_seconds": clock.seconds,
        "train_samples": size.train,
        "validation_samples": size.validation,
        "batch_size": workload.batch,
        "steps_per_epoch": clock.steps[0],
        "full_train_samples": full.train,
        "full_validation_samples": full.validation,
        "full_epochs": full.epochs,
        "warmup_seconds": warm - prepared,
        "first_step_seconds": stepped - prepared,
        "prepare_seconds": prepared - begun,
        "losses": clock.losses,
        "first_loss": first.losses[0],
        "layers": layers_of(model) if layers else [],
    }
    del fits, model, arrays
    tf.keras.backend.clear_session()
    gc.collect()
    return sample


class Fits:
    """Calls of `fit` on one model and its data."""

    def __init__(
        self, model_of: Any, model: Any, arrays: Arrays, workload: Workload, seed: int
    ) -> None:
        self.model_of = model_of
        self.model = model
        self.arrays = arrays
        self.workload = workload
        self.seed = seed

    def run(self, size: Size, *, shuffle: bool = True) -> EpochClock:
        """Train so much; the clock has a loss and seconds for each epoch."""
        clock = EpochClock()
        steps, batch = self.workload.steps(size), self.workload.batch
        x, y = self.arrays.x[: size.train], self.arrays.y[: size.train]
        options: dict[str, Any] = {"epochs": size.epochs, "verbose": 0, "callbacks": [clock]}
        options.update(self._validation(size))
        if hasattr(self.model_of, "batches"):
            endless = self.model_of.batches(x, y, batch, self.seed)
            self.model.fit(endless, steps_per_epoch=steps, shuffle=False, **options)
        else:
            self.model.fit(x, y, batch_size=batch, shuffle=shuffle, **options)
        if clock.steps != [steps] * size.epochs:
            raise WorkError(f"{size.epochs} epochs of {steps} steps became {clock.steps}")
        return clock

    def _validation(self, size: Size) -> dict[str, Any]:
        x, y = self.arrays.x_validation, self.arrays.y_validation
        if not size.validation or x is None or y is None:
            return {}
        return {
            "validation_data": (x[: size.validation], y[: size.validation]),
            "validation_batch_size": self.workload.batch,
        }
