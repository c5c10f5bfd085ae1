"""What the checks that run a wheel have in common: its environment, and how a process ended.

`training`, `numbers` and `quantised` start the script `benchmarks/checker.py` inside an environment
that holds the wheel and what it needs. The caller decides beforehand whether this CPU can run the
wheel; where it cannot, `skipped` says so for all of them.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tfbuild import choice, environment, spec
from tfbuild.choice import Choice, Here
from tfbuild.code.evidence import Evidence
from tfbuild.errors import BenchError, HostError, UsageError, WheelError
from tfbuild.installer import Installer, UnreachableError
from tfbuild.progress import Progress
from tfbuild.verify.model import Check

NAMES = ("import", "training", "numbers", "quantised")
"""The checks that run a wheel, in the order in which they are done."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """How wheels are run here."""

    here: Here
    installer: Installer
    progress: Progress
    evidence: Evidence | None = None
    """Of the wheel's machine code, to explain an illegal instruction."""
    timeout: float = 600.0
    """Seconds for one process."""
    folder: Path | None = None
    """Where environments stand; the user's cache without one."""
    script: Path | None = None
    """What runs inside them, for tests."""


class CannotRunError(Exception):
    """A check cannot be done here, or has failed before it began.

    Args:
        status: "skipped" or "failed".
        found: why, in one sentence.
    """

    def __init__(self, status: str, found: str, *, why: str = "", do: str = "") -> None:
        super().__init__(found)
        self.status = status
        self.found = found
        self.why = why
        self.do = do

    def check(self, name: str) -> Check:
        """Return it as the result of that check."""
        if self.status == "failed":
            return Check(name=name, status="failed", found=self.found, why=self.why, do=self.do)
        details = tuple(line for line in self.why.splitlines() if line.strip())
        return Check(name=name, status="skipped", found=self.found, details=details)


def skipped(reason: str, names: Sequence[str] = NAMES) -> tuple[Check, ...]:
    """Return each check as skipped for one reason."""
    return tuple(Check(name=name, status="skipped", found=reason) for name in names)


@dataclass(frozen=True, kw_only=True)
class Place:
    """An environment, and what it was asked to hold."""

    choice: Choice
    python: Path


def place(wheel: Path, running: Running) -> Place:
    """Return a fresh environment with the wheel; an interpreter's own as it is.

    Fresh means: made by tfbuild for this very file (its digest), and nothing in it has been changed
    since. Such a one is used again, any other is made anew.

    Raises:
        CannotRunError: there is none, and why.
        SaveError: the disk is full, or the cache cannot be written.
    """
    _look_for_tensorflow(wheel)
    (chosen,) = _chosen((str(wheel),), running)
    return _installed(chosen, running)


def pair(wheel: Path, reference: str, running: Running) -> tuple[Place, Place]:
    """Return environments with the wheel and with what it is compared with. Errors as `place`.

    Args:
        wheel: the file.
        reference: a spec; "pip" stands for the official wheel of the same version.
        running: how wheels are run here.
    """
    _look_for_tensorflow(wheel)
    chosen, other = _chosen((str(wheel), reference), running)
    ours = _installed(chosen, running)
    try:
        return ours, _installed(other, running)
    except CannotRunError as error:
        # Whatever is wrong with the reference, the wheel did not do it.
        raise CannotRunError("skipped", error.found, why=error.why) from error


def _chosen(texts: Sequence[str], running: Running) -> tuple[Choice, ...]:
    try:
        return choice.choose([spec.parse(text) for text in texts], running.here).choices
    except (HostError, UsageError, BenchError, WheelError) as error:
        raise CannotRunError("skipped", error.what, why=error.why) from error


def _installed(chosen: Choice, running: Running) -> Place:
    if chosen.install is None:
        if chosen.interpreter is None:
            raise AssertionError
        return Place(choice=chosen, python=chosen.interpreter)
    try:
        python = environment.install(chosen, running.installer, running.progress, running.folder)
    except WheelError as error:
        raise CannotRunError("failed", error.what, why=error.why, do=error.do) from error
    except BenchError as error:
        # No answer from an index, or no such Python: that is not the wheel's fault.
        if isinstance(error, UnreachableError) or chosen.interpreter is None:
            raise CannotRunError("skipped", error.what, why=error.why) from error
        raise CannotRunError("failed", error.what, why=error.why, do=error.do) from error
    return Place(choice=chosen, python=python)


def _look_for_tensorflow(wheel: Path) -> None:
    if wheel.suffix != ".whl":
        return  # an interpreter: what it has installed is looked for when it is asked
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise CannotRunError("failed", f"{wheel.name} cannot be opened.", why=str(error)) from error
    if "tensorflow/__init__.py" not in names:
        raise CannotRunError("skipped", f"{wheel.name} holds no TensorFlow.")
