"""Gives a wheel its label: the local version that tells a user which CPU it was compiled for.

"2.21.0" becomes "2.21.0+skylake" in the file name, the .dist-info (and .data) folder, METADATA and
RECORD. Everything else keeps its bytes. The same wheel, label and extra files give the same result,
byte for byte, wherever the same zlib runs.
"""

import csv
import hashlib
import io
import os
import re
import stat
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from packaging.version import InvalidVersion, Version

from tfbuild import artifact
from tfbuild.errors import UsageError, WheelError
from tfbuild.wheel import archive as archives
from tfbuild.wheel.archive import Archive
from tfbuild.wheel.members import damaged

_LABEL = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+)*")
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")
_OURS = frozenset({"METADATA", "WHEEL", "RECORD"})
_NOTHING: Mapping[str, bytes] = MappingProxyType({})
# The range that a ZIP archive's DOS time can hold: 1980-01-01 to 2107-12-31.
_FIRST_MOMENT = 315532800
_LAST_MOMENT = 4354819199
_DosTime: TypeAlias = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class _Member:
    name: str
    """In the new wheel."""
    executable: bool
    size: int
    chunks: Iterable[bytes]
    expected: str
    """The old RECORD's hash, or empty."""


def relabel(
    wheel: Path,
    label: str,
    folder: Path,
    extra: Mapping[str, bytes] = _NOTHING,
    *,
    moment: int | None = None,
) -> Path:
    """Write a labelled copy of the wheel.

    Args:
        wheel: the wheel as it was built.
        label: local version, `[a-z][a-z0-9.]*`: "skylake", "x86.64.v3".
        folder: where the new wheel goes; made if missing.
        extra: files for the .dist-info folder, name -> content.
        moment: time of all files, seconds since 1970; None takes `moment_of(None)`.

    Returns:
        The new wheel. It appears whole or not at all.

    Raises:
        UsageError: the label or the name of an extra file is not allowed.
        WheelError: the wheel is damaged, signed, or already has another label.
        SaveError: the new wheel cannot be written.
    """
    check_label(label)
    _check_extra(extra)
    with archives.opened(wheel) as source:
        _check(source, label)
        version = Version(f"{source.file_name.version.public}+{label}")
        target = folder / _file_name(wheel, version)
        with artifact.writing(target) as file, zipfile.ZipFile(file, "w") as new:
            _write(new, source, version, extra, _dos_time(moment_of(moment)))
    return target


def moment_of(source: int | None) -> int:
    """Return the time that a wheel's files get, in seconds since 1970.

    SOURCE_DATE_EPOCH counts, if it holds a time that a ZIP archive can; else that of the source.
    """
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    wanted = int(stated) if stated.isdecimal() else -1
    for moment in (wanted, source or -1):
        if _FIRST_MOMENT <= moment <= _LAST_MOMENT:
            # DOS time counts in steps of two seconds.
            return moment - moment % 2
    return _FIRST_MOMENT


def check_label(label: str) -> None:
    """Check that a label is a normalised local version that starts with a letter.

    Raises:
        UsageError: it is not.
    """
    try:
        normal = str(Version(f"0+{label}").local)
    except InvalidVersion:
        normal = ""
    if _LABEL.fullmatch(label) and normal == label:
        return
    raise UsageError(
        f"{label!r} cannot be a wheel's label.",
        why="A label is lower-case letters and digits in parts divided by dots; "
        "it begins with a letter, and a part that is a number has no leading zero.",
        do=f"Try {normal!r}." if normal and _LABEL.fullmatch(normal) else "",
    )


def _check_extra(extra: Mapping[str, bytes]) -> None:
    for name in extra:
        plain = all(part not in {"", ".", ".."} for part in name.split("/"))
        if not plain or "\\" in name or name in _OURS or name in _SIGNATURES:
            raise UsageError(f"{name!r} cannot be an extra file of a wheel.")


def _check(source: Archive, label: str) -> None:
    there = source.file_name.version.local
    if there not in {None, label}:
        raise WheelError(
            f"{source.path.name} already has the label {there!r}.",
            why="A wheel carries one label; a second would say what it was not compiled for.",
            do="Label the wheel as the build made it.",
        )
    for name in _SIGNATURES:
        if f"{source.dist_info}/{name}" in source.members:
            raise WheelError(
                f"{source.path.name} is signed ({name}).",
                why="A label changes RECORD, and the signature would no longer fit.",
                do="Label the wheel before it is signed.",
            )


def _file_name(wheel: Path, version: Version) -> str:
    name, _, *rest = wheel.name.split("-")
    return "-".join([name, str(version), *rest])


def _write(
    new: zipfile.ZipFile,
    source: Archive,
    version: Version,
    extra: Mapping[str, bytes],
    moment: _DosTime,
) -> None:
    name = source.dist_info.partition("-")[0]
    dist_info = f"{name}-{version}.dist-info"
    rows: list[tuple[str, str, str]] = []
    # .dist-info comes last, as the wheel specification recommends, and RECORD at its end.
    members = _members(source, f"{name}-{version}", version, extra)
    for member in sorted(members, key=lambda m: (m.name.startswith(f"{dist_info}/"), m.name)):
        found, size = _add(new, member, moment)
        if member.expected.startswith("sha256=") and member.expected != found:
            raise damaged(source.path, f"{member.name} does not fit its hash in RECORD.")
        rows.append((member.name, found, str(size)))
    record = f"{dist_info}/RECORD"
    data = _csv([*rows, (record, "", "")])
    _add(new, _made(record, data), moment)


def _members(
    source: Archive, stem: str, version: Version, extra: Mapping[str, bytes]
) -> Iterator[_Member]:
    old_stem = source.dist_info.removesuffix(".dist-info")
    recorded = archives.record_rows(source)
    made = {"METADATA": _metadata(source, version), **extra}
    for name, content in made.items():
        yield _made(f"{stem}.dist-info/{name}", content)
    replaced = {f"{source.dist_info}/{name}" for name in (*made, "RECORD")}
    for name, info in source.members.items():
        if name in replaced:
            continue
        top, _, rest = name.partition("/")
        moved = {f"{old_stem}.dist-info": f"{stem}.dist-info", f"{old_stem}.data": f"{stem}.data"}
        yield _Member(
            name=f"{moved.get(top, top)}/{rest}" if rest else top,
            executable=bool(info.external_attr >> 16 & 0o111),
            size=info.file_size,
            chunks=source.chunks(name),
            expected=recorded.get(name, ""),
        )


def _made(name: str, content: bytes) -> _Member:
    return _Member(name=name, executable=False, size=len(content), chunks=[content], expected="")


def _add(new: zipfile.ZipFile, member: _Member, moment: _DosTime) -> tuple[str, int]:
    info = zipfile.ZipInfo(member.name, date_time=moment)
    info.create_system = 3  # Unix, wherever this runs: the permissions below are Unix's
    info.external_attr = (stat.S_IFREG | (0o755 if member.executable else 0o644)) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    info.file_size = member.size  # decides between ZIP and ZIP64 before the first byte
    hasher = hashlib.sha256()
    size = 0
    with new.open(info, "w") as file:
        for chunk in member.chunks:
            hasher.update(chunk)
            size += file.write(chunk)
    return archives.digest_text(hasher.digest()), size


def _metadata(source: Archive, version: Version) -> bytes:
    head, blank, body = re.split(rb"(\r?\n\r?\n|\Z)", source.text("METADATA"), maxsplit=1)
    lines = re.findall(rb"(?im)^version:[ \t]*([^\r\n]*)", head)
    try:
        stated = [Version(line.decode().strip()) for line in lines]
    except (InvalidVersion, UnicodeDecodeError):
        stated = []
    if stated != [source.file_name.version]:
        raise damaged(source.path, "METADATA does not state the file name's version.")
    changed = re.sub(rb"(?im)^(version:[ \t]*)[^\r\n]*", rb"\g<1>%s" % str(version).encode(), head)
    return changed + blank + body


def _csv(rows: Iterable[tuple[str, str, str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _dos_time(moment: int) -> _DosTime:
    parts = time.gmtime(moment)
    return (parts.tm_year, parts.tm_mon, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec)
