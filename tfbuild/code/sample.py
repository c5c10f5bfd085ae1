"""Estimates a library's counts from a random sample of its functions.

Code is cut into units: a function, or of a longer one a stretch of about `UNIT` bytes. The sample
is systematic: from a random place on, every so many bytes one place is looked at, and the unit
around it is decoded whole. So a unit's chance is proportional to its size, and the mean of counts
per byte, times all bytes, is an unbiased estimate (Hansen and Hurwitz, Annals of Mathematical
Statistics 14, 1943, 333-362). Neighbours are alike, so the spread that independent draws would have
is a cautious one for this sample.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfbuild.code import decode, forms, intervals
from tfbuild.code.components import Place
from tfbuild.code.evidence import Count, Generator, Need, Tally
from tfbuild.code.extensions import FORMS
from tfbuild.code.forms import Numbers
from tfbuild.code.functions import Pieces
from tfbuild.code.ledger import Batch, Library, Needs, Owners, generators, lacking

UNIT = 1 << 10
SEED = 1
MOST, FEWEST, PER_UNIT = 5_000, 250, 12 << 10
"""Units: the most, the fewest, and for how many bytes of code one is taken."""
# Instructions per byte: so many times the densest unit that was seen may another one have that was
# not, at least and at most so many. Found by sampling whole libraries of TensorFlow and jaxlib 300
# times: with these, intervals held the truth of each extension in 97 % of samples or more;
# with the densest unit seen alone, of popcnt, bmi2 and avx512dq in 84 to 91 %.
_DENSER, _DENSE, _DENSEST = 3, 0.01, 0.25
# Decoding falls into step with the instructions within a few of them.
_RUN_UP = 64
_BATCH = 1 << 11

Floats = NDArray[np.float64]


class Units(NamedTuple):
    """Chosen stretches of code."""

    piece: Numbers
    first: Numbers
    """Bytes from the piece's start."""
    stop: Numbers
    total: int
    """Bytes of all code that they were chosen from."""

    @property
    def size(self) -> Numbers:
        """Bytes of each."""
        return self.stop - self.first


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What a sample of a library shows."""

    total: Tally
    parts: dict[Place, Tally]
    needs: tuple[Need, ...]
    generators: tuple[Generator, ...]
    undecodable: int


def number_of_units(pieces: Pieces) -> int | None:
    """Return how many units a library's sample has; None where it is better counted whole."""
    size = int(pieces.size[~pieces.is_data].sum())
    number = max(FEWEST, min(MOST, size // PER_UNIT))
    return number if size > number * UNIT else None


def choose(pieces: Pieces, number: int, seed: int = SEED) -> Units:
    """Choose units of code; every byte of code has the same chance to be within one.

    Args:
        pieces: of more than `number` times `UNIT` bytes of code.
        number: how many.
        seed: decides where the first one is.
    """
    code = np.flatnonzero(~pieces.is_data)
    size = pieces.size[code]
    ends = np.cumsum(size)
    step = int(ends[-1]) / number
    places = ((np.arange(number) + np.random.default_rng(seed).random()) * step).astype(np.int64)
    row = np.searchsorted(ends, places, "right")
    inside = places - (ends[row] - size[row])
    many = -(-size[row] // UNIT)
    rank = inside * many // size[row]
    first, stop = (-(-each * size[row] // many) for each in (rank, rank + 1))
    return Units(code[row], first, stop, int(ends[-1]))


def estimate(library: Library, number: int, seed: int = SEED) -> Sampled:
    """Estimate a library's counts from a sample of so many units."""
    units = choose(library.pieces, number, seed)
    owners, needs = Owners(library), Needs(library)
    counts: list[Floats] = []
    places: list[Numbers] = []
    bad = 0
    for batch in _batches(library, owners, units):
        forms.met(batch.codes)
        counts.append(_by_unit(batch))
        places.append(batch.places)
        bad += int(batch.bad.sum())
        needs.add(batch, lacking(library, batch, owners.promised()[batch.places]))
    table, where = np.concatenate(counts), np.concatenate(places)
    return Sampled(
        total=_total(library, units, table),
        parts=dict(zip(owners.places, _parts(library, units, table, where), strict=True)),
        needs=needs.result(),
        generators=generators(owners.generators),
        undecodable=bad,
    )


def estimated(values: Floats, size: int) -> Count:
    """Return the estimate of a total.

    Args:
        values: the count per byte in each unit.
        size: bytes of all code.
    """
    number = len(values)
    largest = float(values.max())
    if not largest:
        return Count(value=0, low=0, high=_unseen(number, size))
    mean = float(values.mean())
    variance = float(values.var(ddof=1)) / number
    densest = min(max(_DENSER * largest, _DENSE), _DENSEST)
    low, high = intervals.interval(mean, variance, densest / number)
    return Count(value=round(mean * size), low=int(low * size), high=math.ceil(high * size))


def _unseen(number: int, size: int) -> int:
    """Return how much there may be of what none of so many units has."""
    return math.ceil(intervals.interval(0, 0, _DENSEST / number)[1] * size)


def _batches(library: Library, owners: Owners, units: Units) -> Iterator[Batch]:
    bounds = [*range(0, len(units.piece), _BATCH), len(units.piece)]
    for start, end in pairwise(bounds):
        rows: list[tuple[int, int, int, int]] = []
        codes: list[int] = []
        chosen = (each[start:end].tolist() for each in (units.piece, units.first, units.stop))
        for piece, first, stop in zip(*chosen, strict=True):
            found = _decoded(library, piece, first, stop)
            rows.append((piece, owners.of(piece), len(found.codes), found.bad))
            codes += found.codes
        yield Batch.of(rows, codes)


def _decoded(library: Library, piece: int, first: int, stop: int) -> decode.Swept:
    pieces = library.pieces
    offset, size, code = (int(of[piece]) for of in (pieces.offset, pieces.size, pieces.code))
    before = min(first, _RUN_UP)
    start = first - before
    data = library.source.read(offset + start, stop - start)
    if code < stop:
        data = decode.unpadded(data, max(code - start, 0))
    return decode.stretch(library.bits, data, before, is_end=stop == size)


def _by_unit(batch: Batch) -> Floats:
    """Return the columns' sums of each unit: shape (units, columns)."""
    unit = np.repeat(np.arange(len(batch.lengths)), batch.lengths)
    key = unit * FORMS + batch.codes
    pairs, number = np.unique(key, return_counts=True)
    rows = forms.columns((pairs % FORMS).astype(np.uint16)) * number[:, None]
    sums = np.zeros((len(batch.lengths), forms.COLUMNS))
    owner, first = np.unique(pairs // FORMS, return_index=True)
    if len(owner):
        sums[owner] = np.add.reduceat(rows, first)
    return sums


def _total(library: Library, units: Units, table: Floats) -> Tally:
    values = table / units.size[:, None]
    return forms.tally(
        lambda column: estimated(values[:, column], units.total),
        functions=int((~library.pieces.is_data).sum()),
        size=units.total,
        decoded=int(units.size.sum()),
    )


def _parts(library: Library, units: Units, table: Floats, where: Numbers) -> Iterator[Tally]:
    """Yield one tally for each place; their bytes and functions add up to those of all code."""
    number = int(where.max()) + 1
    values = table / units.size[:, None]
    whole = library.pieces.size[units.piece]
    size = _shares(np.bincount(where, minlength=number), units.total)
    functions = _shares(
        np.bincount(where, 1 / whole, minlength=number), int((~library.pieces.is_data).sum())
    )
    for place in range(number):
        mine = values * (where == place)[:, None]

        def count(column: int, mine: Floats = mine) -> Count:
            found = mine[:, column]
            return estimated(found, units.total) if found.any() else Count.exactly(0)

        yield forms.tally(
            count,
            functions=int(functions[place]),
            size=int(size[place]),
            decoded=int(units.size[where == place].sum()),
        )


def _shares(weights: NDArray[np.floating] | Numbers, total: int) -> Numbers:
    """Divide a whole number in proportion to weights, without a rest."""
    bounds = np.rint(np.cumsum(weights) / weights.sum() * total).astype(np.int64)
    shares: Numbers = np.diff(bounds, prepend=0)
    return shares
