"""One training step of an architecture, with everything that it computes."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import tensorflow as tf

from suite.data import Source
from suite.models import MODELS
from suite.workload import Size

VOCABULARY = 20_000
"""Indices are folded into so many: 60 million parameters would say no more than a million."""


def one_step(name: str, seed: int) -> dict[str, np.ndarray]:
    """Train one step on generated data and return what it computed, float32.

    All random numbers come from the seed: data, first weights, dropout, shifts and flips.

    Returns:
        "loss" and "predictions" of the step, with dropout; "answers" for the same batch after it,
        without; and for each variable n "weights/n/NAME" before, "gradients/n/NAME",
        "updates/n/NAME" (what the optimiser added).
    """
    result = _stepped(*_prepared(name, seed))
    found = {key: np.asarray(value, dtype=np.float32) for key, value in result.items()}
    tf.keras.backend.clear_session()
    gc.collect()
    return found


def _stepped(model: Any, x: Any, y: Any) -> dict[str, Any]:
    variables = model.trainable_variables
    before = [np.array(variable) for variable in variables]
    loss, predictions, gradients = _derivatives(model, variables, x, y)
    model.optimizer.apply_gradients(zip(gradients, variables))
    answers = tf.function(lambda batch: model(batch, training=False))(x)
    result = {"loss": loss, "predictions": predictions, "answers": answers}
    for number, (variable, old, gradient) in enumerate(zip(variables, before, gradients)):
        place = f"{number}/{_path(variable)}"
        result["weights/" + place] = old
        result["gradients/" + place] = gradient
        result["updates/" + place] = np.array(variable) - old
    return result


def _prepared(name: str, seed: int) -> tuple[Any, Any, Any]:
    """Return the compiled model and one batch, inputs and targets."""
    tf.keras.utils.set_random_seed(seed)
    model_of: Any = MODELS[name]
    batch = model_of.WORKLOAD.batch
    arrays = model_of.arrays(Source(mode="generated", seed=seed), Size(batch, 1, 1))
    x, y, facts = arrays.x, arrays.y, dict(arrays.facts)
    if "vocabulary" in facts:
        x, facts["vocabulary"] = x % VOCABULARY, VOCABULARY
    model = model_of.build(facts)
    if hasattr(model_of, "batches"):
        return (model, *next(iter(model_of.batches(x, y, batch, seed))))
    return model, tf.constant(x), tf.constant(y)


def _derivatives(model: Any, variables: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return loss, predictions and dense gradients, computed in a graph as `fit` does."""
    criterion = tf.keras.losses.get(model.loss)

    @tf.function
    def derive(inputs: Any, targets: Any) -> tuple[Any, Any, Any]:
        with tf.GradientTape() as tape:
            predictions = model(inputs, training=True)
            if predictions.shape[-1] == 1:
                targets = tf.reshape(targets, (-1, 1))
            loss = tf.reduce_mean(criterion(targets, predictions))
        found = tape.gradient(loss, variables)
        return loss, predictions, [tf.convert_to_tensor(one) for one in found]

    return derive(x, y)


def fit_once(name: str, seed: int) -> dict[str, Any]:
    """Train one step as users do, with `fit`, and return what came of it.

    Returns:
        "loss"; how many trainable "variables" there are, and which of them are "unchanged" or
        "not_finite" afterwards, by name.
    """
    model, x, y = _prepared(name, seed)
    before = [np.array(variable) for variable in model.trainable_variables]
    history = model.fit(x, y, batch_size=len(x), epochs=1, verbose=0)
    pairs = [
        (_path(one), old, np.array(one)) for one, old in zip(model.trainable_variables, before)
    ]
    return {
        "loss": float(history.history["loss"][0]),
        "variables": len(pairs),
        "unchanged": [path for path, old, new in pairs if np.array_equal(old, new)],
        "not_finite": [path for path, _, new in pairs if not np.isfinite(new).all()],
    }


def _path(variable: Any) -> str:
    return str(getattr(variable, "path", variable.name))
