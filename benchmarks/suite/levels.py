"""Whole numbers for quantised ops, and the floats that quantise to them."""

from __future__ import annotations

from typing import Any

import numpy as np

SCALE = 2.0**-3
BYTE = 8


def levels(length: int, kind: Any) -> np.ndarray:
    """Return whole numbers over all of a type's range, neighbours far apart, int64 (length,)."""
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    # Odd, so that no number comes again before all have been.
    step = 37 if np.iinfo(kind).bits == BYTE else 9973
    return (11 + step * np.arange(length, dtype=np.int64)) % (high - low + 1) + low


def beside(numbers: np.ndarray, kind: Any, scale: Any = SCALE) -> Any:
    """Return floats that quantise to these numbers; the lowest and highest lie far outside."""
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    # A quarter of a quantum, towards zero: then it does not matter that for signed 8 bits oneDNN's
    # kernel has 127.5 levels (scaled) where TensorFlow's own has 127.
    real = (numbers - 0.25 * np.sign(numbers)) * scale
    real = np.where(numbers == low, (low - 1000.0) * scale, real)
    real = np.where(numbers == high, (high + 1000.0) * scale, real)
    return real.astype(np.float32)


def ends(kind: Any, scale: Any = SCALE, mode: str = "") -> tuple[Any, Any]:
    """Return the floats that stand for the ends; where numbers are scaled, the same both ways."""
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    if mode == "SCALED" and low < 0:
        low = -high
    return np.float32(low * np.asarray(scale)), np.float32(high * np.asarray(scale))
