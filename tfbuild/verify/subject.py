"""What the checks of one wheel look at, read once: every file unpacked, hashed and forgotten."""

import csv
import hashlib
import io
import re
import tempfile
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from tfbuild.errors import WheelError
from tfbuild.progress import Progress
from tfbuild.wheel import elf
from tfbuild.wheel.archive import Archive, FileName, spelt
from tfbuild.wheel.contents import WheelContents, no_room
from tfbuild.wheel.release import tensorflow_release

STRONG = ("sha256", "sha384", "sha512")
"""Hashes that a RECORD may use."""
_IN_MEMORY = 64 << 20
_HEAD = 64
_DIST_INFO = {"METADATA": 2 << 20, "WHEEL": 1 << 20, "RECORD": 64 << 20}
"""Bytes that each may have at most; more is an attack on whoever parses it."""


_ENDLESS = re.compile(rb"[0-9]{500}")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of RECORD."""

    path: str
    algorithm: str
    """"sha256"; empty where the line names no hash."""
    digest: str
    """URL-safe base64 without padding, whatever the line's spelling."""
    size: str
    """As written; may be empty."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One file of the wheel, as it really is."""

    size: int
    digest: str
    """By the algorithm that RECORD names for it, else SHA-256; spelt as in `Row`."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A wheel that was read from its first to its last byte."""

    path: Path
    name: FileName
    dist_info: str
    """Name of the .dist-info folder."""
    modes: Mapping[str, int]
    """File -> Unix mode as the archive has it, 0 where it has none."""
    files: Mapping[str, Seen]
    unreadable: Mapping[str, str]
    """File -> why it could not be unpacked."""
    texts: Mapping[str, bytes]
    """METADATA, WHEEL and RECORD, those that are there."""
    rows: tuple[Row, ...]
    """RECORD's lines."""
    rows_fault: str
    """Why RECORD cannot be read; empty if it can."""
    libraries: Mapping[str, elf.Facts]
    """Every ELF file that can be linked against or loaded."""
    damaged: Mapping[str, str]
    """ELF file -> why its tables cannot be read."""
    tensorflow: str | None
    """Version of the TensorFlow inside; None where there is none."""
    beside: Mapping[str, str] | None = None
    """Installed: version of every distribution beside it, by normalised name; None for a wheel."""


@dataclass
class _Found:
    files: dict[str, Seen] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, elf.Facts] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def read(wheel: Archive, progress: Progress) -> Subject:
    """Read a whole wheel; memory stays small, the largest library goes through a temporary file.

    Raises:
        SaveError: no room for it.
    """
    texts = {name: text for name in _DIST_INFO if (text := _text(wheel, name)) is not None}
    rows, fault = rows_of(texts.get("RECORD"), 2 * len(wheel.members) + 100)
    algorithms = {row.path: row.algorithm for row in rows if row.algorithm in STRONG}
    found = _Found()
    total = wheel.unpacked_size >> 20
    progress.phase("Reading every file", total)
    done = 0
    for name, info in sorted(wheel.members.items(), key=lambda item: item[1].header_offset):
        _read_one(wheel, name, algorithms.get(name, "sha256"), found)
        done += info.file_size
        progress.step(done >> 20, total, name)
    return Subject(
        path=wheel.path,
        name=wheel.file_name,
        dist_info=wheel.dist_info,
        modes={name: info.external_attr >> 16 for name, info in wheel.members.items()},
        files=found.files,
        unreadable=found.unreadable,
        texts=texts,
        rows=rows,
        rows_fault=fault,
        libraries=found.libraries,
        damaged=found.damaged,
        tensorflow=_release(wheel),
    )


def _release(wheel: Archive) -> str | None:
    try:
        small = WheelContents(wheel).small
        return tensorflow_release(wheel.members, small, str(wheel.file_name.version))
    except WheelError:
        return None


def _text(wheel: Archive, name: str) -> bytes | None:
    info = wheel.members.get(f"{wheel.dist_info}/{name}")
    if info is None or info.file_size > _DIST_INFO[name]:
        return None
    try:
        text = wheel.text(name)
    except WheelError:
        return None
    # Python refuses to read such a number, wherever a version is looked at.
    return None if _ENDLESS.search(text.partition(b"\n\n")[0]) else text


def rows_of(record: bytes | None, most: int) -> tuple[tuple[Row, ...], str]:
    """Return the lines of a RECORD, at most so many, and why it cannot be read ("" if it can)."""
    if record is None:
        return (), "There is none, or it cannot be unpacked."
    try:
        reader = csv.reader(io.StringIO(record.decode()))
        lines = list(islice(reader, most + 1))
    except (UnicodeDecodeError, csv.Error) as error:
        return (), f"It is not a table of comma-separated values in UTF-8: {error}"
    wrong = next((line for line in lines if len(line) != 3), None)  # noqa: PLR2004
    if wrong is not None:
        return (), f"A line has {len(wrong)} columns instead of three: {','.join(wrong)[:200]}"
    if len(lines) > most:
        return (), f"It has more than {most} lines."
    return tuple(_row(*line) for line in lines), ""


def _row(path: str, hashed: str, size: str) -> Row:
    algorithm, _, digest = hashed.partition("=")
    try:
        padded = digest + "=" * (-len(digest) % 4)
        digest = spelt(urlsafe_b64decode(padded))
    except (Base64Error, ValueError):
        digest = f"{digest} (no base64)"
    return Row(path=path, algorithm=algorithm, digest=digest, size=size)


def _read_one(wheel: Archive, name: str, algorithm: str, found: _Found) -> None:
    hasher = hashlib.new(algorithm)
    size = 0
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as kept:
        is_elf = False
        try:
            for chunk in wheel.chunks(name):
                is_elf = is_elf or (size == 0 and chunk.startswith(elf.MAGIC))
                hasher.update(chunk)
                size += len(chunk)
                if is_elf:
                    _keep(kept, chunk, name, wheel.members[name].file_size)
        except WheelError as error:
            found.unreadable[name] = error.why
            return
        found.files[name] = Seen(size=size, digest=spelt(hasher.digest()))
        if is_elf:
            _to_disk(kept, name, size)
            _facts(cast("BinaryIO", kept), name, found)


def _keep(kept: "tempfile.SpooledTemporaryFile[bytes]", chunk: bytes, name: str, size: int) -> None:
    try:
        kept.write(chunk)
    except OSError as error:
        raise no_room(name, size, error) from error


def _to_disk(kept: "tempfile.SpooledTemporaryFile[bytes]", name: str, size: int) -> None:
    try:
        kept.rollover()
        kept.flush()
    except OSError as error:
        raise no_room(name, size, error) from error


def _facts(file: BinaryIO, name: str, found: _Found) -> None:
    try:
        found.libraries[name] = elf.facts(file, name)
    except WheelError as error:
        found.damaged[name] = error.why
