"""Floating-point operations of a model's layers, by formula from their shapes.

Counted are products of matrices and convolutions (a multiplication and an addition each), biases,
the windows of pooling, the gates' arithmetic of recurrent layers, and the scaling of normalisation.
Not counted are activation functions, softmax, dropout, the loss and the optimiser: against the
products they are small wherever products are worth counting at all.

A training step goes forward once and back once. On the way back each product with weights is done
again for the weights' gradient, and once more for the gradient that is handed to the layer below:
three times the forward work in all, but twice in the first layer with weights, which hands nothing
on, and no weights' gradient where weights are frozen. Biases and the like are counted once more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tfbuild.bench.suite import Layer

GATES = {"SimpleRNN": 1, "LSTM": 4, "GRU": 3}
GATE_OPERATIONS = {"SimpleRNN": 1, "LSTM": 4 + 4, "GRU": 3 + 5}
"""Additions and multiplications per unit and step beside products and biases: the sums of input's
and state's products, then LSTM's c = f c + i g and h = o tanh(c), or GRU's r h, z h + (1 - z) g."""
ATTENTION_KERNELS = 4
MOST = 10**18
"""Beyond the operations, or the numbers, of any layer: such shapes come from no model."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """One layer's forward operations for one sample."""

    with_weights: float = 0.0
    """Multiply-adds of the layer's input with its weights."""
    with_state: float = 0.0
    """Multiply-adds with weights whose other side needs a gradient wherever the layer stands: the
    state of a recurrent layer, the values inside attention."""
    without_weights: float = 0.0
    """Multiply-adds of two computed things: attention's scores and their sums."""
    cheap: float = 0.0
    """Single operations."""

    def __mul__(self, times: float) -> "Work":
        return Work(
            with_weights=self.with_weights * times,
            with_state=self.with_state * times,
            without_weights=self.without_weights * times,
            cheap=self.cheap * times,
        )

    @property
    def forward(self) -> float:
        """Operations of one pass forward."""
        return 2 * (self.with_weights + self.with_state + self.without_weights) + self.cheap

    def training(self, *, is_trained: bool, hands_on: bool) -> float:
        """Operations of one pass forward and back.

        Args:
            is_trained: the weights get a gradient.
            hands_on: the layer's input gets one, because weights below it are trained.
        """
        if not is_trained and not hands_on:
            return self.forward
        with_weights = self.with_weights * (1 + is_trained + hands_on)
        with_state = self.with_state * (2 + is_trained)
        return 2 * (with_weights + with_state + 3 * self.without_weights) + 2 * self.cheap


@dataclass(frozen=True, kw_only=True)
class Operations:
    """Of one sample through a whole model."""

    forward: float
    training: float
    """Forward and back."""
    coverage: float
    """Share of the weights that lie in layers with a formula."""
    missing: tuple[str, ...]
    """Kinds of layers with weights and without a formula."""


def of_layers(layers: Sequence[Layer]) -> Operations:
    """Return the operations of one sample, in the order in which the layers are told."""
    forward = training = 0.0
    known = everything = 0
    missing = []
    is_below_trained = False
    for layer in layers:
        weights = sum(math.prod(shape) for shape in layer.weights)
        everything += weights
        is_trained = bool(weights) and layer.options.get("frozen") != "yes"
        work = work_of(layer)
        if work is None:
            if weights:
                missing.append(layer.kind)
        else:
            known += weights
            forward += work.forward
            training += work.training(is_trained=is_trained, hands_on=is_below_trained)
        is_below_trained = is_below_trained or is_trained
    return Operations(
        forward=forward,
        training=training,
        coverage=known / everything if everything else 0.0,
        missing=tuple(dict.fromkeys(missing)),
    )


def work_of(layer: Layer) -> Work | None:
    """Return one layer's work, or None where there is no formula or not every size is known."""
    kind, inner = _split(layer.kind)
    formula = FORMULAS.get(inner or kind)
    if formula is None or kind not in {"Bidirectional", "TimeDistributed", inner or kind}:
        return None
    try:
        calls = int(layer.options.get("calls", "1"))
        work = formula(layer, kind) * calls
        return work if _is_possible(work) else None
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
        # A size that Keras does not know, or shapes that are not this kind's.
        return None


def _is_possible(work: Work) -> bool:
    parts = (work.with_weights, work.with_state, work.without_weights, work.cheap)
    return all(0 <= each < MOST for each in parts)


def _split(kind: str) -> tuple[str, str]:
    """Return the wrapper and the wrapped: ("Bidirectional", "LSTM"), or ("Dense", "")."""
    outer, bracket, inner = kind.partition("(")
    return (outer, inner[:-1]) if bracket else (kind, "")


def _size(shape: Sequence[int | None]) -> int:
    if not shape:
        raise ValueError("no shape is told")
    # None raises the TypeError that stands for an unknown size.
    return math.prod(shape)  # type: ignore[arg-type]


def _bias(layer: Layer, kernels: int) -> int:
    """Return additions of biases: one for each output where there are more weights than kernels."""
    return _size(layer.output) if len(layer.weights) > kernels else 0


def _dense(layer: Layer, _: str) -> Work:
    inputs, _outputs = layer.weights[0]
    return Work(with_weights=_size(layer.output) * inputs, cheap=_bias(layer, 1))


def _convolution(layer: Layer, _: str) -> Work:
    """Each output sums over a window of the input's channels of its group: (*window, in, out)."""
    return Work(
        with_weights=_size(layer.output) * math.prod(layer.weights[0][:-1]), cheap=_bias(layer, 1)
    )


def _transposed(layer: Layer, _: str) -> Work:
    """Each input is spread over a window of outputs: (*window, out, in)."""
    return Work(
        with_weights=_size(layer.input) * math.prod(layer.weights[0][:-1]), cheap=_bias(layer, 1)
    )


def _depthwise(layer: Layer, _: str) -> Work:
    """Each output sums over a window of one channel: (*window, in, multiplier)."""
    return Work(
        with_weights=_size(layer.output) * math.prod(layer.weights[0][:-2]), cheap=_bias(layer, 1)
    )


def _separable(layer: Layer, _: str) -> Work:
    """Depthwise (*window, in, multiplier), then a product with (1, in x multiplier, out)."""
    depthwise, pointwise = layer.weights[:2]
    outputs = _size(layer.output)
    places = outputs // pointwise[-1]
    return Work(
        with_weights=places * math.prod(depthwise),
        # What the second product takes in was computed with weights: it needs a gradient.
        with_state=outputs * pointwise[-2],
        cheap=_bias(layer, 2),
    )


def _recurrent(layer: Layer, wrapper: str) -> Work:
    """Steps times: input times (in, gates x units), state times (units, gates x units)."""
    kind = _split(layer.kind)[1] or layer.kind
    ways = 2 if wrapper == "Bidirectional" else 1
    kernel, recurrent, *bias = layer.weights[: len(layer.weights) // ways]
    units = recurrent[0]
    if recurrent[1] != GATES[kind] * units:
        raise ValueError("these are not the weights of such a layer")
    times = ways * _size(layer.input[:1])
    operations = units * GATE_OPERATIONS[kind] + sum(math.prod(shape) for shape in bias)
    return Work(
        with_weights=times * math.prod(kernel),
        with_state=times * math.prod(recurrent),
        cheap=times * operations,
    )


def _attention(layer: Layer, _: str) -> Work:
    """Products with query's, key's, value's and output's kernels; scores, and sums by them."""
    query, key, value, output = [shape for shape in layer.weights if len(shape) > len("hd")][
        :ATTENTION_KERNELS
    ]
    asking, looked_at = _size(layer.input[:1]), int(layer.options["value_length"])
    heads, key_size, value_size = query[1], query[2], value[2]
    biases = [shape for shape in layer.weights if len(shape) <= len("hd")]
    lengths = (asking, looked_at, looked_at, asking)
    return Work(
        with_weights=asking * math.prod(query) + looked_at * (math.prod(key) + math.prod(value)),
        with_state=asking * math.prod(output),
        without_weights=heads * asking * looked_at * (key_size + value_size),
        cheap=sum(
            length * math.prod(shape) for length, shape in zip(lengths, biases, strict=False)
        ),
    )


def _embedding(layer: Layer, _: str) -> Work:  # noqa: ARG001 - a look-up computes nothing
    return Work()


def _pooling(layer: Layer, _: str) -> Work:
    return Work(cheap=_size(layer.output) * int(layer.options["pool"]))


def _whole(layer: Layer, _: str) -> Work:
    return Work(cheap=_size(layer.input))


def _normalisation(layer: Layer, _: str) -> Work:
    return Work(cheap=2 * _size(layer.output))


FORMULAS: dict[str, Callable[[Layer, str], Work]] = {
    "Dense": _dense,
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D"), _convolution),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), _transposed),
    **dict.fromkeys(("DepthwiseConv1D", "DepthwiseConv2D"), _depthwise),
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), _separable),
    **dict.fromkeys(GATES, _recurrent),
    "MultiHeadAttention": _attention,
    "Embedding": _embedding,
    **{f"{kind}Pooling{size}D": _pooling for kind in ("Max", "Average") for size in (1, 2, 3)},
    **{f"Global{kind}Pooling{size}D": _whole for kind in ("Max", "Average") for size in (1, 2, 3)},
    **dict.fromkeys(("BatchNormalization", "LayerNormalization"), _normalisation),
}
