"""Facts of instruction forms as arrays, so that whole functions are summed at once.

A row is a form (iced's `Code`), a column is something that is counted. Rows are filled when a form
is first met: a library uses some 800 of 4,900.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tfbuild.code import extensions
from tfbuild.code.evidence import Count, Tally
from tfbuild.code.extensions import BASELINE, FORMS, INVALID, ORDER, OTHER

Numbers = NDArray[np.int64]
Masks = NDArray[np.uint64]

NEEDS = tuple(name for name in ORDER if name not in {BASELINE, OTHER})
"""What code can need; the place of each is its bit in a mask."""
WIDTHS = (128, 256, 512)
ENCODINGS = ("sse", "vex", "evex")
_BITS = {name: 1 << place for place, name in enumerate(NEEDS)}
_KEYS = ("instructions", *ORDER, *map(str, WIDTHS), *ENCODINGS, "fused")
_COLUMNS = {name: place for place, name in enumerate(_KEYS)}
COLUMNS = len(_KEYS)

_rows = np.zeros((FORMS, COLUMNS), np.int64)
_masks = np.zeros(FORMS, np.uint64)
_odd = np.zeros(FORMS, np.bool_)
_met = np.zeros(FORMS, np.bool_)


def mask_of(names: Iterable[str]) -> int:
    """Return extensions as a mask; those that are no need are left out."""
    return sum(_BITS.get(name, 0) for name in set(names))


def names_of(mask: int) -> list[str]:
    """Return the extensions of a mask, older first."""
    return [name for name, bit in _BITS.items() if mask & bit]


def met(codes: NDArray[np.uint16]) -> None:
    """Look the forms up that are not known yet."""
    seen = np.zeros(FORMS, np.bool_)
    seen[codes] = True
    for code in np.flatnonzero(seen & ~_met).tolist():
        _met[code] = True
        if code != INVALID:
            _fill(code)


def masks(codes: NDArray[np.uint16]) -> Masks:
    """Return what each instruction needs; `met` came before."""
    return _masks[codes]


def odd(codes: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Return which instructions no program can execute, so that they must be data."""
    return _odd[codes]


def columns(codes: NDArray[np.uint16]) -> Numbers:
    """Return for each instruction what it counts as: one row each, `COLUMNS` columns."""
    return _rows[codes]


def summed(counts: Numbers) -> Numbers:
    """Return the columns' sums from the numbers of all forms."""
    used = np.flatnonzero(counts)
    met(used.astype(np.uint16))
    return counts[used] @ _rows[used]


def tally(count: Callable[[int], Count], *, functions: int, size: int, decoded: int) -> Tally:
    """Return a tally; `count` gives the number of each column."""

    def some(keys: Iterable[str]) -> dict[str, Count]:
        every = {key: count(_COLUMNS[key]) for key in keys}
        return {key: value for key, value in every.items() if value.high}

    widths: Mapping[str, Count] = some(map(str, WIDTHS))
    return Tally(
        functions=functions,
        bytes=size,
        decoded=decoded,
        instructions=count(_COLUMNS["instructions"]),
        extensions=some(ORDER),
        widths={int(key): value for key, value in widths.items()},
        encodings=some(ENCODINGS),
        fused=count(_COLUMNS["fused"]),
    )


def _fill(code: int) -> None:
    form = extensions.form(code)
    names = ["instructions", *form.extensions, *(["fused"] if form.is_fused else [])]
    if form.encoding:
        names += [form.encoding, str(form.width)]
    _rows[code, [_COLUMNS[name] for name in names]] = 1
    _masks[code] = mask_of(form.extensions)
    _odd[code] = extensions.is_odd(code)
