"""Keeps two processes from measuring into one file."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        file = lock.open("w")
    except OSError as error:
        raise SaveError(f"Cannot write {path}.", why=error.strerror or str(error)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f"{path} is in use: another tfbuild measures into it.",
                do="Wait for its end, or stop it with Ctrl-C; its finished rounds are kept.",
            ) from error
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
