"""Bytes that a training has to move at least, by the shapes of its layers.

In a training step every weight is read once and written once, of an embedding only the rows that
are looked up; the output of each layer that computes something is written on the way forward and
read on the way back; the input is read. In validation weights and input are read. All numbers have
four bytes. What caches do not hold comes on top, and so do the optimiser's own moments and the
gradients: operations over these bytes are an upper bound of the intensity. A model that stays in
the caches from step to step moves less through memory than this, and may exceed the roof.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild.bench.suite import Layer
from tfbuild.roofline import flops

NUMBER = 4


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Bytes of one step."""

    weights: float
    """Of all weights but embeddings."""
    rows: float
    """Of the embeddings' rows that one sample looks up."""
    outputs: float
    """Of all outputs of one sample."""
    inputs: float
    """Of one sample."""

    def training(self, batch: int) -> float:
        """Bytes of one training step."""
        return 2 * self.weights + batch * (2 * self.rows + 2 * self.outputs + self.inputs)

    def validation(self, batch: int) -> float:
        """Bytes of one batch forward."""
        return self.weights + batch * (self.rows + self.inputs)


def of_layers(layers: Sequence[Layer]) -> Traffic:
    """Return the traffic of a model; unknown sizes count nothing."""
    weights = rows = outputs = 0
    for layer in layers:
        if layer.kind == "Embedding":
            # What it hands on is what it has read: one row for each index.
            rows += _size(layer.output)
        elif flops.work_of(layer) is not None:
            weights += sum(map(_size, layer.weights))
            outputs += _kept(layer)
    return Traffic(
        weights=NUMBER * weights,
        rows=NUMBER * rows,
        outputs=NUMBER * outputs,
        inputs=NUMBER * (_size(layers[0].input) if layers else 0),
    )


def _kept(layer: Layer) -> int:
    """Return the numbers that the way back needs: of a recurrent layer the state of each step."""
    is_recurrent = any(kind in layer.kind for kind in flops.GATES)
    if is_recurrent and len(layer.output) == 1:
        return _size(layer.output) * _size(layer.input[:1])
    return _size(layer.output)


def _size(shape: Sequence[int | None]) -> int:
    if not shape or None in shape:
        return 0
    return min(max(0, math.prod(size for size in shape if size)), flops.MOST)
