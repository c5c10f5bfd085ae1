"""Runs quantised ops whose exact results are known: check "quantised"."""

from pathlib import Path

from tfbuild.verify.model import Check
from tfbuild.verify.running import CannotRunError, Running, place, skipped


def check(wheel: Path, running: Running) -> Check:
    """Return the check "quantised".

    Args:
        wheel: the file.
        running: how wheels are run here.

    Raises:
        SaveError: the disk is full, or the cache cannot be written.
    """
    try:
        python = place(wheel, running).python
    except CannotRunError as error:
        return error.check("quantised")
    (one,) = skipped(f"{python} has not been asked yet.", ("quantised",))
    return one
