"""The check "record": each file against the hash and size that the wheel's RECORD names.

Neither pip nor uv compares them when it installs, so nobody else notices a file that was changed.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from tfbuild.verify.judge import judged
from tfbuild.verify.model import Check
from tfbuild.verify.subject import STRONG, Row, Subject

NAME = "record"
_UNLISTED = ("RECORD", "RECORD.jws", "RECORD.p7s")


def check(subject: Subject) -> Check:
    """Compare every file with RECORD, both ways."""
    if subject.rows_fault:
        return Check(
            name=NAME,
            status="failed",
            found="RECORD cannot be read.",
            why=subject.rows_fault,
            do="Build or download the wheel again.",
        )
    good = f"All {len(subject.files)} files have the hash and size that RECORD names."
    return judged(
        NAME,
        good=good,
        faults=list(_faults(subject)),
        oddities=list(_oddities(subject)),
        why="The files are not those that the wheel was made from, or RECORD was not kept up.",
        do="Do not install it; build or download it again."
        if subject.beside is None
        else "Install it again: pip install --force-reinstall --no-deps",
    )


def _faults(subject: Subject) -> Iterator[str]:
    own = {f"{subject.dist_info}/{name}" for name in _UNLISTED}
    listed = {row.path for row in subject.rows}
    for name in subject.files:
        if name not in own and name not in listed:
            yield f"{name} is not in RECORD."
    for row in subject.rows:
        if row.path not in own:
            yield from _row(row, subject)
    for path, times in Counter(row.path for row in subject.rows).items():
        if times > 1:
            yield f"{path} is in RECORD {times} times."


def _row(row: Row, subject: Subject) -> Iterator[str]:
    parts = PurePosixPath(row.path).parts
    seen = subject.files.get(row.path)
    if row.path.startswith("/") or ".." in parts or "\\" in row.path:
        yield f"RECORD names a path outside the wheel: {row.path!r}."
    elif row.path in subject.unreadable:
        yield f"{row.path} cannot be unpacked: {subject.unreadable[row.path]}"
    elif seen is None:
        yield f"{row.path} is in RECORD but not {'there' if subject.beside else 'in the wheel'}."
    elif not row.algorithm:
        yield f"{row.path} has no hash in RECORD."
    elif row.algorithm not in STRONG:
        yield f"{row.path} has a {row.algorithm} hash in RECORD; SHA-256 is the least allowed."
    elif row.digest != seen.digest:
        yield f"{row.path} does not fit its hash in RECORD."
    elif row.size and row.size != str(seen.size):
        yield f"{row.path} has {seen.size} bytes; RECORD says {row.size}."


def _oddities(subject: Subject) -> Iterator[str]:
    without = sum(not row.size and row.algorithm != "" for row in subject.rows)
    if without:
        yield f"{without} files have no size in RECORD."
    for name in _UNLISTED[1:]:
        if f"{subject.dist_info}/{name}" in subject.files:
            yield f"It carries {name}, a signature that no installer verifies (PEP 815)."
