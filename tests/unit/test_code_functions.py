"""Pieces of code against readelf's and nm's opinion, for files of several kinds."""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import assembled, compiled, need_tools
from tfbuild.code import functions, headers
from tfbuild.code import library as code
from tfbuild.code.functions import Pieces, name_at
from tfbuild.code.source import MemorySource
from tfbuild.errors import WheelError

SOURCE = """
static __attribute__((noinline)) int hidden(int x) { return x * 3; }
__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }
int alias(int x) __attribute__((alias("shown")));
int last(int x) { return shown(x) * 7; }
"""


@pytest.fixture(autouse=True)
def _tools() -> None:
    need_tools()
    need(shutil.which("readelf"), "readelf is missing")


def pieces_of(data: bytes) -> tuple[Pieces, MemorySource]:
    source = MemorySource(data)
    return functions.read(source, headers.read(source, "x")), source


def named(data: bytes) -> dict[int, tuple[str, str]]:
    """Return address -> (symbol, source) of all pieces that have a name."""
    pieces, source = pieces_of(data)
    rows = zip(pieces.address.tolist(), pieces.name.tolist(), pieces.source.tolist(), strict=True)
    return {
        address: (name_at(source, name), name_at(source, origin))
        for address, name, origin in rows
        if name >= 0
    }


def of_readelf(library: Path) -> dict[int, set[str]]:
    """Return the functions of readelf's symbol tables: address -> names."""
    said = subprocess.run(
        ["readelf", "-sW", library], capture_output=True, text=True, check=True
    ).stdout
    found: dict[int, set[str]] = {}
    row = r"^ *\d+: ([0-9a-f]+) +\w+ (?:FUNC|IFUNC) +\w+ +\w+ +\d+ (\S+?)(?:@.*)?$"
    for address, name in re.findall(row, said, re.MULTILINE):
        found.setdefault(int(address, 16), set()).add(name)
    return found


@pytest.mark.parametrize("flags", [(), ("-m32",)], ids=["64", "32"])
def test_functions_begin_where_readelf_says(flags: tuple[str, ...], tmp_path: Path) -> None:
    library = compiled(tmp_path, "-nostdlib", *flags, source=SOURCE)
    ours, theirs = named(library.read_bytes()), of_readelf(library)
    assert {"hidden", "shown", "last"} <= set().union(*theirs.values())
    for address, names in theirs.items():
        assert ours[address][0] in names
    by_name = dict(ours.values())
    assert (by_name["hidden"], by_name["last"]) == ("kernels.c", "")


def test_pieces_tile_the_sections(tmp_path: Path) -> None:
    library = compiled(tmp_path, source=SOURCE)
    pieces, _ = pieces_of(library.read_bytes())
    said = subprocess.run(
        ["readelf", "-SW", library], capture_output=True, text=True, check=True
    ).stdout
    rows = re.findall(r"PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) \d+ +AX ", said)
    wanted = sorted(tuple(int(each, 16) for each in row) for row in rows)
    assert len(wanted) >= 3
    assert int(pieces.size.sum()) == sum(size for _, _, size in wanted)
    for address, offset, size in wanted:
        inside = (pieces.address >= address) & (pieces.address < address + size)
        assert (pieces.offset[inside] - pieces.address[inside] == offset - address).all()
        assert int(pieces.size[inside].sum()) == size
    ends = pieces.address + pieces.size
    assert (ends[:-1] <= pieces.address[1:]).all()


def test_a_stripped_library_is_cut_where_the_unwinder_says(tmp_path: Path) -> None:
    library = compiled(tmp_path, "-fvisibility=hidden", source=SOURCE)
    functions_ = {a for a, names in of_readelf(library).items() if names & {"hidden", "last"}}
    assert len(functions_) == 2
    subprocess.run(["strip", library], check=True)
    pieces, _ = pieces_of(library.read_bytes())
    assert functions_ <= set(pieces.address.tolist())
    assert pieces.symbols == "none"


def test_a_label_within_a_function_is_no_function_of_its_own(tmp_path: Path) -> None:
    text = ".type f, @function\nf: nop\nmid: nop\nnop\n.size f, 3\nafter: nop\n"
    found = named(assembled(tmp_path, text).read_bytes())
    assert [name for name, _ in found.values()] == ["f", "f", "after"]


@pytest.mark.parametrize("width", [32, 64])
def test_big_endian_tables_are_read(width: int) -> None:
    data = big_endian(width)
    found = headers.read(MemorySource(data), "x")
    assert (found.bits, found.order, len(found.sections)) == (width, ">", 4)
    pieces, source = pieces_of(data)
    assert pieces.address.tolist() == [0x1000, 0x1008]
    assert [name_at(source, place) for place in pieces.name.tolist()] == ["one", "two"]
    with pytest.raises(WheelError, match="cannot be counted"):
        code.read_bytes(data)


def big_endian(width: int) -> bytes:
    """Return a file for PowerPC with two functions, put together by hand."""
    wide = width == 64
    word = "Q" if wide else "I"
    text, names = b"\0" * 16, b"\0one\0two\0"

    def symbol(name: int, value: int) -> bytes:
        if wide:
            return struct.pack(">IBBHQQ", name, 2, 0, 1, value, 8)
        return struct.pack(">IIIBBH", name, value, 8, 2, 0, 1)

    table = bytes(24 if wide else 16) + symbol(1, 0x1000) + symbol(5, 0x1008)
    head = 64 if wide else 52
    at_names, at_table = head + 16, head + 32
    at_sections = at_table + len(table)

    def section(kind: int, flags: int, address: int, offset: int, size: int, link: int) -> bytes:
        return struct.pack(
            f">II{word}{word}{word}{word}II{word}{word}",
            *(0, kind, flags, address, offset, size, link, 0, 1, 0),
        )

    sections = (
        section(0, 0, 0, 0, 0, 0)
        + section(1, 6, 0x1000, head, 16, 0)
        + section(2, 0, 0, at_table, len(table), 3)
        + section(3, 0, 0, at_names, len(names), 0)
    )
    ident = b"\x7fELF" + bytes((2 if wide else 1, 2, 1)) + bytes(9)
    rest = struct.pack(
        f">HHI{word}{word}{word}IHHHHHH", 3, 21, 1, 0, 0, at_sections, 0, head, 0, 0, 0, 4, 0
    )
    return ident + rest + text + names.ljust(16, b"\0") + table + sections


def test_a_name_that_never_ends_is_cut() -> None:
    source = MemorySource(b"a" * 1_000_000)
    assert len(name_at(source, 5)) == 1 << 16
    assert name_at(source, 2_000_000) == ""
