"""The headers of an ELF file: where its sections, segments and tables lie.

The file comes from a wheel that nobody has vouched for, so each table must lie inside the file, and
no name is followed. Layouts: System V ABI, chapter 4 and 5 (gabi.xinuos.com).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfbuild.code.source import Source
from tfbuild.errors import WheelError

Table = NDArray[Any]
"""A structured array; its fields are named as in the ABI."""

MACHINES = {3: "i686", 62: "x86_64"}
"""ELF machines whose code is decoded."""
SYMTAB, DYNSYM = 2, 11
_RELOCATABLE = 1
_NOBITS = 8
_ALLOCATED, _EXECUTABLE, _COMPRESSED = 0x2, 0x4, 0x800
_HEAD, _IDENTITY = 64, 16
_MAGIC = b"\x7fELF"
_WORDS = {1: 32, 2: 64}
_ORDERS = {1: "<", 2: ">"}
_MAX_HEADERS = 1 << 16
_MAX_ADDRESS = 1 << 62
LOAD, _EH_FRAME = 1, 0x6474E550
_FIELDS: dict[str, dict[int, str]] = {
    "header": {
        32: "type:H machine:H version:I entry:I phoff:I shoff:I flags:I ehsize:H phentsize:H "
        "phnum:H shentsize:H shnum:H shstrndx:H",
        64: "type:H machine:H version:I entry:Q phoff:Q shoff:Q flags:I ehsize:H phentsize:H "
        "phnum:H shentsize:H shnum:H shstrndx:H",
    },
    "section": {
        32: "name:I type:I flags:I addr:I offset:I size:I link:I info:I align:I entsize:I",
        64: "name:I type:I flags:Q addr:Q offset:Q size:Q link:I info:I align:Q entsize:Q",
    },
    "segment": {
        32: "type:I offset:I vaddr:I paddr:I filesz:I memsz:I flags:I align:I",
        64: "type:I flags:I offset:Q vaddr:Q paddr:Q filesz:Q memsz:Q align:Q",
    },
    "symbol": {
        32: "name:I value:I size:I info:B other:B shndx:H",
        64: "name:I info:B other:B shndx:H value:Q size:Q",
    },
}


@dataclass(frozen=True, eq=False)
class Headers:
    """The headers of one file."""

    name: str
    """For messages."""
    bits: int
    order: str
    """Byte order, as numpy and struct spell it."""
    type: int
    machine: int
    sections: Table
    segments: Table
    names: int
    """Which section holds the sections' names."""
    size: int
    """Bytes of the file."""

    def damaged(self, why: str) -> WheelError:
        """Return the error for tables that cannot be."""
        return damaged(self.name, why)

    def layout(self, kind: str) -> np.dtype[Any]:
        """Return the layout of one row of a table: "symbol"."""
        return _layout(kind, self.bits, self.order)

    def executable(self) -> list[tuple[int, int, int]]:
        """Return (address, offset, size) of what holds code, by address.

        Without section headers the executable segments are taken.

        Raises:
            WheelError: two overlap, or more is claimed than the file holds.
        """
        places = [place for place in self._places() if place[1] < self.size and place[2]]
        clipped = sorted((a, o, min(n, self.size - o)) for a, o, n in places)
        if sum(length for _, _, length in clipped) > self.size:
            raise self.damaged("It claims more code than the file has bytes.")
        if any(a + n > following for (a, _, n), (following, _, _) in pairwise(clipped)):
            raise self.damaged("Its sections of code overlap.")
        if clipped and clipped[-1][0] + clipped[-1][2] > _MAX_ADDRESS:
            raise self.damaged("Its code lies beyond the address space.")
        return clipped

    def address_of(self, index: int) -> int:
        """Return where a section's symbols count from.

        In an object file all sections begin at 0, so the place in the file serves instead.
        """
        return int(self.sections["offset"][index]) if self.type == _RELOCATABLE else 0

    def frames(self) -> tuple[int, int, int] | None:
        """Return (address, offset, size) of the sorted table of functions (.eh_frame_hdr)."""
        for row in self.segments[self.segments["type"] == _EH_FRAME]:
            return int(row["vaddr"]), int(row["offset"]), int(row["filesz"])
        return None

    def section(self, source: Source, name: str) -> np.void | None:
        """Return the first section of that name, None without one."""
        if not self.names < len(self.sections):
            return None
        wanted = name.encode() + b"\0"
        start = int(self.sections["offset"][self.names])
        for row in self.sections:
            if source.read(start + int(row["name"]), len(wanted)) == wanted:
                found: np.void = row
                return found
        return None

    def _places(self) -> Iterator[tuple[int, int, int]]:
        wanted = _ALLOCATED | _EXECUTABLE
        for index, row in enumerate(self.sections):
            flags = int(row["flags"]) & (wanted | _COMPRESSED)
            if flags == wanted and row["type"] != _NOBITS:
                address = int(row["addr"]) + self.address_of(index)
                yield address, int(row["offset"]), int(row["size"])
        if not len(self.sections):
            for row in self.segments:
                if row["type"] == LOAD and row["flags"] & 1:
                    yield int(row["vaddr"]), int(row["offset"]), int(row["filesz"])


def read(source: Source, name: str) -> Headers:
    """Read a library's headers; `name` is for messages.

    Raises:
        WheelError: the file is not ELF, or a table does not lie inside it.
    """
    start = source.read(0, _HEAD)
    if start[:4] != _MAGIC:
        raise damaged(name, "It does not begin as ELF does.")
    bits, order = (_WORDS.get(start[4], 0), _ORDERS.get(start[5], "")) if start[5:] else (0, "")
    if not bits or not order:
        raise damaged(name, "Its first bytes name no word size or byte order.")
    layout = _layout("header", bits, order)
    if len(start) < _IDENTITY + layout.itemsize:
        raise damaged(name, "It ends within its header.")
    found = np.frombuffer(start, layout, count=1, offset=_IDENTITY)[0]
    empty = Headers(
        name=name,
        bits=bits,
        order=order,
        type=int(found["type"]),
        machine=int(found["machine"]),
        sections=np.empty(0, _layout("section", bits, order)),
        segments=np.empty(0, _layout("segment", bits, order)),
        names=int(found["shstrndx"]),
        size=source.size,
    )
    return replace(
        empty,
        sections=_sections(source, empty, int(found["shoff"]), int(found["shnum"])),
        segments=rows(source, empty, "segment", int(found["phoff"]), int(found["phnum"])),
    )


def rows(source: Source, headers: Headers, kind: str, offset: int, count: int) -> Table:
    """Read a table.

    Raises:
        WheelError: it does not lie inside the file.
    """
    layout = headers.layout(kind)
    if count and offset + count * layout.itemsize > headers.size:
        raise headers.damaged(f"A table of {kind}s does not lie inside the file.")
    data = source.read(offset, count * layout.itemsize)
    if len(data) != count * layout.itemsize:
        raise headers.damaged("The file grew shorter while it was read.")
    return np.frombuffer(data, layout)


def _sections(source: Source, headers: Headers, offset: int, count: int) -> Table:
    if not offset:
        return headers.sections
    if not count:
        # More than 65,279 sections: the number is in the first one's size.
        count = int(rows(source, headers, "section", offset, 1)[0]["size"])
    if count > _MAX_HEADERS:
        raise headers.damaged(f"It claims {count} sections.")
    return rows(source, headers, "section", offset, count)


def _layout(kind: str, bits: int, order: str) -> np.dtype[Any]:
    sizes = {"B": "u1", "H": "u2", "I": "u4", "Q": "u8"}
    pairs = (field.split(":") for field in _FIELDS[kind][bits].split())
    return np.dtype([(field, order + sizes[size]) for field, size in pairs])


def damaged(name: str, why: str) -> WheelError:
    """Return the error for a library that cannot be read."""
    return WheelError(
        f"{name} is not a usable shared library.", why=f"Its ELF tables are damaged: {why}"
    )
