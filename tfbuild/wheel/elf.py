"""Facts of a shared library in ELF: its machine, compilers, needed versions, and where its code is.

Everything here is read from the file's own tables; nothing is loaded or run. Files come from
wheels that nobody has vouched for, so each table must lie inside the file.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, BinaryIO

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.elf.elffile import ELFFile

from tfbuild.errors import WheelError
from tfbuild.wheel import dynamic
from tfbuild.wheel.dynamic import Dynamic

MAGIC = b"\x7fELF"
_ALLOCATED, _EXECUTABLE, _COMPRESSED = 0x2, 0x4, 0x800
_NOTYPE, _OBJECT, _FUNC, _IFUNC = 0, 1, 2, 10
_MAX_COMMENT = 1 << 20
_MAX_SECTIONS = 1 << 16
_MACHINES = {
    "EM_X86_64": "x86_64",
    "EM_386": "i686",
    "EM_AARCH64": "aarch64",
    "EM_ARM": "armv7l",
    "EM_PPC64": "ppc64le",
    "EM_RISCV": "riscv64",
    "EM_S390": "s390x",
}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a library's headers say."""

    machine: str
    """"x86_64", "aarch64", or the ELF name of a rarer machine ("EM_MIPS")."""
    stripped: bool
    """Whether the full symbol table is gone (exported symbols remain)."""
    comments: tuple[str, ...]
    """The compilers' own marks: "GCC: (GNU) 7.3.1 20180303"."""
    versions: frozenset[str]
    """Symbol versions without which it does not load: "GLIBC_2.17", "GLIBCXX_3.4.19"."""
    dynamic: Dynamic
    """What it asks of the loader."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """Bytes between two symbols of an executable section."""

    offset: int
    """In the file."""
    address: int
    size: int
    code: int
    """Bytes that the symbol claims for itself; what follows until the next one is padding."""
    is_data: bool
    """A symbol says that these bytes are data among the code, such as a table of constants."""


@contextmanager
def _checked(name: str) -> Iterator[None]:
    # pyelftools answers broken tables with whatever its parsing stumbles over.
    try:
        yield
    except (
        ELFError, ConstructError, struct.error,
        ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise WheelError(
            f"{name} is not a usable shared library.",
            why=f"Its ELF tables are damaged ({type(error).__name__}: {error}).",
        ) from error


def facts(file: BinaryIO, name: str) -> Facts:
    """Read a library's facts from a seekable file; `name` is for messages.

    Raises:
        WheelError: the file is not ELF, or its tables are damaged.
    """
    with _checked(name):
        elf = ELFFile(file)
        size = _size(file)
        asked = dynamic.read(elf, file, size)
        return Facts(
            machine=_machine(elf),
            stripped=elf.get_section_by_name(".symtab") is None,
            comments=_comments(elf, size),
            versions=frozenset(each.name for each in asked.versions if not each.weak),
            dynamic=asked,
        )


def regions(file: BinaryIO, name: str) -> list[Region]:
    """Return a library's executable bytes in pieces that begin where a symbol says so.

    A decoder that starts anew at each symbol does not run astray over data for long. Without
    section headers the executable segments are taken.

    Raises:
        WheelError: as `facts`.
    """
    with _checked(name):
        elf = ELFFile(file)
        size = _size(file)
        code, data = _symbols(elf, size)
        places = [place for place in _executable(elf) if place[1] < size]
        if sum(length for _, _, length in places) > size:
            raise ELFError("more code than the file has bytes")
        return [
            region
            for address, offset, length in places
            for region in _split(address, offset, min(length, size - offset), code, data)
        ]


def _machine(elf: Any) -> str:  # noqa: ANN401 - pyelftools 0.31 is untyped
    name = str(elf["e_machine"])
    if name == "EM_PPC64" and not elf.little_endian:
        return "ppc64"
    return _MACHINES.get(name, name)


def _size(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)


def _comments(elf: Any, size: int) -> tuple[str, ...]:  # noqa: ANN401
    section = elf.get_section_by_name(".comment")
    if section is None or section["sh_size"] > min(size, _MAX_COMMENT):
        return ()
    texts = (part.decode("utf-8", "replace").strip() for part in section.data().split(b"\0"))
    return tuple(sorted({text for text in texts if text.isprintable() and text}))


def _executable(elf: Any) -> list[tuple[int, int, int]]:  # noqa: ANN401
    wanted = _ALLOCATED | _EXECUTABLE
    sections = [
        (int(section["sh_addr"]), int(section["sh_offset"]), int(section["sh_size"]))
        for section in islice(elf.iter_sections(), _MAX_SECTIONS)
        if section["sh_flags"] & (wanted | _COMPRESSED) == wanted
        and section["sh_type"] != "SHT_NOBITS"
    ]
    if sections or elf.num_sections():
        return sections
    return [
        (int(segment["p_vaddr"]), int(segment["p_offset"]), int(segment["p_filesz"]))
        for segment in elf.iter_segments()
        if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & 1
    ]


def _symbols(elf: Any, size: int) -> tuple[dict[int, int], dict[int, int]]:  # noqa: ANN401
    """Return code and data symbols: address -> size (0 where the symbol does not tell).

    TensorFlow has half a million symbols, so the table is unpacked at once and by hand.
    """
    order = "<" if elf.little_endian else ">"
    # The two classes hold the same six fields in a different order; see `_reordered`.
    layout = f"{order}IBBHQQ" if elf.elfclass == 64 else f"{order}IIIBBH"  # noqa: PLR2004
    step = struct.calcsize(layout)
    code: dict[int, int] = {}
    data: dict[int, int] = {}
    room = size
    for section in islice(elf.iter_sections(), _MAX_SECTIONS):
        if section["sh_type"] not in {"SHT_SYMTAB", "SHT_DYNSYM"} or section["sh_size"] > room:
            continue
        room -= section["sh_size"]
        table = section.data()
        for row in struct.iter_unpack(layout, table[: len(table) // step * step]):
            _, info, _, index, value, length = row if layout.endswith("Q") else _reordered(row)
            kind = info & 0xF
            if index and kind in {_NOTYPE, _FUNC, _IFUNC}:
                code[value] = max(length, code.get(value, 0))
            elif index and kind == _OBJECT and length:
                data[value] = max(length, data.get(value, 0))
    return code, data


def _reordered(row: tuple[int, ...]) -> tuple[int, int, int, int, int, int]:
    name, value, size, info, other, index = row
    return name, info, other, index, value, size


def _split(
    address: int, offset: int, size: int, code: dict[int, int], data: dict[int, int]
) -> Iterator[Region]:
    end = address + size
    ends = {start: start + data[start] for start in data if address <= start < end}
    starts = {address, *(start for start in code if address <= start < end), *ends}
    starts.update(stop for stop in ends.values() if stop < end)
    data_until = address
    for start, stop in pairwise([*sorted(starts), end]):
        data_until = max(data_until, ends.get(start, address))
        yield Region(
            offset=offset + start - address,
            address=start,
            size=stop - start,
            code=min(code.get(start, 0) or stop - start, stop - start),
            is_data=start < data_until,
        )
