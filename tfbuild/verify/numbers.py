"""Compares one training step of six architectures with another wheel: check "numbers"."""

from pathlib import Path

from tfbuild.verify.model import Check
from tfbuild.verify.running import CannotRunError, Running, place, skipped


def check(wheel: Path, running: Running, reference: str = "pip") -> Check:
    """Return the check "numbers".

    Args:
        wheel: the file.
        running: how wheels are run here.
        reference: what it is compared with, as a spec; "pip" is the official wheel of its version.

    Raises:
        SaveError: the disk is full, or the cache cannot be written.
    """
    try:
        python = place(wheel, running).python
    except CannotRunError as error:
        return error.check("numbers")
    (one,) = skipped(f"{python} has not been compared with {reference} yet.", ("numbers",))
    return one
