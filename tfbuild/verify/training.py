"""Imports the wheel in a fresh environment and trains one step: checks "import", "training"."""

from pathlib import Path

from tfbuild.verify.model import Check
from tfbuild.verify.running import CannotRunError, Running, place, skipped

NAMES = ("import", "training")


def check(wheel: Path, running: Running) -> tuple[Check, ...]:
    """Return the checks "import" and "training".

    Args:
        wheel: the file.
        running: how wheels are run here.

    Raises:
        SaveError: the disk is full, or the cache cannot be written.
    """
    try:
        python = place(wheel, running).python
    except CannotRunError as error:
        return tuple(error.check(name) for name in NAMES)
    return skipped(f"{python} has not been asked yet.", NAMES)
