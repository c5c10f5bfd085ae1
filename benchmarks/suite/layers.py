"""What a model's arithmetic depends on, told layer by layer; formulas are for the reader.

A layer is told by its class, the shapes of one sample's input and output, and its weights' shapes.
What its shapes do not tell stands in `options`, as text:

    value_length    of attention: entries in the sequence that is looked at
    pool            elements of one window of a pooling layer
    calls           how often one pass runs a layer that is used more than once
    frozen          "yes" for weights that are not trained
"""

from __future__ import annotations

import math
from typing import Any, Iterator

import tensorflow as tf


def layers_of(model: Any) -> list[dict[str, Any]]:
    """Return the layers in Keras's order, those of models inside it in their place.

    Where Keras knows no shapes, as in a subclassed model, `input` and `output` are empty.
    """
    return [_told(layer) for layer in _leaves(model)]


def _leaves(model: Any) -> Iterator[Any]:
    for layer in model.layers:
        if isinstance(layer, tf.keras.Model):
            yield from _leaves(layer)
        elif type(layer).__name__ != "InputLayer":
            yield layer


def _told(layer: Any) -> dict[str, Any]:
    nodes = getattr(layer, "_inbound_nodes", [])
    inputs = [_shape(one) for one in _inputs(nodes[0])] if nodes else []
    outputs = [_shape(one) for one in tf.nest.flatten(nodes[0].outputs)] if nodes else []
    return {
        "kind": _kind(layer),
        "name": layer.name,
        "input": inputs[0] if _is_one(layer, inputs) else [],
        "output": outputs[0] if outputs else [],
        "weights": [[int(size) for size in weight.shape] for weight in layer.weights],
        "options": _options(layer, inputs, len(nodes)),
    }


def _inputs(node: Any) -> list[Any]:
    # Keras 2 has the one name, Keras 3 the other.
    found = node.keras_inputs if hasattr(node, "keras_inputs") else node.input_tensors
    return [one for one in tf.nest.flatten(found) if hasattr(one, "shape")]


def _is_one(layer: Any, inputs: list[Any]) -> bool:
    """Return whether the first input stands for all: so it does for the query of attention."""
    return len(inputs) == 1 or (bool(inputs) and "Attention" in type(layer).__name__)


def _shape(tensor: Any) -> list[int | None]:
    """Return the shape of one sample: the batch left out."""
    return [None if size is None else int(size) for size in tuple(tensor.shape)[1:]]


def _kind(layer: Any) -> str:
    name = type(layer).__name__
    inner = getattr(layer, "forward_layer", None) or (
        layer.layer if name == "TimeDistributed" else None
    )
    return name if inner is None else f"{name}({_kind(inner)})"


def _options(layer: Any, inputs: list[Any], calls: int) -> dict[str, str]:
    options = {}
    if "Attention" in type(layer).__name__ and inputs:
        value = inputs[min(1, len(inputs) - 1)]
        options["value_length"] = str(value[0]) if value else ""
    pool = getattr(layer, "pool_size", None)
    if pool is not None:
        options["pool"] = str(math.prod(pool) if isinstance(pool, (tuple, list)) else pool)
    if calls > 1:
        options["calls"] = str(calls)
    if layer.weights and not layer.trainable_weights:
        options["frozen"] = "yes"
    return options
