"""What was asked: whether it fits together, and whether the wheel can be put where it shall go."""

import os
from collections.abc import Iterator
from pathlib import Path

from tfbuild import build
from tfbuild.errors import SaveError, UsageError
from tfbuild.preflight.finding import Finding, failure, ok, warning
from tfbuild.preflight.inquiry import Inquiry


def recipe(inquiry: Inquiry) -> Iterator[Finding]:
    """Tell every reason why there is no recipe, or what it is and what is known to be wrong."""
    question = inquiry.question
    for refusal in question.refusals:
        yield failure("recipe", refusal)
    made = question.recipe
    if made is None:
        return
    yield ok(
        "recipe",
        f"TensorFlow {made.tensorflow}, Python {made.python}, {made.target.name} "
        f"({' '.join(made.flags)}), {made.compiler}",
    )
    for problem in made.known_problems:
        yield warning("recipe", problem)


def output(inquiry: Inquiry) -> Iterator[Finding]:
    """Check that the wheel's folder can be written, and that no other recipe's wheel is there."""
    question = inquiry.question
    folder = question.output_dir
    cannot = _cannot_write(folder)
    if cannot is not None:
        yield failure("output", cannot)
        return
    if question.recipe is not None and not question.replace:
        try:
            build.check_others(question.recipe, folder)
        except UsageError as error:
            yield failure("output", error)
            return
    yield ok("output", f"{folder} can be written")


def _cannot_write(folder: Path) -> SaveError | None:
    """Return why the folder cannot be made or written to, as far as one can tell by looking."""
    place = existing(folder)
    why = ""
    if not place.is_dir():
        why = f"{place} is no folder."
    elif os.statvfs(place).f_flag & os.ST_RDONLY:
        why = f"{place} is read-only."
    elif not os.access(place, os.W_OK | os.X_OK):
        why = f"This user may not write to {place}."
    if not why:
        return None
    return SaveError(
        f"Wheels cannot be written to {folder}.",
        why=why,
        do="Name another folder with --output-dir.",
    )


def existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    path = path.absolute()
    # A path below a file is as little there as one that nobody has made.
    while not _exists(path) and path != path.parent:
        path = path.parent
    return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
