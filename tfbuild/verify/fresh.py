"""Checks a wheel that has just been compiled: without running it, and in seconds."""

from pathlib import Path

from tfbuild.progress import Progress
from tfbuild.record import Checked
from tfbuild.target import Target
from tfbuild.verify import steps
from tfbuild.verify.context import Asked
from tfbuild.verify.verify import verify

NAMES = ("structure", "record", "platform", "instructions", "flags")
"""What a compile decides. What it needs of other packages is its release's affair."""


def checks(wheel: Path, target: Target, progress: Progress) -> tuple[Checked, ...]:
    """Return what the checks find, each in one sentence.

    Raises:
        SaveError: no room for the largest library in the temporary folder.
    """
    found = verify(wheel, steps.STATIC, NAMES, Asked(target=target), progress)
    return tuple(Checked(name=one.name, status=one.status, found=one.found) for one in found.checks)
