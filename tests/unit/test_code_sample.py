"""Samples of a library's code against its full counts."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.libraries import compiled, need_tools
from tfbuild.code import library as code
from tfbuild.code import sample
from tfbuild.code.evidence import Count, Evidence
from tfbuild.code.functions import Pieces
from tfbuild.code.ledger import Library
from tfbuild.code.source import MemorySource


@pytest.fixture(autouse=True)
def _tools() -> None:
    need_tools()


KINDS = ["float", "double", "int", "short", "long", "unsigned char"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Return a library of 150 functions of many sizes, a few of them with AVX-512."""
    need_tools()
    text = []
    for number in range(150):
        kind = KINDS[number % len(KINDS)]
        wide = '__attribute__((target("avx512f")))' if number % 20 == 7 else ""
        text.append(
            f"{wide} void f{number}({kind} *restrict y, const {kind} *x, int n) {{\n"
            f"for (int i = 0; i < n; i++) y[i] = y[i] * x[i] + {number % 9};\n"
            + "for (int i = 0; i < n; i++) y[i] -= x[i] / 3;\n" * (number % 4)
            + "}"
        )
    built = compiled(tmp_path_factory.mktemp("many"), "-O1", "-mavx", source="\n".join(text))
    return code.opened(MemorySource(built.read_bytes()), "many.so")


def test_every_byte_of_code_has_the_same_chance(library: Library) -> None:
    pieces, seen = library.pieces, Counter[int]()
    number, seeds = 12, 400
    total = int(pieces.size[~pieces.is_data].sum())
    for seed in range(seeds):
        units = sample.choose(pieces, number, seed)
        assert units.total == total
        for piece, first, stop in zip(units.piece, units.first, units.stop, strict=True):
            assert 0 <= first < stop <= pieces.size[piece]
            seen[int(piece)] += int(stop - first)
    # Units are chosen in proportion to their size, and cover it: bytes in proportion to squares.
    sizes = pieces.size.astype(float)
    many = np.ceil(sizes / sample.UNIT)
    expected = sizes * (sizes / many) * number * seeds / total
    found = np.array([seen[piece] for piece in range(len(pieces))])
    large = expected > np.quantile(expected, 0.5)
    assert found[large].sum() == pytest.approx(expected[large].sum(), rel=0.03)
    assert found[~large].sum() == pytest.approx(expected[~large].sum(), rel=0.1)


def test_a_function_is_cut_without_gap_or_overlap(library: Library) -> None:
    # Every place of a piece belongs to one unit: those of all seeds together tile the piece.
    tiles: dict[int, set[tuple[int, int]]] = {}
    for seed in range(300):
        units = sample.choose(library.pieces, 20, seed)
        for piece, first, stop in zip(*(each.tolist() for each in units[:3]), strict=True):
            tiles.setdefault(piece, set()).add((first, stop))
    for piece, found in tiles.items():
        ends = sorted(found)
        assert all(stop <= following for (_, stop), (following, _) in pairwise(ends))
        assert ends[-1][1] <= library.pieces.size[piece]


def counts_of(found: Evidence) -> dict[str, Count]:
    total = found.total
    by_width = {str(width): count for width, count in total.widths.items()}
    return {"instructions": total.instructions, **total.extensions, **by_width}


def test_intervals_hold_the_full_counts(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "UNIT", 64)
    monkeypatch.setattr(sample, "FEWEST", 100)
    whole = counts_of(code.evidence(library, full=True))
    held = Counter[bool]()
    for seed in range(30):
        monkeypatch.setattr(sample, "SEED", seed)
        drawn = sample.estimate(library, 100, seed)
        found = counts_of(evidence_of(drawn))
        assert drawn.total.decoded < drawn.total.bytes
        for name in set(whole) | set(found):
            true = whole.get(name, Count.exactly(0)).value
            estimate = found.get(name, Count.exactly(0))
            if true:
                held[estimate.low <= true <= estimate.high] += 1
    assert held[True] / held.total() >= 0.93


def evidence_of(drawn: sample.Sampled) -> Evidence:
    return Evidence(
        machine="x86_64",
        mode="sample",
        seed=1,
        symbols="full",
        total=drawn.total,
        parts=(),
        needs=(),
        generators=(),
        undecodable=0,
        data=0,
    )


def test_a_sample_that_takes_every_unit_is_the_full_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = code.opened(MemorySource(compiled(tmp_path, "-mavx2").read_bytes()), "small.so")
    # As many places as bytes: every unit is met as often as it has bytes, and weighs so much less.
    total = int(library.pieces.size[~library.pieces.is_data].sum())
    monkeypatch.setattr(sample, "UNIT", 100)
    monkeypatch.setattr(sample, "_BATCH", 1 << 15)
    drawn = sample.estimate(library, total, 1)
    whole = code.evidence(library, full=True).total
    assert drawn.total.instructions.value == whole.instructions.value
    for name, count in whole.extensions.items():
        assert drawn.total.extensions[name].value == pytest.approx(count.value, abs=0.5)
    assert drawn.total.fused.value == whole.fused.value


def test_the_same_seed_gives_the_same_sample(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "UNIT", 64)
    monkeypatch.setattr(sample, "FEWEST", 100)
    first, second = (code.evidence(library, full=False) for _ in range(2))
    assert first == second
    assert (first.mode, first.seed) == ("sample", sample.SEED)


def test_parts_add_up_to_the_total(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "UNIT", 64)
    monkeypatch.setattr(sample, "FEWEST", 100)
    found = code.evidence(library, full=False)
    tallies = [tally for part in found.parts for tally in (part.always, part.dispatched)]
    assert sum(tally.bytes for tally in tallies) == found.total.bytes
    assert sum(tally.functions for tally in tallies) == found.total.functions
    assert sum(tally.decoded for tally in tallies) == found.total.decoded
    values = sum(tally.instructions.value for tally in tallies)
    assert values == pytest.approx(found.total.instructions.value, abs=len(tallies))
    assert found.total.bytes == code.evidence(library, full=True).total.bytes


def test_small_libraries_are_counted_whole(tmp_path: Path) -> None:
    found = code.read(compiled(tmp_path), full=False)
    assert (found.mode, found.seed) == ("full", None)


def test_how_many_units() -> None:
    def pieces(size: int) -> Pieces:
        numbers = np.array([size], np.int64)
        return Pieces(
            offset=numbers,
            address=numbers,
            size=numbers,
            code=numbers,
            is_data=np.array([False]),
            name=numbers,
            source=numbers,
            symbols="none",
        )

    few, most = sample.FEWEST, sample.MOST
    assert sample.number_of_units(pieces(few * sample.UNIT)) is None
    assert sample.number_of_units(pieces(few * sample.UNIT + 1)) == few
    assert sample.number_of_units(pieces(300 << 20)) == most
