"""Quantised ops and casts, against whole numbers worked out by numpy.

Code for AVX-512 once returned the right 8-bit numbers in a wrong order (tensorflow issue 49944, and
xla issue 17800, which shows the order): vectors of 64 were put together lane by lane. So the
numbers of a case are all different within any 256 neighbours, and the lengths are those at which
vectors of 16, 32 and 64 are full, one short and one over.

Scales are powers of two and inputs lie a quarter of a quantum beside a level, so no result depends
on how a float is rounded, and each must be met exactly, whatever kernel does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterator

import numpy as np
import tensorflow as tf

from suite.levels import SCALE, beside, ends, levels

LENGTHS = (1, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 256, 1000)
TYPES = {
    "qint8": (tf.qint8, np.int8),
    "quint8": (tf.quint8, np.uint8),
    "qint16": (tf.qint16, np.int16),
    "quint16": (tf.quint16, np.uint16),
}


@dataclass(frozen=True)
class Case:
    """One op at one type; `pairs` yields (found, expected), arrays of one shape."""

    name: str
    pairs: Callable[[], Iterator[Any]]

    def run(self) -> dict[str, Any]:
        """Return how many values were looked at and what was wrong."""
        seen, wrong, first, shuffled = 0, 0, None, True
        for pair in self.pairs():
            found, expected = (np.ravel(one) for one in pair)
            if found.shape != expected.shape:
                return {"values": seen, "wrong": seen, "first": "another shape", "shuffled": False}
            seen += expected.size
            places = np.flatnonzero(found != expected)
            if not places.size:
                continue
            wrong += places.size
            shuffled = shuffled and bool(np.array_equal(np.sort(found), np.sort(expected)))
            place = int(places[0])
            what = f"{found[place]}, not {expected[place]}"
            first = first or f"value {place} of {expected.size} is {what}"
        return {
            "values": seen,
            "wrong": int(wrong),
            "first": first,
            "shuffled": bool(wrong) and shuffled,
        }


def _plain(tensor: Any) -> np.ndarray:
    """Return the whole numbers of a quantised tensor, int64."""
    plain = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16}
    kind = tensor.dtype
    return tf.bitcast(tensor, plain.get(kind, tf.int32)).numpy().astype(np.int64)


def _quantised(numbers: np.ndarray, name: str) -> Any:
    dtype, kind = TYPES[name]
    return tf.bitcast(tf.constant(numbers.astype(kind)), dtype)


def _quantise(name: str, mode: str) -> Iterator[Any]:
    dtype, kind = TYPES[name]
    low, high = ends(kind, SCALE, mode)
    for length in LENGTHS:
        expected = levels(length, kind)
        real = beside(expected, kind)
        found = tf.quantization.quantize(real, low, high, dtype, mode=mode)[0]
        yield _plain(found), expected
        if mode == "SCALED":
            even = tf.quantization.quantize(
                real, low, high, dtype, mode=mode, round_mode="HALF_TO_EVEN"
            )[0]
            yield _plain(even), expected


def _quantise_axis(name: str, mode: str) -> Iterator[Any]:
    """Quantise with another range for each slice: what failed in TensorFlow's own test."""
    dtype, kind = TYPES[name]
    scales = np.array([2.0**-1, 2.0**-3, 2.0**-5])
    low, high = ends(kind, scales, mode)
    for axis, shape in ((0, (3, 200)), (1, (2, 3, 129)), (2, (5, 33, 3)), (1, (64, 3))):
        spread = scales.reshape([3 if at == axis else 1 for at in range(len(shape))])
        expected = levels(int(np.prod(shape)), kind).reshape(shape)
        real = beside(expected, kind, spread)
        found = tf.quantization.quantize(real, low, high, dtype, mode=mode, axis=axis)[0]
        yield _plain(found), expected


def _dequantise(name: str, mode: str) -> Iterator[Any]:
    _, kind = TYPES[name]
    low, high = ends(kind, SCALE, mode)
    for length in LENGTHS:
        numbers = levels(length, kind)
        found = tf.quantization.dequantize(_quantised(numbers, name), low, high, mode=mode)
        yield found.numpy(), (numbers * SCALE).astype(np.float32)


def _there_and_back() -> Iterator[Any]:
    low, high = ends(np.int8)
    for length in LENGTHS:
        numbers = levels(length, np.int8)
        real, expected = beside(numbers, np.int8), (numbers * SCALE).astype(np.float32)
        for mode in ("HALF_TO_EVEN", "HALF_UP"):
            found = tf.quantization.quantize_and_dequantize_v2(
                real, low, high, num_bits=8, range_given=True, round_mode=mode
            )
            yield found.numpy(), expected
        yield tf.quantization.fake_quant_with_min_max_vars(real, low, high).numpy(), expected


def _cast(source: Any, kind: Any) -> Iterator[Any]:
    limits, inside = np.iinfo(kind), np.float32 if source == tf.float32 else np.int64
    for length in LENGTHS:
        numbers = levels(length, kind)
        given = numbers.astype(inside)
        if source == tf.float32:
            # Towards zero, so half a unit further out changes nothing; the ends are left alone.
            given += np.float32(0.5) * np.sign(given) * (np.abs(given) < limits.max - 1)
        found = tf.cast(tf.constant(given, dtype=source), kind)
        yield found.numpy().astype(np.int64), numbers
        far = tf.constant(given * 3, dtype=source)
        yield (
            tf.saturate_cast(far, kind).numpy().astype(np.int64),
            np.clip(np.trunc(given * 3), limits.min, limits.max).astype(np.int64),
        )


def _multiply(shape: tuple[int, int, int]) -> Iterator[Any]:
    rows, inner, columns = shape
    for zero_a, zero_b in ((0, 0), (128, 100), (255, 3)):
        a = levels(rows * inner, np.uint8).reshape(rows, inner)
        b = levels(inner * columns, np.uint8)[::-1].reshape(inner, columns)
        found = tf.raw_ops.QuantizedMatMul(
            a=_quantised(a, "quint8"),
            b=_quantised(b, "quint8"),
            **_ends("a", zero_a),
            **_ends("b", zero_b),
        ).out
        yield _plain(found), (a - zero_a) @ (b - zero_b)


def _ends(name: str, zero: int, end: str = "{}_{}") -> dict[str, Any]:
    """Return the range in which the whole number `zero` stands for 0.0, as an op's arguments."""
    low, high = np.float32(-zero * SCALE), np.float32((255 - zero) * SCALE)
    return {end.format("min", name): low, end.format("max", name): high}


def _matrices() -> Iterator[Any]:
    for shape in ((1, 64, 64), (7, 33, 65), (16, 128, 16), (65, 100, 31)):
        yield from _multiply(shape)


def _convolve() -> Iterator[Any]:
    for channels, filters in ((3, 16), (16, 33), (64, 8)):
        x = levels(2 * 9 * 9 * channels, np.uint8).reshape(2, 9, 9, channels)
        w = levels(9 * channels * filters, np.uint8)[::-1].reshape(3, 3, channels, filters)
        found = tf.raw_ops.QuantizedConv2D(
            input=_quantised(x, "quint8"),
            filter=_quantised(w, "quint8"),
            **_ends("input", 120),
            **_ends("filter", 128),
            strides=[1, 1, 1, 1],
            padding="VALID",
        ).output
        expected = np.zeros((2, 7, 7, filters), dtype=np.int64)
        for row in range(3):
            for column in range(3):
                part = x[:, row : row + 7, column : column + 7] - 120
                expected += part @ (w[row, column] - 128)
        yield _plain(found), expected


def _products() -> Iterator[Any]:
    for length in LENGTHS:
        a, b = levels(length, np.uint8), levels(length, np.uint8)[::-1]
        found = tf.raw_ops.QuantizedMul(
            x=_quantised(a, "quint8"),
            y=_quantised(b, "quint8"),
            **_ends("x", 100),
            **_ends("y", 7),
        ).z
        yield _plain(found), (a - 100) * (b - 7)


def _rectify() -> Iterator[Any]:
    for length in LENGTHS:
        numbers = levels(length, np.uint8)
        found = tf.raw_ops.QuantizedRelu(
            features=_quantised(numbers, "quint8"), **_ends("features", 100)
        ).activations
        yield _plain(found), np.maximum(numbers, 100)


def _pool() -> Iterator[Any]:
    for channels in (16, 33, 64):
        x = levels(2 * 8 * 8 * channels, np.uint8).reshape(2, 8, 8, channels)
        found = tf.raw_ops.QuantizedMaxPool(
            input=_quantised(x, "quint8"),
            **_ends("input", 0),
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="VALID",
        ).output
        yield _plain(found), x.reshape(2, 4, 2, 4, 2, channels).max(axis=(2, 4))


def _extremes() -> Iterator[Any]:
    """Find the least and the greatest of 32-bit quantised numbers, which are reduced in vectors."""
    limit = np.float32(2.0**31 * SCALE)
    for length in LENGTHS:
        # Even, and of few binary digits, so that a float holds each of them.
        numbers = (levels(length, np.int16) + 3) * 4096
        found = tf.raw_ops.RequantizationRange(
            input=tf.bitcast(tf.constant(numbers.astype(np.int32)), tf.qint32),
            input_min=-limit,
            input_max=limit,
        )
        scale = np.float32(2 * limit / np.float32(2.0**32))
        expected = np.array([numbers.min(), numbers.max()], dtype=np.float32) * scale
        got = np.array([found.output_min.numpy(), found.output_max.numpy()])
        # The op works with 2**32 - 1 steps: a relative error of 2**-32, below a float's digits
        # but for one rounding.
        close = np.abs(got - expected) <= np.spacing(np.abs(expected)) * 2
        yield np.where(close, expected, got), expected


def _shrink() -> Iterator[Any]:
    """Requantise 32 bits to 8: the middle of each level must come out as that level."""
    limit = np.float32(2.0**31 * 2.0**-20)
    for length in LENGTHS:
        levels_ = levels(length, np.uint8)
        numbers = (levels_ - 128) * 2**20
        found = tf.raw_ops.Requantize(
            input=tf.bitcast(tf.constant(numbers.astype(np.int32)), tf.qint32),
            input_min=-limit,
            input_max=limit,
            requested_output_min=np.float32(-128),
            requested_output_max=np.float32(127),
            out_type=tf.quint8,
        ).output
        yield _plain(found), levels_


def _cases() -> Iterator[Case]:
    for name in TYPES:
        for mode in ("SCALED", "MIN_COMBINED", "MIN_FIRST"):
            yield Case(f"quantize {name} {mode}", lambda n=name, m=mode: _quantise(n, m))
            if mode != "MIN_FIRST":
                yield Case(
                    f"quantize by axis {name} {mode}", lambda n=name, m=mode: _quantise_axis(n, m)
                )
            yield Case(f"dequantize {name} {mode}", lambda n=name, m=mode: _dequantise(n, m))
    yield Case("quantize_and_dequantize, fake_quant", _there_and_back)
    for source in (tf.float32, tf.int32):
        for kind in (np.int8, np.uint8, np.int16):
            name = f"cast {source.name} {np.dtype(kind).name}"
            yield Case(name, lambda s=source, k=kind: _cast(s, k))
    yield Case("QuantizedMatMul", _matrices)
    yield Case("QuantizedConv2D", _convolve)
    yield Case("QuantizedMul", _products)
    yield Case("QuantizedRelu", _rectify)
    yield Case("QuantizedMaxPool", _pool)
    yield Case("RequantizationRange", _extremes)
    yield Case("Requantize", _shrink)


CASES = tuple(_cases())
