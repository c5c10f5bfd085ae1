"""The checks that read a wheel and run nothing of it."""

from collections.abc import Callable, Collection
from pathlib import Path

from tfbuild.errors import WheelError
from tfbuild.progress import Progress, Silent
from tfbuild.verify import needed, pins, platform, python, record, structure
from tfbuild.verify.judge import skipped
from tfbuild.verify.model import Check
from tfbuild.verify.subject import Subject, read
from tfbuild.wheel import archive

_SILENT = Silent()
_CHECKS: dict[str, Callable[[Subject], Check]] = {
    structure.NAME: structure.check,
    record.NAME: record.check,
    platform.NAME: platform.check,
    needed.NAME: needed.check,
    python.NAME: python.check,
    pins.NAME: pins.check,
}
NAMES = tuple(_CHECKS)
"""In the order in which they are done."""
UNOPENED = "The wheel cannot be opened."


def checks(
    path: Path, *, skip: Collection[str] = (), progress: Progress = _SILENT
) -> tuple[Check, ...]:
    """Read a wheel from its first to its last byte and check it.

    A wheel that cannot be opened fails "structure", and the other checks are skipped.

    Args:
        path: the wheel.
        skip: names of checks to leave out.
        progress: told the megabytes read.

    Raises:
        SaveError: no room for the largest library in the temporary folder.
    """
    names = [name for name in NAMES if name not in skip]
    try:
        with archive.opened(path) as wheel:
            subject = read(wheel, progress)
    except WheelError as error:
        return tuple(_unopened(name, error) for name in names)
    return tuple(_CHECKS[name](subject) for name in names)


def _unopened(name: str, error: WheelError) -> Check:
    if name != structure.NAME:
        return skipped(name, UNOPENED)
    return Check(name=name, status="failed", found=error.what, why=error.why, do=error.do)
