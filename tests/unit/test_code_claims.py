"""Files that claim more than any library has: little is read, and no more is kept."""

import struct
from pathlib import Path

import pytest

from tests.libraries import compiled, need_tools
from tfbuild.code import frames, functions, headers
from tfbuild.code.source import FileSource, MemorySource
from tfbuild.errors import WheelError
from tfbuild.wheel import elf

LOAD, DYNAMIC, EH_FRAME = 1, 2, 0x6474E550
_HEAD, _SEGMENT = 64, 56


def head(segments: int, sections: int = 0) -> bytes:
    """Return the header of a shared library for x86-64; its segments follow it, then sections."""
    ident = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    at = _HEAD + segments * _SEGMENT
    numbers = (3, 62, 1, 0, _HEAD, at if sections else 0, 0, 64, 56, segments, 64, sections, 0)
    return ident + struct.pack("<HHIQQQIHHHHHH", *numbers)


def segment(kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, 5, offset, offset, 0, size, size, 1)


def sparse(path: Path, size: int, *pieces: tuple[int, bytes]) -> Path:
    with path.open("wb") as file:
        for place, data in pieces:
            file.seek(place)
            file.write(data)
        file.truncate(size)
    return path


def test_an_unwinders_table_of_more_functions_than_there_are_is_not_read(tmp_path: Path) -> None:
    size = 40 << 20
    count = (size - 4096 - 12) // 8
    table = bytes((1, 0x1B, 0x03, 0x3B)) + struct.pack("<iI", 0, count)
    start = head(1) + segment(EH_FRAME, 4096, size - 4096)
    path = sparse(tmp_path / "many.so", size, (0, start), (4096, table))
    with path.open("rb") as file:
        source = FileSource(file.fileno())
        assert len(frames.starts(source, headers.read(source, "many.so"))) == 0


def test_a_hash_table_of_more_buckets_than_there_are_symbols_is_not_read(tmp_path: Path) -> None:
    size, at = 40 << 20, _HEAD + 2 * _SEGMENT
    tags = [(5, 4096), (6, 8192), (0x6FFFFEF5, 16384), (10, 64), (0, 0)]
    table = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    start = head(2) + segment(LOAD, 0, size) + segment(DYNAMIC, at, len(table)) + table
    buckets = struct.pack("<IIII", (size - 16400) // 4, 1, 0, 0)
    path = sparse(tmp_path / "many.so", size, (0, start), (16384, buckets))
    with path.open("rb") as file, pytest.raises(WheelError, match="not a usable") as caught:
        elf.facts(file, path.name)
    assert "buckets" in caught.value.why


def test_a_second_symbol_table_is_not_read() -> None:
    # The gABI allows one; with thousands, each a symbol long, reading them took minutes.
    def section(kind: int, flags: int, address: int, offset: int, size: int, link: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", 0, kind, flags, address, offset, size, link, 0, 1, 0)

    at = _HEAD + 5 * 64
    sections = [
        section(0, 0, 0, 0, 0, 0),
        section(1, 6, 0x1000, at, 16, 0),
        section(2, 0, 0, at + 16, 24, 4),
        section(2, 0, 0, at + 40, 24, 4),
        section(3, 0, 0, at + 64, 9, 0),
    ]
    symbols = (
        struct.pack("<IBBHQQ", 1, 2, 0, 1, 0x1000, 8),
        struct.pack("<IBBHQQ", 5, 2, 0, 1, 0x1008, 8),
    )
    data = b"".join([head(0, 5), *sections, bytes(16), *symbols, b"\0one\0two\0"])
    source = MemorySource(data)
    pieces = functions.read(source, headers.read(source, "two.so"))
    assert pieces.address.tolist() == [0x1000]


def test_long_names_are_not_kept(tmp_path: Path) -> None:
    need_tools()
    names = ["a" * 255, "b" * 256]
    code = "".join(f"void {name}(void); void f{name[0]}(void) {{ {name}(); }}\n" for name in names)
    library = compiled(tmp_path, source=code)
    with library.open("rb") as file:
        imports = elf.facts(file, library.name).dynamic.imports
    assert {name[0] for name in imports if len(name) > 9} == {"a"}
