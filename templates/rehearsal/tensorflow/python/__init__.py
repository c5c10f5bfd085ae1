"""A stand-in for TensorFlow, made by `tfbuild rehearse`: a few kernels and a check of them."""

import math
from array import array

from tensorflow_rehearsal import _pywrap_kernels as kernels
from tensorflow_rehearsal.host_tools import HOST_TOOLS

__all__ = ["HOST_TOOLS", "check", "kernels"]


def check(n=1003):
    """Compare each kernel with plain Python; return the names of those that are wrong.

    n is odd on purpose: vector code has to deal with a remainder.
    """
    x = array("f", [math.sin(i) for i in range(n)])
    y = array("f", [math.cos(i) for i in range(n)])
    xd, yd = array("d", x), array("d", y)
    ints = array("q", [(i * 2654435761) % 10007 - 5000 for i in range(n)])
    more = array("q", [(i * 40503) % 7919 - 4000 for i in range(n)])
    mask = array("q", [-1 if i % 3 else 0xFF for i in range(n)])
    words = array("Q", [i**5 % (1 << 64) for i in range(n)])

    def mapped(function, *args, kind="f", size=n):
        out = array(kind, bytes(size * array(kind).itemsize))
        function(*args, out)
        return list(out)

    side = 19
    a, b = x[: side * side], y[: side * side]
    product = [
        sum(a[r * side + k] * b[k * side + c] for k in range(side))
        for r in range(side)
        for c in range(side)
    ]
    results = {
        "dot": ([kernels.dot(x, y)], [math.fsum(p * q for p, q in zip(x, y))]),
        "dot_double": ([kernels.dot_double(xd, yd)], [math.fsum(p * q for p, q in zip(x, y))]),
        "sum": ([kernels.sum(x)], [math.fsum(x)]),
        "max": ([kernels.max(x)], [max(x)]),
        "saxpy": (mapped(kernels.saxpy, 2.5, x, y), [2.5 * p + q for p, q in zip(x, y)]),
        "daxpy": (
            mapped(kernels.daxpy, 2.5, xd, yd, kind="d"),
            [2.5 * p + q for p, q in zip(xd, yd)],
        ),
        "relu": (mapped(kernels.relu, x), [max(p, 0.0) for p in x]),
        "leaky_relu": (mapped(kernels.leaky_relu, 0.25, x), [p if p > 0 else p / 4 for p in x]),
        "exp": (mapped(kernels.exp, x), [math.exp(p) for p in x]),
        "sqrt": (
            mapped(kernels.sqrt, array("f", [p * p for p in x])),
            [abs(p) for p in x],
        ),
        "scale": (mapped(kernels.scale, -3.0, x), [-3.0 * p for p in x]),
        "matmul": (mapped(kernels.matmul, side, a, b, size=side * side), product),
        "conv3": (
            mapped(kernels.conv3, x, array("f", [0.25, 0.5, -1.0]), size=n - 2),
            [0.25 * x[i] + 0.5 * x[i + 1] - x[i + 2] for i in range(n - 2)],
        ),
        "multiply64": (
            mapped(kernels.multiply64, ints, more, kind="q"),
            [p * q for p, q in zip(ints, more)],
        ),
        "select64": (
            mapped(kernels.select64, mask, ints, more, kind="q"),
            [(m & p) | (~m & q) for m, p, q in zip(mask, ints, more)],
        ),
        "to_double": (mapped(kernels.to_double, words, kind="d"), [float(p) for p in words]),
    }
    return [name for name, (found, right) in results.items() if not _close(found, right)]


def _close(found, right):
    return len(found) == len(right) and all(
        math.isclose(f, r, rel_tol=1e-4, abs_tol=1e-4) for f, r in zip(found, right)
    )
