"""Does all checks of a wheel or of what is installed, the cheap and telling ones first."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfbuild.errors import UsageError, WheelError, suggestion
from tfbuild.progress import Progress, Silent
from tfbuild.verify import static
from tfbuild.verify.context import Asked, Context
from tfbuild.verify.judge import skipped
from tfbuild.verify.model import Check, Verification

_SILENT = Silent()
_TRUST = ("structure", "record")


@dataclass(frozen=True, kw_only=True)
class Step:
    """Checks that are done together."""

    names: tuple[str, ...]
    """What they are asked for by."""
    title: str
    """What goes on, for people."""
    run: Callable[[Context], tuple[Check, ...]]
    """Returns a check for each name, in their order."""
    runs_wheel: bool = False
    """Whether code of the wheel is run, in a fresh environment."""


def verify(
    wheel: Path,
    steps: Sequence[Step],
    names: Collection[str],
    asked: Asked,
    progress: Progress = _SILENT,
) -> Verification:
    """Do the checks of those names, in the order of the steps.

    Code of the wheel is run only where its files are what they should be and this machine can run
    it; else such checks are skipped, with the reason.

    Raises:
        WheelError: the file cannot be read at all.
        TfbuildError: this machine lacks what a check needs to work (room on the disk).
    """
    return checked(Context(wheel, asked, progress), steps, names)


def checked(context: Context, steps: Sequence[Step], names: Collection[str]) -> Verification:
    """Do the checks of those names of a wheel or an installation; else as `verify`."""
    sha256 = context.sha256
    done: list[Check] = []
    for step in steps:
        if not set(step.names) & set(names):
            continue
        context.progress.phase(step.title)
        done += (check for check in _do(step, context, done) if check.name in names)
    return Verification(
        wheel=context.name,
        sha256=sha256,
        target=context.target.name if context.target else None,
        checks=tuple(done),
    )


def chosen(steps: Sequence[Step], only: Iterable[str], skip: Iterable[str]) -> tuple[str, ...]:
    """Return the names of those checks, or of all, less those to skip; in their own order.

    Raises:
        UsageError: there is no check of such a name, or none is left.
    """
    only, skip = list(only), list(skip)
    known = [name for step in steps for name in step.names]
    for name in (*only, *skip):
        if name not in known:
            raise UsageError(
                f"There is no check {name!r} here.",
                why=suggestion(name, known),
                do=f"The checks are: {', '.join(known)}.",
            )
    left = tuple(name for name in known if (not only or name in only) and name not in skip)
    if not left:
        raise UsageError("No check is left to be done.", do=f"Choose from: {', '.join(known)}.")
    return left


def _do(step: Step, context: Context, done: Collection[Check]) -> tuple[Check, ...]:
    try:
        if step.runs_wheel and (why := _why_not_run(context, done)):
            return tuple(Check(name=name, status="skipped", found=why) for name in step.names)
        return step.run(context)
    except WheelError as error:
        if any(check.found == error.what for check in done if check.status == "failed"):
            return tuple(skipped(name, static.UNOPENED) for name in step.names)
        # The reader of whatever it was met a damage that the check did not look for.
        return tuple(
            Check(name=name, status="failed", found=error.what, why=error.why, do=error.do)
            for name in step.names
        )


def _why_not_run(context: Context, done: Collection[Check]) -> str:
    broken = [check.name for check in done if check.status == "failed" and check.name in _TRUST]
    if broken:
        return f"Not run, because {' and '.join(broken)} failed: nothing of such a wheel is run."
    return f"Not run: {context.why_not_here}" if context.why_not_here else ""
