"""Why a process that ran a wheel did not end well, as a failed check."""

import re
from pathlib import Path
from typing import TypeVar

from tfbuild.code import minimum
from tfbuild.process import Completed
from tfbuild.verify import illegal
from tfbuild.verify.conversation import Request, Told
from tfbuild.verify.model import Check
from tfbuild.verify.running import Running

# What TensorFlow's own check says before it aborts (tensorflow/core/platform/cpu_feature_guard.cc).
_GUARD = re.compile(r"compiled to use (.+?) instructions, but these aren't available")
T = TypeVar("T")
_LAST_LINES = 12
_MOST_NEEDS = 5
_INSPECT = "`tfbuild inspect WHEEL --host` says what it needs and what this CPU has."


def check(name: str, told: Told[T], python: Path, request: Request, running: Running) -> Check:
    """Return the failed check of that name for a process that died, hung or gave up.

    After an illegal instruction it is run once more, watched, to find the instruction.
    """
    doing = f"Training {told.doing}" if told.doing else "Importing TensorFlow"
    if name == "quantised" and told.doing:
        doing = f"Computing {told.doing}"
    if told.software is not None and not told.doing:
        doing = "The process"
    stderr = told.ended.stderr if told.ended else ""
    if guard := _GUARD.search(stderr):
        return Check(
            name=name,
            status="failed",
            found="TensorFlow refuses to start on this CPU.",
            details=_needs(running),
            why=f"Its own check says that it was compiled to use {guard[1]}.",
            do=_INSPECT,
        )
    if told.seconds is not None:
        return Check(
            name=name,
            status="failed",
            found=f"{doing} did not end within {told.seconds:g} s.",
            details=_last(told.ended),
            why="It hangs, or this machine is too slow or too busy.",
        )
    if told.ended is not None and told.ended.signal_name == "SIGILL":
        return _illegal(name, doing, python, request, running)
    return _died(name, doing, told)


def _died(name: str, doing: str, told: Told[T]) -> Check:
    ended = told.ended
    if ended is not None and ended.signal_name:
        found, why = f"{doing} died of {ended.signal_name}.", ""
        if ended.signal_name == "SIGKILL":
            why = "Most often the kernel does that when memory runs out."
    elif told.error:
        found, why = f"{doing} failed.", told.error
    else:
        code = ended.exit_code if ended else "no"
        found, why = f"{doing} ended early, with exit code {code}.", ""
    return Check(name=name, status="failed", found=found, details=_last(ended), why=why)


def _illegal(name: str, doing: str, python: Path, request: Request, running: Running) -> Check:
    place = illegal.find(python, request, running)
    details: tuple[str, ...] = ()
    why = "It uses an instruction that this CPU lacks; which one could not be found out."
    if place is not None:
        details = (place.sentence,)
        lacking = ", ".join(sorted(set(place.extensions) - running.here.host.features))
        why = f"The instruction {place.instruction} needs {lacking or 'what this CPU lacks'}."
    return Check(
        name=name,
        status="failed",
        found=f"{doing} died of an illegal instruction (SIGILL).",
        details=(*details, *_needs(running)),
        why=why,
        do=_INSPECT,
    )


def _needs(running: Running) -> tuple[str, ...]:
    """Return what the evidence says of code that always runs and needs more than this CPU has."""
    if running.evidence is None:
        return ()
    needs = minimum.excess(running.evidence, running.here.host.features)
    return tuple(
        f"{need.extension}: {need.functions} functions, first {need.first[0].function} "
        f"({need.first[0].instruction}) in {need.first[0].library}"
        for need in needs[:_MOST_NEEDS]
        if need.first
    )


def _last(ended: Completed | None) -> tuple[str, ...]:
    """Return the last lines that the process wrote to standard error."""
    lines = ended.stderr.strip().splitlines() if ended else []
    return tuple(lines[-_LAST_LINES:])
