"""A saved search, read back. It may come from a stranger."""

from collections.abc import Iterator
from pathlib import Path

from tfbuild import artifact, saved
from tfbuild.errors import UsageError
from tfbuild.tune.candidates import DIMENSIONS
from tfbuild.tune.model import Tuning


def load(path: Path) -> Tuning:
    """Return a saved search, finished or not, once it is clear that it can be gone on with.

    Raises:
        UsageError: the file is none, too large, of another version, or damaged.
    """
    saved.look(path)
    found = artifact.load(Tuning, path)
    if wrong := next(_wrong(found), None):
        raise UsageError(f"{path} is damaged.", why=wrong)
    return found


def _wrong(found: Tuning) -> Iterator[str]:
    yield from saved.wrong_plan(found.plan)
    if not found.dimensions or set(found.dimensions) - set(DIMENSIONS):
        yield "It searches no dimension, or one that is not known."
