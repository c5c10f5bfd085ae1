"""Wheels with one fault each, made from a good one."""

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.wheels import make_wheel

INFO = "example-1.0.dist-info"
MODULE = "example/__init__.py"
DATA = b"value = 1\n" + b"# a line that makes the file longer\n" * 40
_SIZE = (4 << 30) + 5
_ZEROS = "sha256=cJ_At098kWztzLIS1oHANfNv-7Mev-gG60DDFZJ0TrU"
"""head -c 4294967301 /dev/zero | openssl dgst -sha256 -binary | base64"""
_CENTRAL, _LOCAL, _END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"


def good(folder: Path, **changed: object) -> Path:
    """Return a wheel without any fault."""
    files: Mapping[str, bytes | str] = {MODULE: DATA, "example/data.txt": b"0123456789" * 100}
    options = {"name": "example", "version": "1.0", "files": files, **changed}
    return make_wheel(folder, **options)  # type: ignore[arg-type]


def rewritten(wheel: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Change members by name, everything else (RECORD too) as it was."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return wheel


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Path], Path]:
    """Return a fault: other bytes in one member."""

    def change(contents: dict[str, bytes]) -> None:
        assert old in contents[name]
        contents[name] = contents[name].replace(old, new)

    return lambda wheel: rewritten(wheel, change)


def without(name: str) -> Callable[[Path], Path]:
    """Return a fault: a member less."""

    def change(contents: dict[str, bytes]) -> None:
        del contents[name]

    return lambda wheel: rewritten(wheel, change)


def added(name: str, data: bytes = b"") -> Callable[[Path], Path]:
    """Return a fault: a member more, which RECORD does not know."""

    def add(wheel: Path) -> Path:
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr(name, data)
        return wheel

    return add


def renamed(name: str, new: bytes) -> Callable[[Path], Path]:
    """Return a fault: another name of the same length, in both headers."""
    assert len(name) == len(new)
    return lambda wheel: patched(wheel, lambda data: data.replace(name.encode(), new))


def patched(wheel: Path, change: Callable[[bytes], bytes]) -> Path:
    """Change the file's bytes."""
    wheel.write_bytes(change(wheel.read_bytes()))
    return wheel


def cut(length: Callable[[bytes], int]) -> Callable[[Path], Path]:
    """Return a fault: the file ends early."""
    return lambda wheel: patched(wheel, lambda data: data[: length(data)])


def header(signature: bytes, offset: int, layout: str, value: int) -> Callable[[Path], Path]:
    """Return a fault: another value in the first header of a kind."""

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        struct.pack_into(layout, changed, data.index(signature) + offset, value)
        return bytes(changed)

    return lambda wheel: patched(wheel, change)


def both(first: Callable[[Path], Path], second: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Return two faults that belong together."""
    return lambda wheel: second(first(wheel))


def link(target: str) -> Callable[[Path], Path]:
    """Return a fault: a symbolic link."""

    def add(wheel: Path) -> Path:
        info = zipfile.ZipInfo("example/link.so")
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr(info, target)
        return wheel

    return add


def twice(wheel: Path) -> Path:
    """Put a member in twice."""
    with zipfile.ZipFile(wheel, "a") as archive:
        info = zipfile.ZipInfo("example/Twice.py")
        archive.writestr(info, b"first")
        archive.writestr(zipfile.ZipInfo("example/twicE.py"), b"second")
    return patched(wheel, lambda data: data.replace(b"twicE", b"Twice"))


def packed_by(method: int) -> Callable[[Path], Path]:
    """Return a fault: a member packed in an unusual way."""

    def add(wheel: Path) -> Path:
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr("example/odd.py", b"odd", compress_type=method)
        return wheel

    return add


def overlapping(wheel: Path) -> Path:
    """Let a second entry of the directory use the first member's data, as dense bombs do."""
    data = wheel.read_bytes()
    start, end = data.index(_CENTRAL), data.rindex(_END)
    length = 46 + struct.unpack_from("<H", data, start + 28)[0]
    entry = data[start : start + length].replace(b"__init__", b"__twin__")
    tail = bytearray(data[end:])
    for offset in (8, 10):
        struct.pack_into("<H", tail, offset, struct.unpack_from("<H", tail, offset)[0] + 1)
    size = struct.unpack_from("<I", tail, 12)[0] + len(entry)
    struct.pack_into("<I", tail, 12, size)
    wheel.write_bytes(data[:end] + entry + tail)
    return wheel


def quoting(wheel: Path) -> Path:
    """Let one member's data contain the next member, header and all (David Fifield's way, 2019).

    A stored block of the first holds the second's header, and both end with the same data. Both
    can be unpacked; a chain of many gives the famous bombs.
    """
    data = bytes(1000)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    inner = zipfile.ZipInfo("example/inner")
    outer = zipfile.ZipInfo("example/outer")
    for info in (inner, outer):
        info.compress_type = zipfile.ZIP_DEFLATED
    inner.CRC, inner.file_size, inner.compress_size = zlib.crc32(data), len(data), len(packed)
    header = inner.FileHeader()
    block = struct.pack("<BHH", 0, len(header), len(header) ^ 0xFFFF) + header
    whole = header + data
    outer.CRC, outer.file_size = zlib.crc32(whole), len(whole)
    outer.compress_size = len(block) + len(packed)
    with zipfile.ZipFile(wheel, "a") as archive:
        assert archive.fp is not None
        outer.header_offset = archive.start_dir
        archive.fp.seek(outer.header_offset)
        archive.fp.write(outer.FileHeader() + block + packed)
        inner.header_offset = outer.header_offset + len(outer.FileHeader()) + 5
        archive.start_dir = archive.fp.tell()
        archive.filelist += [outer, inner]
        archive.NameToInfo |= {info.filename: info for info in (outer, inner)}
        archive._didModify = True  # type: ignore[attr-defined]
    return wheel


def _moved(wheel: Path, at: int, extra: bytes) -> Path:
    """Insert bytes before a place and correct what the directory and the end say of it."""
    data = wheel.read_bytes()
    start, end = data.index(_CENTRAL), data.rindex(_END)
    body = bytearray(data)
    place = start
    while data[place : place + 4] == _CENTRAL:
        name, more, comment = struct.unpack_from("<HHH", data, place + 28)
        (offset,) = struct.unpack_from("<I", data, place + 42)
        if offset >= at:
            struct.pack_into("<I", body, place + 42, offset + len(extra))
        place += 46 + name + more + comment
    struct.pack_into("<I", body, end + 16, start + len(extra))
    wheel.write_bytes(bytes(body[:at]) + extra + bytes(body[at:]))
    return wheel


def hidden(wheel: Path) -> Path:
    """Put a member between others that the directory does not list."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("example/hidden.py", b"evil = True")
    other = stream.getvalue()
    return _moved(wheel, wheel.read_bytes().index(_CENTRAL), other[: other.index(_CENTRAL)])


def prefixed(wheel: Path) -> Path:
    """Put a program before the archive."""
    return _moved(wheel, 0, b"#!/bin/sh\nexit 1\n")


def two_ends(wheel: Path) -> Path:
    """Append another archive as the comment of the first."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("other.py", b"")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.comment = stream.getvalue() + b"."
    return wheel


def bomb(wheel: Path) -> Path:
    """Add a member of 1.5 GB of zeros, packed to 1.5 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = piece * 1536 + zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    stored = added("example/zeros", packed)(wheel)
    size = struct.pack("<I", len(packed))
    data = bytearray(stored.read_bytes())
    for signature, offset in ((_LOCAL, 8), (_CENTRAL, 10)):
        at = data.rindex(b"example/zeros", 0, data.rindex(signature) + 100)
        place = data.rindex(signature, 0, at)
        struct.pack_into("<H", data, place + offset, zipfile.ZIP_DEFLATED)
        unpacked = data.index(size + size, place) + 4
        struct.pack_into("<I", data, unpacked, 1536 << 20)
    wheel.write_bytes(data)
    return wheel


def of_4_gb(folder: Path) -> Path:
    """Return a good wheel with a stored member of 4 GiB and 5 bytes, all zeros."""
    wheel = good(folder, files={MODULE: DATA, "example/zeros": b""})
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    empty = b"sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0"
    record = f"{INFO}/RECORD"
    assert empty in contents[record]
    contents[record] = contents[record].replace(empty, f"{_ZEROS},{_SIZE}".encode())
    del contents["example/zeros"]
    with wheel.open("wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
        info = zipfile.ZipInfo("example/zeros")
        info.file_size = info.compress_size = _SIZE
        info.CRC = 0xB1C2A1A3  # of so many zeros
        info.header_offset = file.tell()
        file.write(info.FileHeader(zip64=True))
        file.seek(_SIZE, os.SEEK_CUR)  # a hole: no room on the disk
        archive.filelist.append(info)
        archive.NameToInfo[info.filename] = info
        archive.start_dir = file.tell()
    return wheel
