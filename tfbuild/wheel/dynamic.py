"""What a shared library asks of the loader: other libraries, where to look, versions of symbols.

Read as the loader reads it, from the dynamic segment; section headers may be missing or lie.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

from tfbuild.code import headers
from tfbuild.code.headers import Headers

_MAX_TAGS = 1024
_MAX_FOLDERS = 64
_MAX_VERSIONS = 10_000
_MAX_PATHS = 4096
_MAX_SYMBOLS = 4_000_000
_MAX_IMPORTS = 20_000
_MAX_NAME = 256
"""Characters kept of a name; symbols of C++ may be longer."""
_SHOWN = 8
"""Symbols kept of each version."""
_WEAK_VERSION = 0x2
_PT_DYNAMIC = 2
_STB_WEAK = 2
_TAGS = {
    1: "needed", 4: "hash", 5: "strings", 6: "symbols", 10: "strings_size", 14: "soname",
    15: "rpath", 29: "runpath", 0x6FFFFEF5: "gnu_hash", 0x6FFFFFF0: "versym",
    0x6FFFFFFE: "verneed", 0x6FFFFFFF: "verneed_count",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version of another library's symbols, without which the library does not load."""

    library: str
    """Whose: "libc.so.6"."""
    name: str
    """"GLIBC_2.14"."""
    symbols: tuple[str, ...]
    """The first eight of the symbols in the table, sorted: "memcpy"."""
    count: int
    """How many symbols."""
    weak: bool
    """The loader does without."""


@dataclass(frozen=True, kw_only=True)
class Dynamic:
    """What the dynamic segment says. All empty where there is none."""

    is_there: bool = False
    """Whether there is one: object files, and programs linked statically, have none."""
    needed: tuple[str, ...] = ()
    """Libraries that the loader loads with it: "libm.so.6"."""
    soname: str = ""
    rpath: tuple[str, ...] = ()
    """Where they are looked for, before LD_LIBRARY_PATH; empty where there is a runpath."""
    runpath: tuple[str, ...] = ()
    """Where they are looked for, after LD_LIBRARY_PATH."""
    versions: tuple[Version, ...] = ()
    """In the order of the file."""
    imports: frozenset[str] = frozenset()
    """Names of symbols that must come from elsewhere, those of C++ and the weak ones left out; no
    more than real libraries have."""


def read(head: Headers, file: BinaryIO) -> Dynamic:
    """Read a library's dynamic segment; `head` are the headers of `file`.

    Raises:
        WheelError: a table leads out of the file or is longer than any real one.
        struct.error: a table is cut off.
    """
    tags = _tags(head, file)
    if not tags:
        return Dynamic()
    table = _Tables(head, file, tags)
    runpath = table.texts("runpath", ":")
    versions = dict(islice(table.verneed(), _MAX_VERSIONS))
    counts, some, imports = table.users()
    return Dynamic(
        is_there=True,
        needed=table.texts("needed"),
        soname=next(iter(table.texts("soname")), ""),
        rpath=() if runpath else table.texts("rpath", ":"),
        runpath=runpath,
        versions=tuple(
            Version(
                library=library,
                name=name,
                symbols=tuple(sorted(some.get(index, ()))),
                count=counts[index],
                weak=weak,
            )
            for index, (library, name, weak) in versions.items()
        ),
        imports=imports,
    )


def _tags(head: Headers, file: BinaryIO) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    segment = next(iter(head.segments[head.segments["type"] == _PT_DYNAMIC]), None)
    if segment is None:
        return found
    layout = head.order + ("QQ" if head.bits == 64 else "II")  # noqa: PLR2004
    room = min(int(segment["filesz"]), head.size, _MAX_TAGS * struct.calcsize(layout))
    file.seek(min(int(segment["offset"]), head.size))
    data = file.read(room - room % struct.calcsize(layout))
    for tag, value in struct.iter_unpack(layout, data):
        if tag == 0:
            break
        if tag in _TAGS:
            found[_TAGS[tag]].append(value)
    return found


class _Tables:
    """The tables that the dynamic segment points at."""

    def __init__(self, head: Headers, file: BinaryIO, tags: dict[str, list[int]]) -> None:
        self._head = head
        self._file = file
        self._size = head.size
        self._tags = tags
        self._offsets: dict[str, int] = {}
        self._order = head.order
        self._wide = head.bits == 64  # noqa: PLR2004
        loads = head.segments[head.segments["type"] == headers.LOAD]
        self._loads = [(int(row["vaddr"]), int(row["offset"]), int(row["filesz"])) for row in loads]
        listed = head.sections[head.sections["type"] == headers.DYNSYM]
        step = head.layout("symbol").itemsize
        self._listed = int(listed[0]["size"]) // step if len(listed) else 0

    def texts(self, tag: str, separator: str = "") -> tuple[str, ...]:
        """Return the strings that a tag points at, cut at a separator."""
        found = [self._text(offset, _MAX_PATHS) for offset in self._tags.get(tag, ())]
        if separator:
            found = [part for text in found for part in text.split(separator) if part]
            return tuple(found[:_MAX_FOLDERS])
        return tuple(found)

    def verneed(self) -> Iterator[tuple[int, tuple[str, str, bool]]]:
        """Yield the versions that it needs: (index in versym, (library, name, weak))."""
        if "verneed" not in self._tags:
            return
        place = self._offset("verneed")
        for _ in range(min(self._tags.get("verneed_count", [0])[0], _MAX_VERSIONS)):
            _, count, file, aux, step = self._unpack("HHIII", place)
            yield from self._auxiliary(self._text(file), place + aux, min(count, _MAX_VERSIONS))
            if step == 0:
                break
            place += step

    def users(self) -> tuple[Counter[int], dict[int, set[str]], frozenset[str]]:
        """Return the symbols from elsewhere: how many by index of their version, some, and C's."""
        counts: Counter[int] = Counter()
        some: dict[int, set[str]] = defaultdict(set)
        imports: set[str] = set()
        count = self._symbols_before_exports()
        indices = self._indices(count)
        for position, (name, bind) in self._undefined(count):
            index = indices[position] & 0x7FFF if indices else 0
            counts[index] += 1
            text = self._text(name)
            if len(some[index]) < _SHOWN:
                some[index].add(text)
            is_c = bind != _STB_WEAK and text and not text.startswith("_Z")
            if is_c and len(text) < _MAX_NAME and len(imports) < _MAX_IMPORTS:
                imports.add(text)
        return counts, some, frozenset(imports)

    def _auxiliary(
        self, library: str, place: int, count: int
    ) -> Iterator[tuple[int, tuple[str, str, bool]]]:
        for _ in range(count):
            _, flags, other, name, step = self._unpack("IHHII", place)
            yield other & 0x7FFF, (library, self._text(name), bool(flags & _WEAK_VERSION))
            if step == 0:
                break
            place += step

    def _undefined(self, count: int) -> Iterator[tuple[int, tuple[int, int]]]:
        if not count:
            return
        layout = self._order + ("IBBHQQ" if self._wide else "IIIBBH")
        step = struct.calcsize(layout)
        table = self._bytes(self._offset("symbols"), count * step)
        for position, row in enumerate(struct.iter_unpack(layout, table)):
            # The two classes hold the same fields in a different order.
            name, info, section = (row[i] for i in ((0, 1, 3) if self._wide else (0, 3, 5)))
            if section == 0 and name:
                yield position, (name, info >> 4)

    def _symbols_before_exports(self) -> int:
        """Return how many symbols there are, less the exported ones where the table allows it."""
        if "symbols" not in self._tags:
            return 0
        count = self._listed
        if "gnu_hash" in self._tags:
            place = self._offset("gnu_hash")
            buckets, first, words, _ = self._unpack("IIII", place)
            # Symbols from elsewhere stand before those that it lists; without any of these, the
            # number means nothing.
            if buckets > _MAX_SYMBOLS:
                raise self._head.damaged(f"It claims {buckets} buckets of symbols.")
            start = place + 16 + words * (8 if self._wide else 4)
            if any(self._bytes(start, 4 * buckets)):
                count = first
        elif "hash" in self._tags:
            _, count = self._unpack("II", self._offset("hash"))
        if count > _MAX_SYMBOLS:
            raise self._head.damaged(f"It claims {count} symbols.")
        return int(count)

    def _indices(self, count: int) -> tuple[int, ...]:
        if not count or "versym" not in self._tags:
            return ()
        return self._unpack(f"{count}H", self._offset("versym"))

    def _text(self, offset: int, most: int = _MAX_NAME) -> str:
        start = self._offset("strings") + offset
        if offset > self._tags.get("strings_size", [self._size])[0] or start >= self._size:
            raise self._head.damaged("A name lies outside the table of names.")
        self._file.seek(start)
        return self._file.read(most).split(b"\0", 1)[0].decode("utf-8", "replace")

    def _offset(self, tag: str) -> int:
        if tag not in self._offsets:
            self._offsets[tag] = self._found(tag)
        return self._offsets[tag]

    def _found(self, tag: str) -> int:
        address = self._tags[tag][0]
        for start, offset, length in self._loads:
            if start <= address < start + length:
                return offset + address - start
        raise self._head.damaged(f"Its table of {tag} lies outside the file.")

    def _unpack(self, layout: str, place: int) -> tuple[Any, ...]:
        layout = self._order + layout
        return struct.unpack(layout, self._bytes(place, struct.calcsize(layout)))

    def _bytes(self, place: int, count: int) -> bytes:
        if place + count > self._size:
            raise self._head.damaged("A table lies outside the file.")
        self._file.seek(place)
        return self._file.read(count)
