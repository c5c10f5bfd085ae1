"""Opens a wheel with suspicion: names, sizes and structure are checked before anything is used."""

import csv
import hashlib
import io
import os
import stat
import struct
import zipfile
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from packaging.tags import Tag
from packaging.utils import (
    BuildTag,
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from tfbuild.errors import WheelError
from tfbuild.wheel import inflate, layout
from tfbuild.wheel.members import checked_members, damaged

CHUNK = 1 << 20
MAX_TEXT = 64 << 20
DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error,
    EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError,
)  # fmt: skip
"""What `zipfile` raises while it reads a damaged archive or member."""


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True, kw_only=True)
class FileName:
    """What a wheel's file name says."""

    name: NormalizedName
    version: Version
    build: BuildTag
    tags: tuple[Tag, ...]


@dataclass(frozen=True)
class Archive:
    """An open wheel. `members` are its files by name, without folders."""

    path: Path
    file_name: FileName
    members: Mapping[str, zipfile.ZipInfo]
    dist_info: str
    """Name of the .dist-info folder, without a slash."""
    zip: zipfile.ZipFile

    @property
    def unpacked_size(self) -> int:
        """Bytes of all members together."""
        return sum(info.file_size for info in self.members.values())

    def chunks(self, name: str) -> Iterator[bytes]:
        """Read a member piece by piece; its checksum is verified at the end.

        Raises:
            WheelError: the member is damaged.
        """
        try:
            yield from inflate.chunks(self.zip, self.members[name])
        except DAMAGE as error:
            raise damaged(self.path, f"{name}: {error}") from error

    def text(self, name: str) -> bytes:
        """Read a small member of .dist-info whole: "METADATA", "RECORD".

        Raises:
            WheelError: it is missing, damaged, or too large to be what it should be.
        """
        full = f"{self.dist_info}/{name}"
        if full not in self.members:
            raise WheelError(f"{self.path.name} is not a wheel.", why=f"It has no {full}.")
        if self.members[full].file_size > MAX_TEXT:
            raise damaged(self.path, f"{full} claims {self.members[full].file_size} bytes.")
        return b"".join(self.chunks(full))


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open a wheel for reading.

    Raises:
        WheelError: no such file, not a wheel, damaged, or dangerous to unpack.
    """
    file_name = parsed(path)
    with regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            archive = zipfile.ZipFile(cast("BinaryIO", layout.Bounded(file)))
        except DAMAGE as error:
            raise WheelError(
                f"{path.name} is not a wheel.",
                why="A wheel is a ZIP archive, and this file is empty."
                if size == 0
                else f"A wheel is a ZIP archive, and this file is not one or is cut off ({error}).",
                do="Download or build it again.",
            ) from error
        with archive:
            members = checked_members(path, archive)
            _check_layout(path, file, archive)
            dist_info = _dist_info(path, file_name, members)
            yield Archive(path, file_name, members, dist_info, archive)


def parsed(path: Path) -> FileName:
    """Read a wheel's file name.

    Raises:
        WheelError: it is not a wheel's name.
    """
    # The parser does not mind what tags are made of.
    fault = "" if path.name.isprintable() else "It holds characters that no name has."
    try:
        name, version, build, tags = parse_wheel_filename("" if fault else path.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise WheelError(
            f"{path.name} is not the name of a wheel.",
            why=fault or str(error),
            do="A wheel is called NAME-VERSION-PYTHON-ABI-PLATFORM.whl.",
        ) from error
    return FileName(name=name, version=version, build=build, tags=tuple(sorted(tags, key=str)))


def digest_text(digest: bytes) -> str:
    """Return a SHA-256 digest as RECORD spells it: URL-safe base64 without padding."""
    return f"sha256={spelt(digest)}"


def spelt(digest: bytes) -> str:
    """Return a digest as RECORD spells it, without its algorithm's name."""
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def parts_of(dist_info: str) -> tuple[str, str]:
    """Return the name and the version that a .dist-info folder's name holds."""
    name, _, version = dist_info.removesuffix(".dist-info").partition("-")
    return name, version


def digest(data: bytes) -> str:
    """Return the bytes' SHA-256 as RECORD spells it."""
    return digest_text(hashlib.sha256(data).digest())


def record_rows(archive: Archive) -> dict[str, str]:
    """Return the wheel's own RECORD: member -> "sha256=...", empty where it names no hash.

    Raises:
        WheelError: RECORD is missing or is not CSV of three columns.
    """
    try:
        rows = list(csv.reader(io.StringIO(archive.text("RECORD").decode())))
    except (UnicodeDecodeError, csv.Error) as error:
        raise damaged(archive.path, f"RECORD cannot be read: {error}") from error
    if any(row and len(row) < 2 for row in rows):  # noqa: PLR2004 - path and hash
        raise damaged(archive.path, "RECORD has a line without a hash column.")
    return {row[0]: row[1] for row in rows if row}


@contextmanager
def regular(path: Path) -> Iterator[io.BufferedReader]:
    """Open a regular file for reading; a link to one will do.

    Raises:
        WheelError: there is none, it may not be read, or it is a folder, a pipe or a device.
    """
    try:
        # Without O_NONBLOCK a pipe that nobody writes to would keep us waiting for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise _unreadable(path, f"It is {_KINDS.get(kind, 'no regular file')}.")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def _unreadable(path: Path, why: str) -> WheelError:
    return WheelError(f"Cannot read {path}.", why=why)


def _check_layout(path: Path, file: BinaryIO, archive: zipfile.ZipFile) -> None:
    size = os.fstat(file.fileno()).st_size
    if layout.has_tail(file, size, archive.comment):
        raise damaged(path, "Bytes after its end belong to no member.")
    fault = next(layout.faults(file, archive.infolist(), archive.start_dir), "")
    if fault:
        raise damaged(path, f"Its parts contradict each other: {fault}.")


def _dist_info(path: Path, file_name: FileName, members: Mapping[str, object]) -> str:
    tops = {name.split("/", 1)[0] for name in members if "/" in name}
    folders = sorted(top for top in tops if top.endswith(".dist-info"))
    if len(folders) != 1:
        found = ", ".join(folders) or "none"
        raise WheelError(
            f"{path.name} is not a wheel.",
            why=f"A wheel has exactly one .dist-info folder; here: {found}.",
        )
    name, version = parts_of(folders[0])
    try:
        same = canonicalize_name(name) == file_name.name and Version(version) == file_name.version
    except InvalidVersion:
        same = False
    if not same:
        raise damaged(path, f"The file name and the folder {folders[0]} contradict each other.")
    return folders[0]
