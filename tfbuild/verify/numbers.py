"""Compares one training step of six architectures with another wheel's: check "numbers".

Both start from one seed, on the same generated data, in one thread. What differs then is how floats
were rounded, and what is wrong. RATIONALE.md says where the tolerances come from.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tfbuild.bench.suite import ARCHITECTURES
from tfbuild.demand import series
from tfbuild.errors import SaveError
from tfbuild.verify import trouble
from tfbuild.verify.conversation import Request, Told, counted, talk
from tfbuild.verify.difference import TOLERANCES, Difference, differences
from tfbuild.verify.model import Check
from tfbuild.verify.running import CannotRunError, Place, Running, pair

NAME = "numbers"
_MOST_LINES = 20


@dataclass(frozen=True, kw_only=True)
class Stepped:
    """One step; what it computed is in a file."""

    loss: float


def check(wheel: Path, running: Running, reference: str = "pip") -> Check:
    """Return the check "numbers".

    Args:
        wheel: the file, or an interpreter that has it installed.
        running: how wheels are run here.
        reference: what it is compared with, as a spec; "pip" is the official wheel of its version.

    Raises:
        SaveError: the disk is full, or the cache cannot be written.
    """
    try:
        return compared(pair(wheel, reference, running), running)
    except CannotRunError as error:
        return error.check(NAME)


def compared(places: tuple[Place, Place], running: Running) -> Check:
    """Return the check "numbers" of what is installed in the first place against the second.

    Raises:
        SaveError: the disk is full.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="tfbuild-numbers-") as folder:
            return _compared(places, Path(folder), running)
    except OSError as error:
        raise SaveError(
            "There is no room for the numbers of two wheels (200 MB).",
            why=error.strerror or str(error),
            do="Set TMPDIR to a folder with room.",
        ) from error


def _compared(places: tuple[Place, Place], folder: Path, running: Running) -> Check:
    told: list[Told[Stepped]] = []
    for place, name in zip(places, ("wheel", "reference"), strict=True):
        (folder / name).mkdir()
        request = Request(tasks=("steps",), folder=folder / name)
        one = _stepped(place, request, running)
        if not one.ok:
            failed = trouble.check(NAME, one, place.python, request, running)
            return failed if name == "wheel" else _no_reference(place, failed)
        told.append(one)
    if other := _other_software(told[0], told[1], places):
        return other
    found = tuple(
        difference
        for name in ARCHITECTURES
        for difference in differences(
            name, folder / f"wheel/{name}.npz", folder / f"reference/{name}.npz"
        )
    )
    return _judged(found, places[1].choice.description)


def _stepped(place: Place, request: Request, running: Running) -> Told[Stepped]:
    who = f"{place.choice.distribution} {place.choice.version}"
    running.progress.phase(f"One step of each architecture with {who}", len(ARCHITECTURES))
    told = talk(place.python, request, Stepped, running, counted(running))
    if "No space left on device" in told.error:
        raise OSError(told.error)
    return told


def _no_reference(place: Place, failed: Check) -> Check:
    return Check(
        name=NAME,
        status="skipped",
        found=f"{place.choice.description}, to compare with, does not run here: {failed.found}",
        details=(failed.why,) if failed.why else (),
    )


def _other_software(
    wheel: Told[Stepped], reference: Told[Stepped], places: tuple[Place, Place]
) -> Check | None:
    """Return the check as skipped where the two cannot be compared."""
    if wheel.software is None or reference.software is None:
        return None
    for what in ("tensorflow", "keras"):
        one, other = getattr(wheel.software, what), getattr(reference.software, what)
        if series(one) != series(other):
            return Check(
                name=NAME,
                status="skipped",
                found=f"{one} and {other} of {what} begin from other numbers by design.",
                details=tuple(str(place.python) for place in places),
                # Each environment has the Keras that was the newest when it was made.
                do="Remove the older of these environments: a new one takes the newest Keras."
                if what == "keras"
                else "Name a reference of the same series with --against.",
            )
    return None


def _judged(found: Sequence[Difference], reference: str) -> Check:
    kinds = list(TOLERANCES)
    wrong = [one for one in found if not one.is_tolerable]
    # The first is where it begins; a sort leaves the order of variables as it is.
    wrong.sort(key=lambda one: (ARCHITECTURES.index(one.architecture), kinds.index(one.kind)))
    if wrong:
        names = [name for name in ARCHITECTURES if any(one.architecture == name for one in wrong)]
        return Check(
            name=NAME,
            status="failed",
            found=f"One step from the same seed gives other numbers than {reference}: "
            f"{', '.join(names)}.",
            details=tuple(one.sentence for one in wrong[:_MOST_LINES]),
            why=_cause(wrong),
            do="The first line of each architecture is where it begins: what goes in is right.",
        )
    return Check(
        name=NAME,
        status="passed",
        found=f"One step of {len(ARCHITECTURES)} architectures computes what {reference} does, "
        f"but for rounding.",
        details=tuple(_worst(found, kind) for kind in TOLERANCES),
    )


def _cause(wrong: Sequence[Difference]) -> str:
    kinds = [kind for kind in TOLERANCES if any(one.kind == kind for one in wrong)]
    if kinds[0] == "weights":
        return "The first weights differ already: random numbers, or what is made of them."
    return f"The first weights are the same, the {kinds[0]} differ more than rounding explains."


def _worst(found: Sequence[Difference], kind: str) -> str:
    worst = max((one for one in found if one.kind == kind), key=lambda one: one.norm)
    return worst.sentence
