"""The members of a wheel, looked at with suspicion before any is unpacked."""

import re
import unicodedata
import zipfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from tfbuild.errors import WheelError

# TensorFlow 2.21 unpacks to 1.2 GB in 15,578 members, at a ratio of 5.
MAX_MEMBERS = 200_000
MAX_UNPACKED = 32 << 30
_BOMB_SIZE = 1 << 30
_BOMB_RATIO = 150
_ENCRYPTED = 0x1
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MAX_NAME = 255
"""Bytes of a file's name that Linux takes, here counted in characters."""


def damaged(path: Path, why: str) -> WheelError:
    """Return the error for a wheel that cannot be trusted."""
    return WheelError(f"{path.name} is damaged.", why=why, do="Download or build it again.")


def checked_members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return a wheel's files by name; nothing is unpacked.

    Raises:
        WheelError: a name leads out of the archive or is there twice, a member is encrypted or
            packed in a way that installers do not know, or the whole would unpack to far more
            than a wheel holds.
    """
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise damaged(path, f"It claims {len(infos)} members.")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        _check_name(path, info)
        _check_packing(path, info)
        if info.is_dir():
            continue
        if info.filename in members:
            raise damaged(path, f"{info.filename} is in it twice.")
        members[info.filename] = info
    _check_folders(path, infos)
    unpacked = sum(info.file_size for info in members.values())
    packed = sum(info.compress_size for info in members.values())
    is_bomb = unpacked > _BOMB_SIZE and unpacked > _BOMB_RATIO * max(packed, 1)
    if unpacked > MAX_UNPACKED or is_bomb:
        raise damaged(path, f"It would unpack from {packed} to {unpacked} bytes: a ZIP bomb.")
    return members


def _check_name(path: Path, info: zipfile.ZipInfo) -> None:
    # Lookalikes: programs that normalise names would read a "/" or ".." into them.
    name = info.orig_filename
    leads_out = any(map(_leads_out, {name, unicodedata.normalize("NFKC", name)}))
    if leads_out or info.filename != name:
        raise damaged(path, f"A member's name leads out of the archive: {name!r}.")


def _leads_out(name: str) -> bool:
    parts = name.removesuffix("/").split("/")
    return (
        _CONTROL.search(name) is not None
        or "\\" in name
        or ":" in parts[0]
        or any(part in {"", ".", ".."} for part in parts)
        or max(map(len, parts)) > _MAX_NAME
    )


def _check_folders(path: Path, infos: Iterable[zipfile.ZipInfo]) -> None:
    # In this order whatever lies below a name follows it at once.
    files = sorted(f"{info.filename}/" for info in infos if not info.is_dir())
    both = [upper for upper, lower in pairwise(files) if lower.startswith(upper)]
    both += {info.filename for info in infos if info.is_dir()} & set(files)
    if both:
        raise damaged(path, f"{both[0].removesuffix('/')} is a file and a folder in it.")


def _check_packing(path: Path, info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise WheelError(f"{path.name} is not a wheel.", why=f"{info.filename} is encrypted.")
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        how = f"by method {info.compress_type}; installers know stored and deflated files"
        raise WheelError(f"{path.name} is not a wheel.", why=f"{info.filename} is packed {how}.")
