"""The level of x86-64 that a library itself says it needs; glibc refuses it on lesser CPUs.

Linkers write it where they are told to (-z x86-64-v3). Layout: x86-64 psABI, "Program Property",
and Linux Extensions to gABI.
"""

import struct
from collections.abc import Iterator

from tfbuild.code.headers import Headers
from tfbuild.code.source import Source

_PT_GNU_PROPERTY = 0x6474E553
_PROPERTIES = 5
_ISA_NEEDED = 0xC0008002
_MAX_NOTE = 1 << 16


def level(head: Headers, source: Source) -> int:
    """Return 2 for x86-64-v2 and so on; 0 where it says nothing, or only the baseline."""
    segment = next(iter(head.segments[head.segments["type"] == _PT_GNU_PROPERTY]), None)
    if segment is None or head.bits != 64:  # noqa: PLR2004
        return 0
    data = source.read(int(segment["offset"]), min(int(segment["filesz"]), _MAX_NOTE))
    for kind, value in _properties(data, head.order):
        if kind == _ISA_NEEDED and len(value) == 4:  # noqa: PLR2004
            (bits,) = struct.unpack(f"{head.order}I", value)
            return int(bits & 0xE).bit_length()
    return 0


def _properties(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 16:  # noqa: PLR2004 - three numbers and "GNU"
        names, size, kind = struct.unpack_from(f"{order}3I", data)
        start = 12 + -(-names // 4) * 4
        note, data = data[start : start + size], data[start + -(-size // 8) * 8 :]
        while kind == _PROPERTIES and len(note) >= 8:  # noqa: PLR2004 - its kind and size
            which, length = struct.unpack_from(f"{order}2I", note)
            yield which, note[8 : 8 + length]
            note = note[8 + -(-length // 8) * 8 :]
