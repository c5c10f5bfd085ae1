"""Decodes all of a library's code, chunk by chunk; several workers may share the chunks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from tfbuild.code import decode, forms
from tfbuild.code.components import Place
from tfbuild.code.evidence import Generator, Need
from tfbuild.code.extensions import FORMS, INVALID
from tfbuild.code.ledger import Batch, Group, Library, Needs, Owners, generators, lacking

CHUNK = 1 << 20
"""Bytes of code that a worker takes at a time."""
_CODES = 1 << 20


@dataclass
class Partial:
    """What some chunks of a library hold."""

    groups: dict[Place, Group] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    generators: tuple[Generator, ...] = ()
    undecodable: int = 0
    data: int = 0

    def to_builtins(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {
            "groups": [[*place, group.to_builtins()] for place, group in self.groups.items()],
            "needs": msgspec.to_builtins(self.needs),
            "generators": msgspec.to_builtins(self.generators),
            "undecodable": self.undecodable,
            "data": self.data,
        }

    @classmethod
    def from_builtins(cls, said: dict[str, Any]) -> "Partial":
        """Read it back."""
        return cls(
            groups={Place(*place): Group.from_builtins(group) for *place, group in said["groups"]},
            needs=msgspec.convert(said["needs"], tuple[Need, ...]),
            generators=msgspec.convert(said["generators"], tuple[Generator, ...]),
            undecodable=said["undecodable"],
            data=said["data"],
        )


def chunks(library: Library) -> list[tuple[int, int]]:
    """Return the chunks of a library: from which piece up to which."""
    ends = np.cumsum(library.pieces.size)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(CHUNK, total + CHUNK, CHUNK))
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts + 1, len(ends))])).tolist()
    return list(pairwise(bounds))


class Counter:
    """Counts the instructions of chunks."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._owners = Owners(library)
        self._needs = Needs(library)
        self._groups: list[Group] = []
        self._partial = Partial()

    def add(self, first: int, stop: int) -> None:
        """Decode the pieces from `first` up to `stop`."""
        for batch in self._batches(first, stop):
            self._count(batch)

    def result(self) -> Partial:
        """Return what was found in all of them."""
        self._partial.groups = dict(zip(self._owners.places, self._groups, strict=True))
        self._partial.needs = self._needs.result()
        self._partial.generators = generators(self._owners.generators)
        return self._partial

    def _batches(self, first: int, stop: int) -> Iterator[Batch]:
        rows: list[tuple[int, int, int, int]] = []
        codes: list[int] = []
        for piece, place, found, bad in self._stretches(first, stop):
            rows.append((piece, place, len(found), bad))
            codes += found
            if len(codes) > _CODES:
                yield Batch.of(rows, codes)
                rows, codes = [], []
        yield Batch.of(rows, codes)

    def _stretches(self, first: int, stop: int) -> Iterator[tuple[int, int, list[int], int]]:
        """Decode pieces; yield each one's number, place, codes, and bytes that are none."""
        library, pieces, partial = self._library, self._library.pieces, self._partial
        rows = zip(
            range(first, stop),
            pieces.offset[first:stop].tolist(),
            pieces.size[first:stop].tolist(),
            pieces.code[first:stop].tolist(),
            pieces.is_data[first:stop].tolist(),
            strict=True,
        )
        window = _Window(library, first, stop)
        for piece, offset, size, code, is_data in rows:
            if is_data:
                partial.data += size
                continue
            place = self._owners.of(piece)
            group = self._group(place)
            group.functions += 1
            group.bytes += size
            if size > decode.BLOCK:
                for found in self._long(offset, size, group):
                    yield piece, place, found.codes, found.bad
                continue
            data = decode.unpadded(window.read(offset, size), code)
            partial.data += size - len(data)
            group.decoded += len(data)
            codes = decode.straight(library.bits, data)
            if INVALID in codes:
                swept = decode.sweep(library.bits, data, 0, len(data))
                yield piece, place, swept.codes, swept.bad
            else:
                yield piece, place, codes, 0

    def _long(self, offset: int, size: int, group: Group) -> Iterator[decode.Swept]:
        for length, found in decode.blocks(self._library.source, self._library.bits, offset, size):
            if found.codes or found.bad:
                group.decoded += length
                yield found
            else:
                self._partial.data += length

    def _group(self, place: int) -> Group:
        if place == len(self._groups):
            self._groups.append(Group())
        return self._groups[place]

    def _count(self, batch: Batch) -> None:
        self._partial.undecodable += int(batch.bad.sum())
        forms.met(batch.codes)
        for place in np.unique(batch.places).tolist():
            rows = np.repeat(batch.places == place, batch.lengths)
            self._groups[place].counts += np.bincount(batch.codes[rows], minlength=FORMS)
        promised = self._owners.promised()[batch.places]
        self._needs.add(batch, lacking(self._library, batch, promised))


class _Window:
    """Reads pieces that lie one after the other with one call."""

    def __init__(self, library: Library, first: int, stop: int) -> None:
        pieces = library.pieces
        self._source = library.source
        self._start = int(pieces.offset[first])
        end = int(pieces.offset[stop - 1] + pieces.size[stop - 1])
        whole = int(pieces.size[first:stop].sum())
        together = end - self._start == whole and whole <= 2 * CHUNK
        self._data = library.source.read(self._start, whole) if together else b""

    def read(self, offset: int, size: int) -> bytes:
        """Return a piece's bytes."""
        if self._data:
            return self._data[offset - self._start : offset - self._start + size]
        return self._source.read(offset, size)


def count(library: Library, which: Iterable[int] | None = None) -> Partial:
    """Decode a library's chunks: all, or those of these numbers."""
    counter = Counter(library)
    bounds = chunks(library)
    for number in range(len(bounds)) if which is None else which:
        counter.add(*bounds[number])
    return counter.result()
