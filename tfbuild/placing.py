"""Puts a wheel and its record into their place: both whole, and each fits the other."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfbuild import artifact, signals
from tfbuild.engine.owner import alive, owner
from tfbuild.errors import SaveError
from tfbuild.record import BuiltWheel, record_path

_PREFIX = ".tfbuild-"
_OWNER = "owner"


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """Make a hidden folder in the folder of the wheels, so that the last step is a rename.

    It also shows early whether wheels can be written there at all. What a killed tfbuild has left
    there goes.

    Raises:
        SaveError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        made = tempfile.TemporaryDirectory(dir=folder, prefix=_PREFIX)
        (Path(made.name) / _OWNER).write_text(owner(), encoding="utf-8")
    except OSError as error:
        raise SaveError(
            f"Wheels cannot be written to {folder}.",
            why=error.strerror or str(error),
            do="Name another folder with --output-dir.",
        ) from error
    with made as name:
        # Before Python 3.12 the name may be relative, and build scripts change their folder.
        yield Path(name).absolute()


def put(wheel: Path, place: Path, record: BuiltWheel) -> None:
    """Move a wheel to its place, with its record beside it.

    Whoever looks at any moment, a kill in the middle included, sees no wheel but a whole one, and
    beside it the record that fits. All is written before anything is moved, so a full disk changes
    nothing.

    Args:
        wheel: a file in a `workspace`.
        place: where it goes; a wheel that is there is replaced.
        record: of that wheel.

    Raises:
        SaveError: the disk is full, or the place may not be written.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if wheel.stat().st_dev != place.parent.stat().st_dev:
            with workspace(place.parent) as near:
                put(Path(shutil.copyfile(wheel, near / wheel.name)), place, record)
            return
        ready = artifact.save(record, wheel.with_name(record_path(wheel).name))
        with wheel.open("rb+") as file:
            os.fsync(file.fileno())
        with signals.held():
            place.unlink(missing_ok=True)
            ready.replace(record_path(place))
            wheel.replace(place)
    except OSError as error:
        raise SaveError(f"Cannot save {place}.", why=error.strerror or str(error)) from error


def _clear(folder: Path) -> None:
    """Remove workspaces whose process is gone."""
    for left in folder.glob(f"{_PREFIX}*"):
        try:
            name = (left / _OWNER).read_text(encoding="utf-8")
        except OSError:
            continue
        host = name.partition(":")[0]
        # Another machine may share this folder.
        if host == owner().partition(":")[0] and not alive(name):
            shutil.rmtree(left, ignore_errors=True)
