"""Keeps two processes from measuring into one file."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tfbuild.errors import SaveError, UsageError


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a result file for this process; a lock goes with its process, however that ends.

    Raises:
        UsageError: another process measures into it.
        SaveError: the folder cannot be written.
    """
    lock = path.with_name(f".{path.name[:200]}.lock")
    try:
        file = lock.open("a")
    except OSError as error:
        raise SaveError(f"Cannot write {path}.", why=error.strerror or str(error)) from error
    with file:
        if not _is_taken(file, lock):
            raise UsageError(
                f"{path} is in use: another tfbuild measures into it.",
                do="Wait for its end, or stop it with Ctrl-C; its finished rounds are kept.",
            )
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _is_taken(file: IO[str], lock: Path) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks, where nobody could hold one
    try:
        # Whoever held it may have taken it away just now, and the next one made another.
        return os.path.samestat(os.fstat(file.fileno()), lock.stat())
    except OSError:
        return False
