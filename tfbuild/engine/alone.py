"""Lets one build at a time into a folder; a dead one's leftovers never block the next.

Bazel itself would wait without a word for whoever works in its output folder. The lock is the
kernel's: it goes when the last process that holds it has ended. The build script holds it too, so
that a script whose tfbuild was killed is found, and ended, before the next one begins.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfbuild import process
from tfbuild.engine.owner import alive, owner
from tfbuild.errors import EngineError, SaveError

_PATIENCE = 30.0
_POLL = 0.1


class Lock:
    """A lock that is held."""

    def __init__(self, handle: int, name: str) -> None:
        self.handle = handle
        """To be inherited by the script."""
        self._name = name

    def started(self, script: int) -> None:
        """Write down which process the script is."""
        _write(self.handle, f"{self._name}\n{script}\n")


@contextmanager
def alone(path: Path, what: str) -> Iterator[Lock]:
    """Hold the lock of that path; within the block nobody else gets it.

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
        if not _take(handle):
            _end_orphan(handle, path)
        name = f"{owner()}\n{what}"
        _write(handle, f"{name}\n")
        yield Lock(handle, name)
    finally:
        # Not released by hand: a script that still runs keeps it.
        os.close(handle)


def _end_orphan(handle: int, path: Path) -> None:
    """Take over from a script whose tfbuild is gone; refuse if its tfbuild is alive."""
    name, what, script = _read(handle)
    if alive(name):
        raise EngineError(
            "Another build works with this toolchain.",
            why=f"Process {name.split(':')[-2]} compiles {what}.",
            do="Wait for it: both would write the same folders. For a cache of its own, set "
            "XDG_CACHE_HOME.",
        )
    if script:
        # Its process group has members as long as somebody holds the lock.
        process.end_group(script)
    deadline = time.monotonic() + _PATIENCE
    while not _take(handle):
        if time.monotonic() > deadline:
            raise EngineError(
                "A build whose tfbuild was killed still runs, and does not end.",
                why=f"Somebody holds {path}.",
                do=f"See who with: fuser -v {path}",
            )
        time.sleep(_POLL)


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def _read(handle: int) -> tuple[str, str, int]:
    """Return the owner, what it builds, and its script's process; "" and 0 where not told."""
    lines = os.pread(handle, 4096, 0).decode("utf-8", "replace").splitlines()
    name, what, script, *_ = [*lines, "", "", ""]
    return name, what, int(script) if script.isdigit() else 0
