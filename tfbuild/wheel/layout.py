"""How a ZIP archive's members lie in the file, which `zipfile` does not look at.

A member has two headers: one in the directory at the end, which `zipfile` and pip go by, and one
before its data, which programs go by that read a stream. Where they differ, two programs see two
different wheels. Members that overlap are how a small file unpacks to a huge one.
"""

import os
import struct
import zipfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED = 0x1
_DESCRIPTOR = 0x8
"""Sizes and checksum follow the data instead."""
_LONGEST_DESCRIPTOR = 24
_END_SIZE = 22
_END_SIGNATURE = b"PK\x05\x06"
_UTF8 = 0x800
_ZIP64 = 0x1
_FULL = 0xFFFFFFFF
MAX_READ = 32 << 20
"""More than any directory of a real wheel: that of TensorFlow 2.21 has 2 MB."""


class Bounded:
    """A file for `zipfile`, which reads a directory of any claimed size into memory at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or to the end; raise BadZipFile if that is too much."""
        if size < 0:
            here = self._file.tell()
            size = max(0, self._file.seek(0, os.SEEK_END) - here)
            self._file.seek(here)
        if size > MAX_READ:
            raise zipfile.BadZipFile(f"a table of {size} bytes")
        return self._file.read(size)


def faults(file: BinaryIO, infos: Sequence[zipfile.ZipInfo], directory: int) -> Iterator[str]:
    """Yield what is wrong with where members lie and what their own headers say.

    Args:
        file: the archive.
        infos: its members, as the directory at its end lists them.
        directory: where that begins.
    """
    before, room, last = 0, 0, "the beginning of the file"
    for info in sorted(infos, key=lambda each: each.header_offset):
        name = info.filename
        gap = info.header_offset - before
        if gap < 0:
            yield f"{name} overlaps {last}"
            return
        if gap > room:
            yield f"{gap} bytes before {name} belong to no member"
        file.seek(info.header_offset)
        head = file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(_SIGNATURE):
            yield f"{name} is not where the directory says"
            return
        _, _, flags, method, _, _, _, packed, size, name_length, extra_length = _LOCAL.unpack(head)
        own = file.read(name_length)
        extra = file.read(extra_length)
        yield from _differences(info, own, flags, method, _sizes(packed, size, extra))
        before = file.tell() + info.compress_size
        room = _LONGEST_DESCRIPTOR if flags & _DESCRIPTOR else 0
        last = name
    if before > directory:
        yield f"{last} overlaps the directory"
    elif directory - before > room:
        yield f"{directory - before} bytes before the directory belong to no member"


def has_tail(file: BinaryIO, size: int, comment: bytes) -> bool:
    """Whether bytes follow the end of an archive of `size` bytes, as where two are joined."""
    file.seek(max(0, size - _END_SIZE - len(comment)))
    return not file.read(_END_SIZE).startswith(_END_SIGNATURE)


def _differences(
    info: zipfile.ZipInfo, own: bytes, flags: int, method: int, sizes: tuple[int, int]
) -> Iterator[str]:
    if own != info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437", "replace"):
        shown = own.decode("utf-8", "replace")
        yield f"{info.filename} is called {shown!r} in its own header"
    if (flags ^ info.flag_bits) & _ENCRYPTED or method != info.compress_type:
        yield f"{info.filename} is packed in another way in its own header"
    if not flags & _DESCRIPTOR and sizes != (info.compress_size, info.file_size):
        yield f"{info.filename} has another size in its own header"


def _sizes(packed: int, size: int, extra: bytes) -> tuple[int, int]:
    """Return the packed and unpacked size, from the extra field where they are too large."""
    while len(extra) >= 4:  # noqa: PLR2004 - tag and length
        tag, length = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if tag != _ZIP64:
            continue
        numbers = list(struct.unpack_from(f"<{len(field) // 8}Q", field))
        if size == _FULL and numbers:
            size = numbers.pop(0)
        if packed == _FULL and numbers:
            packed = numbers.pop(0)
    return packed, size
