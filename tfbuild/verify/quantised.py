"""Runs quantised ops and casts whose exact results are known: check "quantised".

Code for AVX-512 once returned quantised numbers in a wrong order (tensorflow issue 49944, xla issue
17800).
"""

from dataclasses import dataclass
from pathlib import Path

from tfbuild.verify import trouble
from tfbuild.verify.conversation import Request, Told, counted, talk
from tfbuild.verify.model import Check
from tfbuild.verify.running import CannotRunError, Running, place

NAME = "quantised"


@dataclass(frozen=True, kw_only=True)
class Computed:
    """What one op or cast came to."""

    values: int
    wrong: int
    """How many of them are not what they should be."""
    first: str | None
    """The first of those, in words."""
    shuffled: bool
    """Whether all numbers are there, in another order."""


_REQUEST = Request(tasks=("quantised",))
_ORDER = "The right numbers in a wrong order: what AVX-512 code did in tensorflow issue 49944."


def check(wheel: Path, running: Running) -> Check:
    """Return the check "quantised".

    Args:
        wheel: the file, or an interpreter that has it installed.
        running: how wheels are run here.

    Raises:
        SaveError: the disk is full, or the cache cannot be written.
    """
    try:
        where = place(wheel, running)
    except CannotRunError as error:
        return error.check(NAME)
    running.progress.phase("Computing with quantised numbers")
    told = talk(where.python, _REQUEST, Computed, running, counted(running))
    if not told.ok:
        return trouble.check(NAME, told, where.python, _REQUEST, running)
    return _judged(told)


def _judged(told: Told[Computed]) -> Check:
    wrong = [_line(name, result) for name, result in told.results.items() if result.wrong]
    values = sum(result.values for result in told.results.values())
    count = len(told.results)
    if not count or not values:
        return Check(name=NAME, status="failed", found="No quantised number was computed.")
    if not wrong:
        found = f"All {values:,} results of {count} quantised ops and casts are exact."
        return Check(name=NAME, status="passed", found=found)
    shuffled = any(result.shuffled for result in told.results.values())
    return Check(
        name=NAME,
        status="failed",
        found=f"{len(wrong)} of {count} quantised ops and casts compute wrong numbers.",
        details=tuple(wrong),
        why=_ORDER if shuffled else "",
        do="Do not use quantised models with this wheel. Without AVX-512 (--target haswell) the "
        "code in question is not compiled."
        if shuffled
        else "",
    )


def _line(name: str, result: Computed) -> str:
    order = " (right numbers, wrong order)" if result.shuffled else ""
    return f"{name}: {result.wrong} of {result.values} wrong{order}; {result.first}"
