"""Unpacks members of a ZIP archive with ISA-L, which inflates more than twice as fast as zlib.

Where there is no ISA-L, `zipfile` unpacks by itself. Either way no more comes out than the
directory claims, and length and checksum must fit it.
"""

import copy
import importlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

CHUNK = 1 << 20
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


def chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a member's bytes piece by piece.

    Raises:
        BadZipFile: it is damaged.
        Exception: others that `zipfile` raises for damage.
    """
    if info.compress_type != zipfile.ZIP_DEFLATED:
        with archive.open(info) as file:
            while chunk := file.read(CHUNK):
                yield chunk
        return
    library = _library()
    size = checksum = 0
    try:
        for chunk in _inflated(archive, info, library):
            size += len(chunk)
            if size > info.file_size:
                break
            checksum = library.crc32(chunk, checksum)
            yield chunk
    except library.error as error:
        raise zipfile.BadZipFile(f"Bad compressed data ({error})") from error
    if size != info.file_size or checksum != info.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 or size for file {info.filename!r}")


def _inflated(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, library: _Library
) -> Iterator[bytes]:
    stream = library.decompressobj(_RAW)
    with archive.open(_as_stored(info)) as file:
        while not stream.eof:
            packed = stream.unconsumed_tail or file.read(CHUNK)
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
