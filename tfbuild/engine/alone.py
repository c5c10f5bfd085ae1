"""Lets one build at a time into a folder; what a dead one has left never blocks the next.

Bazel itself would wait without a word for whoever works in its output folder. The lock is the
kernel's, so it goes with its process. A build script whose tfbuild was killed goes on: it is found
by what the lock's file says, and ended before the next build begins.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tfbuild import process
from tfbuild.engine.owner import alive, owner
from tfbuild.errors import EngineError, SaveError


@contextmanager
def alone(path: Path, what: str) -> Iterator[Callable[[int], None]]:
    """Hold the lock of that path; within the block nobody else gets it.

    The block gets a function that has to be told the number of the process that it starts, the
    leader of a process group.

    Args:
        path: a file, made if need be.
        what: what is being built, for the message to another.

    Raises:
        EngineError: another process works there; names it.
        SaveError: the file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise SaveError(f"Cannot write {path}.", why=error.strerror or str(error)) from error
    try:
        _take(handle)
        _end_orphan(handle, path)
        _write(handle, owner(), what)
        yield lambda script: _write(handle, owner(), what, owner(script))
    finally:
        os.close(handle)


def _take(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        name, what, _ = _read(handle)
        number = name.rpartition(":")[0].rpartition(":")[2]
        raise EngineError(
            "Another build works with this toolchain.",
            why=f"Process {number} compiles {what}.",
            do="Wait for it: both would write the same folders. For caches of its own, set "
            "XDG_CACHE_HOME.",
        ) from error


def _end_orphan(handle: int, path: Path) -> None:
    """End the script of a build whose tfbuild is gone."""
    script = _read(handle)[2]
    if not alive(script):
        return
    number = int(script.rsplit(":", maxsplit=2)[1])
    if not process.end_group(number):
        raise EngineError(
            "A build whose tfbuild was killed still runs, and cannot be ended.",
            why=f"It is process {number}; {path} names it.",
            do=f"End it: kill -9 -- -{number}",
        )


def _write(handle: int, *lines: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, "".join(f"{line}\n" for line in lines).encode(), 0)


def _read(handle: int) -> tuple[str, str, str]:
    """Return the owner, what it builds, and its script; "" for what is not told."""
    lines = os.pread(handle, 4096, 0).decode("utf-8", "replace").splitlines()
    name, what, script, *_ = [*lines, "", "", ""]
    return name, what, script
