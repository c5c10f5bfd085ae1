"""Unpacks members of a ZIP archive with ISA-L, which inflates more than twice as fast as zlib.

Where there is no ISA-L, `zipfile` unpacks by itself. Either way no more comes out than the
directory claims, and length and checksum must fit it.
"""

import copy
import importlib
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, cast

CHUNK = 1 << 20
_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"
_RAW = -15
"""Window bits of a stream without a header."""


class _Stream(Protocol):
    """The part of zlib's decompressor objects that is used."""

    eof: bool
    unconsumed_tail: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return at most `max_length` bytes; what is not used up yet becomes the tail."""


class _Library(Protocol):
    """The part of zlib that is used."""

    error: type[Exception]
    crc32: Callable[[bytes, int], int]

    def decompressobj(self, wbits: int) -> _Stream:
        """Return a decompressor."""


def _library() -> _Library:
    try:
        return cast("_Library", importlib.import_module("isal.isal_zlib"))
    except ImportError:
        return cast("_Library", zlib)


class Packed(NamedTuple):
    """A member, as the directory at the archive's end describes it."""

    name: str
    header: int
    """Where in the file its own header begins."""
    method: int
    packed: int
    """Bytes in the archive."""
    size: int
    """Bytes when it is unpacked."""
    checksum: int

    @classmethod
    def of(cls, info: zipfile.ZipInfo) -> "Packed":
        """Return it as `zipfile` read it."""
        return cls(
            info.filename,
            info.header_offset,
            info.compress_type,
            info.compress_size,
            info.file_size,
            info.CRC,
        )


def chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a stored or deflated member piece by piece.

    Raises:
        BadZipFile: it is damaged.
        Exception: others that `zipfile` raises for damage.
    """
    member = Packed.of(info)
    with archive.open(_as_stored(info)) as file:
        yield from _unpacked(iter(lambda: file.read(CHUNK), b""), member)


def chunks_at(descriptor: int, member: Packed) -> Iterator[bytes]:
    """Yield a member's bytes from a file whose directory was checked before.

    Raises:
        BadZipFile: it is damaged, or the file has changed.
    """
    header = os.pread(descriptor, _HEADER.size, member.header)
    if len(header) < _HEADER.size:
        raise zipfile.BadZipFile(f"No header of {member.name!r}")
    signature, name, extra = _HEADER.unpack(header)
    if signature != _SIGNATURE:
        raise zipfile.BadZipFile(f"Bad header of {member.name!r}")
    start = member.header + _HEADER.size + name + extra
    places = range(start, start + member.packed, CHUNK)
    raw = (os.pread(descriptor, min(CHUNK, start + member.packed - at), at) for at in places)
    yield from _unpacked(raw, member)


def _unpacked(raw: Iterator[bytes], member: Packed) -> Iterator[bytes]:
    library = _library()
    size = checksum = 0
    try:
        for chunk in _inflated(raw, library) if member.method == zipfile.ZIP_DEFLATED else raw:
            size += len(chunk)
            if size > member.size:
                break
            checksum = library.crc32(chunk, checksum)
            yield chunk
    except library.error as error:
        raise zipfile.BadZipFile(f"Bad compressed data ({error})") from error
    if size != member.size or checksum != member.checksum:
        raise zipfile.BadZipFile(f"Bad CRC-32 or size for file {member.name!r}")


def _inflated(raw: Iterator[bytes], library: _Library) -> Iterator[bytes]:
    stream = library.decompressobj(_RAW)
    while not stream.eof:
        packed = stream.unconsumed_tail or next(raw, b"")
        chunk = stream.decompress(packed, CHUNK)
        if chunk:
            yield chunk
        elif not packed:
            raise EOFError("Compressed data ends too early")


def _as_stored(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return a member whose bytes `zipfile` hands over as they are, its checksum not verified."""
    stored = copy.copy(info)
    stored.compress_type = zipfile.ZIP_STORED
    stored.file_size = info.compress_size
    del stored.CRC
    return stored
