"""Cuts a library's code into pieces that begin where a symbol says so.

A decoder that starts anew at each symbol does not run astray over data for long, and a piece has a
name. TensorFlow 2.21 has 800,000 symbols, so tables are read as arrays, and a name is read only
when somebody asks for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tfbuild.code import frames, headers
from tfbuild.code.headers import Headers
from tfbuild.code.source import Source

Numbers = NDArray[np.int64]
Symbols = Literal["full", "exported", "none"]

_NOTYPE, _OBJECT, _FUNC, _FILE, _IFUNC = 0, 1, 2, 4, 10
_ABSOLUTE, _COMMON = 0xFFF1, 0xFFF2
_ROWS = 1 << 17
# TensorFlow 2.21 has 1.2 million; each takes some 100 bytes while they are sorted.
_MAX_SYMBOLS = 4_000_000
_FUNCTION = 1 << 62
_MAX_SIZE = (1 << 48) - 1
_LONG_NAME, _MAX_NAME = 1 << 9, 1 << 16


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of a library's code by address, all arrays of the same length."""

    offset: Numbers
    """In the file."""
    address: Numbers
    size: Numbers
    code: Numbers
    """Bytes that the symbol claims for itself; what follows until the next one is padding."""
    is_data: NDArray[np.bool_]
    """A symbol says that these bytes are data among the code, such as a table of constants."""
    name: Numbers
    """Where in the file the symbol's name lies, -1 without one."""
    source: Numbers
    """Where in the file the name of its source lies (local symbols only), -1 without one."""
    symbols: Symbols
    """Which names there are."""

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, eq=False)
class _Found:
    """Symbols that lie in code."""

    value: Numbers
    size: Numbers
    score: Numbers
    """What decides between symbols of one address: functions first, then the larger."""
    name: Numbers
    source: Numbers
    is_data: NDArray[np.bool_]

    def where(self, rows: NDArray[np.bool_] | Numbers) -> "_Found":
        return _Found(
            self.value[rows],
            self.size[rows],
            self.score[rows],
            self.name[rows],
            self.source[rows],
            self.is_data[rows],
        )


def read(library: Source, head: Headers) -> Pieces:
    """Return the pieces of a library's code.

    Stripped libraries are cut where exported functions begin, and where the unwinder's table says
    that functions do.

    Raises:
        WheelError: its tables are damaged.
    """
    ranges = np.array(head.executable(), np.int64).reshape(-1, 3)
    found, symbols = _symbols(library, head, ranges)
    data = found.where(found.is_data)
    code = _first_of_each(found.where(~found.is_data))
    extra = frames.starts(library, head) if symbols != "full" else np.empty(0, np.int64)
    return _cut(ranges, code, data, extra, symbols)


def name_at(library: Source, offset: int) -> str:
    """Return the name that begins at a place in the file; "" for -1."""
    if offset < 0:
        return ""
    text, nul, _ = library.read(offset, _LONG_NAME).partition(b"\0")
    if not nul:
        text = library.read(offset, _MAX_NAME).partition(b"\0")[0]
    return text.decode("utf-8", "replace")


def _symbols(library: Source, head: Headers, ranges: Numbers) -> tuple[_Found, Symbols]:
    found, largest = _joined([]), 0
    symbols: Symbols = "none"
    kinds: tuple[tuple[int, Symbols], ...] = (
        (headers.SYMTAB, "full"),
        (headers.DYNSYM, "exported"),
    )
    for kind, meaning in kinds:
        # A file has one of each kind (gABI, "Section Types"); a hostile one may claim thousands.
        tables = head.sections[head.sections["type"] == kind][:1]
        count = sum(int(size) for size in tables["size"]) // head.layout("symbol").itemsize
        # Exported symbols are in the full table too, unless somebody thinned that out.
        if count <= largest:
            continue
        if count > _MAX_SYMBOLS:
            raise head.damaged(f"It claims {count} symbols.")
        parts = [part for section in tables for part in _table(library, head, ranges, section)]
        found, largest = _joined([found, *parts]), count
        symbols = meaning if len(found.value) else "none"
    return found, symbols


def _names(head: Headers, section: np.void) -> int:
    """Return where the table's names begin."""
    link = int(section["link"])
    if link >= len(head.sections):
        raise head.damaged("A symbol table names no table of strings.")
    return int(min(head.sections["offset"][link], head.size))


def _table(library: Source, head: Headers, ranges: Numbers, section: np.void) -> Iterator[_Found]:
    step = head.layout("symbol").itemsize
    offset, count = int(section["offset"]), int(section["size"]) // step
    names = _names(head, section)
    base = np.array([head.address_of(i) for i in range(len(head.sections))], np.uint64)
    last_file = -1
    for first in range(0, count, _ROWS):
        many = min(_ROWS, count - first)
        rows = headers.rows(library, head, "symbol", offset + first * step, many)
        kind = rows["info"] & 0xF
        files = np.where(kind == _FILE, rows["name"].astype(np.int64) + names, -1)
        place = np.maximum.accumulate(np.where(files >= 0, np.arange(len(rows)), -1))
        source = np.where(place >= 0, files[place], last_file)
        last_file = int(source[-1])
        value = rows["value"].astype(np.uint64)
        if base.any():
            index = np.minimum(rows["shndx"], len(base) - 1)
            value += np.where(rows["shndx"] < len(base), base[index], 0).astype(np.uint64)
        keep = _inside(rows, value, ranges)
        yield _found(rows[keep], value[keep], source[keep], names)


def _inside(rows: headers.Table, value: NDArray[np.uint64], ranges: Numbers) -> NDArray[np.bool_]:
    """Return which rows of a symbol table lie in code."""
    index, kind = rows["shndx"], rows["info"] & 0xF
    keep = (kind == _NOTYPE) | (kind == _FUNC) | (kind == _IFUNC)
    keep |= (kind == _OBJECT) & (rows["size"] > 0)
    keep &= (index != 0) & (index != _ABSOLUTE) & (index != _COMMON) & (value < 1 << 63)
    place = value.astype(np.int64)
    which = np.searchsorted(ranges[:, 0], place, "right") - 1
    if len(ranges):
        keep &= place < ranges[which, 0] + ranges[which, 2]
    inside: NDArray[np.bool_] = keep & (which >= 0)
    return inside


def _found(rows: headers.Table, value: NDArray[np.uint64], source: Numbers, names: int) -> _Found:
    kind = rows["info"] & 0xF
    size = np.minimum(rows["size"].astype(np.uint64), _MAX_SIZE).astype(np.int64)
    return _Found(
        value.astype(np.int64),
        size,
        np.where(kind != _NOTYPE, _FUNCTION, 0) + size,
        rows["name"].astype(np.int64) + names,
        np.where(rows["info"] >> 4 == 0, source, -1),
        kind == _OBJECT,
    )


def _joined(parts: list[_Found]) -> _Found:
    def column(of: str) -> Numbers:
        arrays = [getattr(part, of) for part in parts] or [np.empty(0, np.int64)]
        return np.concatenate(arrays)

    is_data = column("is_data").astype(np.bool_)
    return _Found(
        column("value"), column("size"), column("score"), column("name"), column("source"), is_data
    )


def _first_of_each(code: _Found) -> _Found:
    """Return the best symbol of each address, by address; of equals the table's first."""
    order = np.argsort(code.value)
    value, score = code.value[order], code.score[order]
    first = np.flatnonzero(_changes(value))
    if not len(first):
        return code
    best = np.repeat(np.maximum.reduceat(score, first), np.diff(first, append=len(value)))
    row = np.where(score == best, order, len(value))
    return code.where(np.minimum.reduceat(row, first))


def _changes(values: Numbers) -> NDArray[np.bool_]:
    """Return where sorted values differ from the one before; always at the first."""
    changes: NDArray[np.bool_] = np.diff(values, prepend=values[:1] - 1) != 0
    return changes


def _cut(ranges: Numbers, code: _Found, data: _Found, extra: Numbers, symbols: Symbols) -> Pieces:
    stops = data.value + data.size
    starts = np.sort(np.concatenate([ranges[:, 0], code.value, data.value, stops, extra]))
    starts = starts[_changes(starts)]
    which = np.searchsorted(ranges[:, 0], starts, "right") - 1
    starts, which = starts[which >= 0], which[which >= 0]
    inside = starts < ranges[which, 0] + ranges[which, 2]
    starts, which = starts[inside], which[inside]
    ends = ranges[which, 0] + ranges[which, 2]
    ends[:-1] = np.minimum(ends[:-1], starts[1:])
    owner = _owners(code, starts)
    own = code.size[owner] * (code.value[owner] == starts) if len(code.value) else 0 * starts
    size = ends - starts
    return Pieces(
        offset=starts - ranges[which, 0] + ranges[which, 1],
        address=starts,
        size=size,
        code=np.where(own > 0, np.minimum(own, size), size),
        is_data=_covered(starts, data),
        name=np.where(owner >= 0, code.name[owner], -1) if len(code.value) else starts * 0 - 1,
        source=np.where(owner >= 0, code.source[owner], -1) if len(code.value) else starts * 0 - 1,
        symbols=symbols,
    )


def _owners(code: _Found, starts: Numbers) -> Numbers:
    """Return for each piece the row of the symbol that it belongs to, -1 without one.

    A label within a function is no function: what follows it belongs to the function.
    """
    if not len(code.value):
        return np.full(len(starts), -1, np.int64)
    is_function = code.score >= _FUNCTION
    reach = np.where(is_function, code.value + np.maximum(code.size, 1), -1)
    furthest = np.maximum.accumulate(reach)
    row = np.arange(len(reach))
    around = np.maximum.accumulate(np.where(reach == furthest, row, -1))
    at = np.searchsorted(code.value, starts, "right") - 1
    exact = (at >= 0) & (code.value[at] == starts)
    outer = np.where((at >= 0) & (furthest[at] > starts), around[at], -1)
    return np.where(exact & (is_function[at] | (outer < 0)), at, outer)


def _covered(starts: Numbers, data: _Found) -> NDArray[np.bool_]:
    if not len(data.value):
        return np.zeros(len(starts), np.bool_)
    order = np.argsort(data.value)
    until = np.maximum.accumulate((data.value + data.size)[order])
    at = np.searchsorted(data.value[order], starts, "right") - 1
    covered: NDArray[np.bool_] = (at >= 0) & (until[at] > starts)
    return covered
