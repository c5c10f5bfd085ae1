"""Sums up decoded functions: by component and guard, and what always-run code needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfbuild.code import components, decode, forms, functions, names
from tfbuild.code.components import Place
from tfbuild.code.evidence import Generator, Need, Witness
from tfbuild.code.extensions import FORMS, ORDER
from tfbuild.code.forms import NEEDS, Numbers
from tfbuild.code.functions import Pieces
from tfbuild.code.source import Source

WITNESSES = 5
_SYMBOL = 400


@dataclass(frozen=True, eq=False)
class Library:
    """One library, ready to be decoded."""

    name: str
    """For people: its path in the wheel."""
    source: Source
    bits: int
    pieces: Pieces
    _origins: dict[int, str] = field(default_factory=dict, init=False)

    def symbol(self, piece: int) -> str:
        """Return the symbol that a piece belongs to."""
        return functions.name_at(self.source, int(self.pieces.name[piece]))

    def place(self, piece: int) -> tuple[Place, str]:
        """Return whose a piece is, and its symbol."""
        symbol = self.symbol(piece)
        if whole := components.of_library(self.name.rpartition("/")[2]):
            return whole, symbol
        return components.place(symbol, self._origin(int(self.pieces.source[piece]))), symbol

    def _origin(self, offset: int) -> str:
        # Thousands of symbols share one.
        if offset not in self._origins:
            self._origins[offset] = functions.name_at(self.source, offset)
        return self._origins[offset]


class Batch(NamedTuple):
    """Decoded stretches of code, each of one piece."""

    pieces: Numbers
    places: Numbers
    """Whose each piece is: numbers that `Owners` gave."""
    lengths: Numbers
    """How many codes each has."""
    bad: Numbers
    """Bytes of each that begin no instruction."""
    codes: NDArray[np.uint16]
    """Of all of them, one after the other."""

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]], codes: Sequence[int]) -> "Batch":
        """Return a batch from rows of (piece, place, length, bad)."""
        table = np.array(rows, np.int64).reshape(-1, 4)
        piece, place, length, bad = table.T
        return cls(piece, place, length, bad, np.array(codes, np.uint16))


@dataclass
class Group:
    """Code of one component behind one guard."""

    functions: int = 0
    bytes: int = 0
    decoded: int = 0
    counts: Numbers = field(default_factory=lambda: np.zeros(FORMS, np.int64))

    def add(self, other: "Group") -> None:
        """Add more of the same code."""
        self.functions += other.functions
        self.bytes += other.bytes
        self.decoded += other.decoded
        self.counts = self.counts + other.counts

    def to_builtins(self) -> list[Any]:
        """Return it as plain JSON types."""
        used = np.flatnonzero(self.counts)
        pairs = np.stack([used, self.counts[used]], axis=1).tolist()
        return [self.functions, self.bytes, self.decoded, pairs]

    @classmethod
    def from_builtins(cls, said: Sequence[Any]) -> "Group":
        """Read it back."""
        functions_, size, decoded, pairs = said
        group = cls(functions_, size, decoded)
        for code, number in pairs:
            group.counts[code] = number
        return group


@dataclass
class Seen:
    """Functions that need one extension."""

    functions: int = 0
    first: list[tuple[int, int]] = field(default_factory=list)
    """(address, piece) of the lowest."""

    def add(self, found: list[tuple[int, int]]) -> None:
        """Add functions, each given by its address and piece."""
        self.functions += len(found)
        self.first = sorted({*self.first, *found})[:WITNESSES]


class Owners:
    """Remembers whose each piece is, and which generators of code were met."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._last = (-2, 0)
        self.places: list[Place] = []
        self.generators: dict[str, set[str]] = {}
        self._numbers: dict[Place, int] = {}
        self._promises: list[int] = []

    def of(self, piece: int) -> int:
        """Return the number of the place that a piece belongs to."""
        name = int(self._library.pieces.name[piece])
        if name == self._last[0]:
            return self._last[1]
        place, symbol = self._library.place(piece)
        if found := components.generator(symbol):
            self.generators.setdefault(found[0], set()).add(found[1])
        number = self._numbers.setdefault(place, len(self.places))
        if number == len(self.places):
            self.places.append(place)
            self._promises.append(forms.mask_of(components.promises(place.guard)))
        self._last = (name, number)
        return number

    def promised(self) -> forms.Masks:
        """Return for each place the extensions that its guard has assured."""
        return np.array(self._promises, np.uint64)


class Needs:
    """What code needs that no guard has assured."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._seen = {name: Seen() for name in NEEDS}

    def add(self, batch: Batch, lacking: forms.Masks) -> None:
        """Add a batch; `lacking` is what each stretch needs beyond what is assured."""
        present = int(np.bitwise_or.reduce(lacking, initial=0))
        for name in forms.names_of(present):
            rows = np.flatnonzero(lacking & np.uint64(forms.mask_of([name])))
            found = np.unique(batch.pieces[rows])
            addresses = self._library.pieces.address[found]
            self._seen[name].add(list(zip(addresses.tolist(), found.tolist(), strict=True)))

    def result(self) -> tuple[Need, ...]:
        """Return the needs, older extensions first."""
        made = (self._need(name, seen) for name, seen in self._seen.items() if seen.functions)
        return tuple(need for need in made if need.first)

    def _need(self, name: str, seen: Seen) -> Need:
        witnesses = (self._witness(name, piece) for _, piece in seen.first)
        first = tuple(witness for witness in witnesses if witness.instruction)
        return Need(extension=name, functions=seen.functions, first=first)

    def _witness(self, extension: str, piece: int) -> Witness:
        library, pieces = self._library, self._library.pieces
        place, symbol = library.place(piece)
        where = (int(pieces.offset[piece]), int(pieces.address[piece]), int(pieces.size[piece]))
        return Witness(
            function=names.readable(symbol),
            symbol=symbol[:_SYMBOL],
            address=where[1],
            library=library.name,
            component=place.component,
            instruction=decode.text_of(library.source, library.bits, where, extension),
            guard=place.guard,
        )


def lacking(library: Library, batch: Batch, promised: forms.Masks) -> forms.Masks:
    """Return what each stretch needs beyond what its guard assures.

    Data decode as anything. So a function with bytes that begin no instruction, or with an
    instruction that only a kernel may execute, is no evidence of a need; it still counts.
    """
    starts = np.cumsum(batch.lengths) - batch.lengths
    some = batch.lengths > 0
    found = np.zeros(len(some), np.uint64)
    odd = batch.bad > 0
    if some.any():
        found[some] = np.bitwise_or.reduceat(forms.masks(batch.codes), starts[some])
        odd[some] |= np.logical_or.reduceat(forms.odd(batch.codes), starts[some])
    names_ = library.pieces.name[batch.pieces]
    odd |= np.isin(names_, names_[odd & (names_ >= 0)])
    needed: forms.Masks = np.where(odd, np.uint64(0), found & ~promised)
    return needed


def generators(found: Mapping[str, set[str]]) -> tuple[Generator, ...]:
    """Return the generators of code that names tell of."""
    return tuple(
        Generator(
            component=component, extensions=tuple(name for name in ORDER if name in extensions)
        )
        for component, extensions in sorted(found.items())
    )
