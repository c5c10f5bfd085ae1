"""A static package index: plain files that any web server, bucket or `file://` URL can serve.

    DIR/index.html                          for people: the roots
    DIR/files/<wheel>                       every wheel, once
    DIR/files/<wheel>.metadata              its METADATA (PEP 658), so that installers need not
                                            fetch hundreds of megabytes to read dependencies
    DIR/files/<wheel>.json                  how it was compiled, where that is known
    DIR/<label>/simple/<project>/           the wheels of one label ("skylake")
    DIR/unlabelled/simple/<project>/        wheels without a label
    DIR/all/simple/<project>/               everything, for exact pins

Labels do not order by speed: of 2.21.0+haswell and 2.21.0+skylake an installer takes the one that
is last in the alphabet, on any CPU. So each label has a root of its own.

Each page stands as `index.html` and, for servers that negotiate content, as `index.v1_json`
(`application/vnd.pypi.simple.v1+json`). `files/` is the truth and pages are views of it: they are
written last, each whole or not at all, so a publish that is killed leaves every page as it was,
and the next one completes it. To withdraw a wheel, delete it there and publish another.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tfbuild import artifact
from tfbuild.errors import PublishError, SaveError, UsageError, WheelError
from tfbuild.index import links
from tfbuild.index.views import (
    ALL,
    UNLABELLED,
    metadata_path,
    root_name,
    simple,
    write_if_changed,
    write_pages,
)
from tfbuild.index.wheelfile import WheelFile
from tfbuild.progress import Progress
from tfbuild.record import BuiltWheel, record_path

RESERVED = frozenset({ALL, UNLABELLED, "files", "index.html"})
LOCK_SECONDS = 600.0
_CHUNK = 2**20


def add(root: Path, wheel: WheelFile, progress: Progress) -> bool:
    """Put a wheel into the index; return False when these very bytes were there already.

    Raises:
        PublishError: other bytes stand under this name, the label has the name of a fixed folder,
            another process holds the index, or what was read back differs.
        SaveError: the folder cannot be written, or the disk is full.
    """
    _check_place(root, wheel)
    try:
        record = _record(wheel)
        with _locked(root, progress):
            return _add(root, wheel, record, progress)
    except OSError as error:
        raise SaveError(
            f"Cannot publish {wheel.filename} to {root}.",
            why=f"{error.filename or root}: {error.strerror or error}",
            do="Make the folder readable and writable for you, or choose another.",
        ) from error


def _add(root: Path, wheel: WheelFile, record: bytes | None, progress: Progress) -> bool:
    files = root / "files"
    for rest in files.glob(".*.part"):
        rest.unlink()  # of a publish that was killed: nobody else writes while we hold the index
    target = files / wheel.filename
    new = not target.exists()
    if new:
        _copy(wheel, target, progress)
    _verify(target, wheel, new=new)
    write_if_changed(metadata_path(target), wheel.metadata)
    if record is not None:
        write_if_changed(record_path(target), record)
    write_pages(root, wheel.project, known={wheel.filename: wheel})
    _verify_page(root, wheel)
    return new


def _check_place(root: Path, wheel: WheelFile) -> None:
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file, not a folder.", do="Give --index a folder or a URL.")
    if wheel.label in RESERVED:
        raise PublishError(
            f"{wheel.filename} cannot be published to a folder.",
            why=f"Its label {wheel.label!r} is the name of a fixed part of the index.",
            do="Give the wheel another label.",
        )


def _record(wheel: WheelFile) -> bytes | None:
    """Return the record beside the wheel; None if there is none or the JSON is something else's."""
    path = record_path(wheel.path)
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        fields: Any = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise WheelError(f"The record {path} is not JSON.", why=str(error)) from error
    if not isinstance(fields, dict) or not _is_record(fields.get("schema")):
        return None
    if fields.get("sha256") != wheel.sha256:
        raise WheelError(
            f"The record {path} describes another wheel.",
            why=f"It says sha256 {fields.get('sha256')}; the wheel has {wheel.sha256}.",
            do="Remove the record, or bring the wheel that it describes.",
        )
    return data


def _is_record(schema: object) -> bool:
    return isinstance(schema, str) and schema.partition("/")[0] == BuiltWheel.SCHEMA


@contextmanager
def _locked(root: Path, progress: Progress) -> Iterator[None]:
    """Hold the index; the system lets go of it when this process ends, however it ends."""
    path = root / ".lock"
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise SaveError(
            f"Cannot write to the index {root}.",
            why=error.strerror or str(error),
            do="Choose another place, or make this one writable.",
        ) from error
    try:
        _wait(handle, root, progress)
        yield
    finally:
        os.close(handle)


def _wait(handle: int, root: Path, progress: Progress) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    told = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise PublishError(
                    f"The index {root} is in use.",
                    why=f"Another publish has held it for {LOCK_SECONDS:g} s.",
                    do="Try again when that one has ended.",
                ) from None
            if not told:
                progress.note(f"Another publish is at work in {root}; waiting for it.")
            told = True
            time.sleep(0.1)
        else:
            return


def _copy(wheel: WheelFile, target: Path, progress: Progress) -> None:
    total = max(1, wheel.size // _CHUNK)
    progress.phase(f"Copying {wheel.filename} (MiB)", total)
    with wheel.path.open("rb") as source, artifact.writing(target) as file:
        for done, chunk in enumerate(iter(lambda: source.read(_CHUNK), b""), start=1):
            file.write(chunk)
            progress.step(min(done, total))


def _verify(target: Path, wheel: WheelFile, *, new: bool) -> None:
    """Read the file back and compare; a fresh copy comes from the disk, not from memory."""
    with target.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found == wheel.sha256:
        return
    if not new:
        raise refused(wheel, found, str(target.parent))
    target.unlink()
    raise PublishError(
        f"{target} is not what was written.",
        why=f"It reads back with sha256 {found}; {wheel.path} had {wheel.sha256}. The wheel "
        "changed during the copy, or the disk is failing.",
        do="Nothing was listed. Run the same command again, or choose another disk.",
    )


def _verify_page(root: Path, wheel: WheelFile) -> None:
    for name in (root_name(wheel), ALL):
        page = simple(root, name) / wheel.project / "index.html"
        text = page.read_text(encoding="utf-8")
        link = links.find(links.parse(text, url=page.absolute().as_uri()), wheel.filename)
        if link is None or link.sha256 != wheel.sha256:
            raise PublishError(
                f"{page} does not list {wheel.filename} as it was published.",
                why="Something else writes to this index at the same time.",
            )


def refused(wheel: WheelFile, found: str, place: str) -> PublishError:
    """Return the error for other bytes under a wheel's name."""
    return PublishError(
        f"{place} holds another {wheel.filename}.",
        why=f"There it has sha256 {found}; {wheel.path} has {wheel.sha256}. A published file never "
        "changes: installers and lock files remember its digest.",
        do="Publish under another version or label, or remove the file there first if nobody "
        "can have installed it.",
    )
