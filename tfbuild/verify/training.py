"""Imports the wheel in a fresh environment and trains one step: checks "import", "training"."""

import math
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from tfbuild.verify import trouble
from tfbuild.verify.conversation import Request, Software, Told, talk
from tfbuild.verify.model import Check
from tfbuild.verify.running import CannotRunError, Place, Running, place

NAMES = ("import", "training")
_ARCHITECTURE = "mnist_cnn"
_REQUEST = Request(tasks=("train",))


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What one step came to."""

    loss: float
    variables: int
    unchanged: tuple[str, ...]
    """Which of them are what they were before."""
    not_finite: tuple[str, ...]


def check(wheel: Path, running: Running) -> tuple[Check, ...]:
    """Return the checks "import" and "training".

    Args:
        wheel: the file, or an interpreter that has it installed.
        running: how wheels are run here.

    Raises:
        SaveError: the disk is full, or the cache cannot be written.
    """
    try:
        where = place(wheel, running)
    except CannotRunError as error:
        return tuple(error.check(name) for name in NAMES)
    running.progress.phase(f"Importing {wheel.name}")
    told = talk(
        where.python,
        _REQUEST,
        Trained,
        running,
        lambda what: running.progress.phase(f"Training one step of {what}"),
    )
    if told.software is None:
        failed = trouble.check("import", told, where.python, _REQUEST, running)
        skipped = Check(name="training", status="skipped", found="TensorFlow cannot be imported.")
        return failed, skipped
    if not told.ok:
        failed = trouble.check("training", told, where.python, _REQUEST, running)
        return _imported(where, told.software), failed
    return _imported(where, told.software), _trained(told)


def _imported(where: Place, software: Software) -> Check:
    version = Version(where.choice.version)
    details = _answers(software)
    if not _is_version(software.tensorflow, version):
        return Check(
            name="import",
            status="failed",
            found=f"tf.__version__ is {software.tensorflow}, "
            f"and the wheel is named {version.public}.",
            details=details,
            why="It was compiled from another source, or its name was changed.",
        )
    return Check(
        name="import",
        status="passed",
        found=f"TensorFlow {software.tensorflow} imports on Python {software.python}.",
        details=details,
    )


def _is_version(told: str, version: Version) -> bool:
    try:
        # Others pack the same TensorFlow again: 2.15.0.post1, intel-tensorflow 2.11.0.1.
        seen = Version(told)
        return (seen.release[:3], seen.pre) == (version.release[:3], version.pre)
    except ValueError:
        return False


def _answers(software: Software) -> tuple[str, ...]:
    """Return what TensorFlow says of itself, a line each."""
    told = {
        "compiler": software.compiler,
        "source": software.source,
        "oneDNN": {True: "on", False: "off", None: ""}[software.onednn],
        "Keras": software.keras,
        "NumPy": software.numpy,
        **{key: value for key, value in software.build_info.items() if value},
        "instructions": software.cpu_features_built or "",
    }
    return tuple(f"{name}: {value}" for name, value in told.items() if value)


def _trained(told: Told[Trained]) -> Check:
    one = told.results.get(_ARCHITECTURE)
    wrong = ["It says nothing of the step."] if one is None else _faults(one)
    if one is None or wrong:
        found = f"One step of {_ARCHITECTURE} did not train it."
        return Check(name="training", status="failed", found=found, details=tuple(wrong))
    return Check(
        name="training",
        status="passed",
        found=f"One step of {_ARCHITECTURE} gave a loss of {one.loss:.4f} and "
        f"changed all {one.variables} variables.",
    )


def _faults(one: Trained) -> list[str]:
    faults = [] if math.isfinite(one.loss) else [f"The loss is {one.loss}."]
    faults += [f"{name} is not finite after the step." for name in one.not_finite]
    return faults + [f"{name} is unchanged after the step." for name in one.unchanged]
