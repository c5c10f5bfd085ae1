"""Opens a wheel with suspicion: names, sizes and structure are checked before anything is used."""

import csv
import hashlib
import io
import zipfile
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

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

CHUNK = 1 << 20
# TensorFlow 2.21 unpacks to 1.2 GB in some 20,000 members, at a ratio of 5.
MAX_MEMBERS = 500_000
MAX_UNPACKED = 32 << 30
MAX_TEXT = 64 << 20
_BOMB_SIZE = 1 << 30
_BOMB_RATIO = 150
_ENCRYPTED = 0x1
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What `zipfile` raises while it reads a damaged member."""


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
            with self.zip.open(self.members[name]) as file:
                while chunk := file.read(CHUNK):
                    yield chunk
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
    with _file(path) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (*DAMAGE, ValueError) as error:
            raise WheelError(
                f"{path.name} is not a wheel.",
                why=f"A wheel is a ZIP archive, and this file is not one or is cut off ({error}).",
                do="Download or build it again.",
            ) from error
        with archive:
            members = checked_members(path, archive)
            dist_info = _dist_info(path, file_name, members)
            yield Archive(path, file_name, members, dist_info, archive)


def parsed(path: Path) -> FileName:
    """Read a wheel's file name.

    Raises:
        WheelError: it is not a wheel's name.
    """
    try:
        name, version, build, tags = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise WheelError(
            f"{path.name} is not the name of a wheel.",
            why=str(error),
            do="A wheel is called NAME-VERSION-PYTHON-ABI-PLATFORM.whl.",
        ) from error
    return FileName(name=name, version=version, build=build, tags=tuple(sorted(tags, key=str)))


def damaged(path: Path, why: str) -> WheelError:
    """Return the error for a wheel that cannot be trusted."""
    return WheelError(f"{path.name} is damaged.", why=why, do="Download or build it again.")


def digest_text(digest: bytes) -> str:
    """Return a SHA-256 digest as RECORD spells it: URL-safe base64 without padding."""
    return "sha256=" + urlsafe_b64encode(digest).rstrip(b"=").decode()


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


def checked_members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return a wheel's files by name; nothing is unpacked.

    Raises:
        WheelError: a name leads out of the archive or is there twice, a member is encrypted, or
            the whole would unpack to far more than a wheel holds.
    """
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise damaged(path, f"It claims {len(infos)} members.")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        _check_name(path, info.filename)
        if info.is_dir():
            continue
        if info.filename in members:
            raise damaged(path, f"{info.filename} is in it twice.")
        if info.flag_bits & _ENCRYPTED:
            raise WheelError(f"{path.name} is not a wheel.", why=f"{info.filename} is encrypted.")
        members[info.filename] = info
    unpacked = sum(info.file_size for info in members.values())
    packed = sum(info.compress_size for info in members.values())
    is_bomb = unpacked > _BOMB_SIZE and unpacked > _BOMB_RATIO * max(packed, 1)
    if unpacked > MAX_UNPACKED or is_bomb:
        raise damaged(path, f"It would unpack from {packed} to {unpacked} bytes: a ZIP bomb.")
    return members


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise WheelError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
    with file:
        yield file


def _check_name(path: Path, name: str) -> None:
    parts = name.rstrip("/").split("/")
    control = any(ord(character) < ord(" ") for character in name)
    if control or "\\" in name or ":" in parts[0] or any(part in {"", ".", ".."} for part in parts):
        raise damaged(path, f"A member's name leads out of the archive: {name!r}.")


def _dist_info(path: Path, file_name: FileName, members: Mapping[str, object]) -> str:
    tops = {name.split("/", 1)[0] for name in members if "/" in name}
    folders = sorted(top for top in tops if top.endswith(".dist-info"))
    if len(folders) != 1:
        found = ", ".join(folders) or "none"
        raise WheelError(
            f"{path.name} is not a wheel.",
            why=f"A wheel has exactly one .dist-info folder; here: {found}.",
        )
    name, _, version = folders[0].removesuffix(".dist-info").partition("-")
    try:
        same = canonicalize_name(name) == file_name.name and Version(version) == file_name.version
    except InvalidVersion:
        same = False
    if not same:
        raise damaged(path, f"The file name and the folder {folders[0]} contradict each other.")
    return folders[0]
