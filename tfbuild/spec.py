"""What a user asks to measure, in one word.

    pip                             the official wheel
    compiled                        the newest wheel in wheels/ that this CPU can run
    wheels/tensorflow-....whl       a wheel
    intel-tensorflow==2.14.0        a requirement, as pip reads it
    python, python3.10, venv/bin/python    an interpreter, with the TensorFlow installed there
    results/2026-11-30.json         a saved result
    2017                            the study of that year, which is shown and not measured

`parse` understands the word, `tfbuild.choice` decides which wheel on which Python that is here,
and `tfbuild.environment` makes the environment.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from tfbuild import artifact, pythons
from tfbuild.errors import UsageError, suggestion

Kind = Literal["pip", "compiled", "wheel", "requirement", "python", "result", "study"]

FORMS = "pip, compiled, a wheel, a requirement, a Python interpreter, or a saved result (.json)"
STUDY = "2017"
_WORDS = ["pip", "compiled", "python", STUDY]
_PYTHON = re.compile(r"python3(\.\d+)?")
_SECRET = re.compile(r"https?://[^/\s]*@")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What to measure, as the user wrote it, and what kind of thing that is."""

    text: str
    kind: Kind
    path: Path | None = None
    """The wheel, the interpreter, or the result."""
    requirement: str | None = None
    """The requirement, normalised."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An interpreter that imports the TensorFlow to be measured."""

    spec: str
    """As the user wrote it."""
    description: str
    """"tensorflow-cpu 2.14.0 on Python 3.11"."""
    python: Path
    python_version: str
    """"3.11.7"."""
    distribution: str
    version: str
    """Of the distribution, with its local label: "2.21.0+skylake"."""
    tensorflow: str
    """TensorFlow's own version."""
    wheel_sha256: str | None
    """Of a wheel file; None for what came from an index or was there before."""
    packages: tuple[str, ...]
    """Everything installed, as pins: "numpy==1.26.4"."""


def parse(text: str) -> Spec:
    """Return what the word stands for. Nothing is downloaded.

    Raises:
        UsageError: it stands for nothing, or a file that it names is not there.
    """
    word = text.strip()
    if not word:
        raise UsageError("A spec is empty.", do=f"Write {FORMS}.")
    if _SECRET.search(word):
        raise UsageError(
            "The address in a spec holds a user or a password.",
            why="Every user of this machine can read a command line, and results keep the spec.",
            do="Take it out of the address; uv finds it in ~/.netrc too.",
        )
    if word == "pip":
        return Spec(text=text, kind="pip")
    if word == "compiled":
        return Spec(text=text, kind="compiled")
    if word == STUDY:
        return Spec(text=text, kind="study")
    if word == "python":
        return Spec(text=text, kind="python", path=Path(sys.executable))
    if _PYTHON.fullmatch(word):
        return _named_python(text, word)
    return _named_file(text, word) or _requirement(text, word)


def _named_file(text: str, word: str) -> Spec | None:
    if "://" in word:  # a requirement with an address, which may end as a wheel does
        return None
    # Unlike Path.expanduser, this leaves the home of an unknown user as it is written.
    path = Path(os.path.expanduser(word))  # noqa: PTH111
    if word.lower().endswith(".whl"):
        return _wheel(text, path)
    if word.lower().endswith(".json"):
        return Spec(text=text, kind="result", path=_file(path, "result"))
    if (os.sep in word and "@" not in word) or _exists(path):
        return _interpreter(text, path)
    return None


def _file(path: Path, what: str) -> Path:
    if artifact.is_file(path):
        return path
    if _exists(path):
        raise UsageError(f"{path} is not a file.", why=f"A {what} was expected.")
    near = suggestion(path.name, _siblings(path))
    raise UsageError(f"{path} does not exist.", do=near or f"Name a {what} that is there.")


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises on names that are too long


def _siblings(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []


def _wheel(text: str, path: Path) -> Spec:
    _file(path, "wheel")
    try:
        parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise UsageError(
            f"{path.name} is not a wheel's file name.",
            why=str(error),
            do="A wheel keeps the name it was made with: NAME-VERSION-PYTHON-ABI-PLATFORM.whl",
        ) from error
    return Spec(text=text, kind="wheel", path=path)


def _named_python(text: str, word: str) -> Spec:
    found = shutil.which(word)
    if found is not None and Path(found).parent.name != "shims":
        return Spec(text=text, kind="python", path=Path(found))
    # What a shim of pyenv leads to, if anything, is found more surely without it.
    python = pythons.first(word.removeprefix("python"))
    if python is None:
        raise UsageError(
            f"{word} was not found.",
            why="Looked on PATH, in pyenv's versions and in those that uv downloaded.",
            do="Give the interpreter's path: /opt/python3.10/bin/python",
        )
    return Spec(text=text, kind="python", path=python.path)


def _interpreter(text: str, path: Path) -> Spec:
    if not _exists(path):
        raise UsageError(f"{path} does not exist.", do=suggestion(path.name, _siblings(path)))
    if path.is_dir():
        inside = path / "bin" / "python"
        if inside.exists():
            return Spec(text=text, kind="python", path=inside)
        raise UsageError(
            f"{path} is a folder without bin/python.",
            why=f"A spec is {FORMS}.",
            do="Name the wheel in it, or the folder of a virtual environment.",
        )
    if not os.access(path, os.X_OK):
        raise UsageError(
            f"{path} cannot be measured.",
            why="It is no wheel (.whl), no result (.json), and no program.",
            do=f"A spec is {FORMS}.",
        )
    return Spec(text=text, kind="python", path=path)


def _requirement(text: str, word: str) -> Spec:
    try:
        requirement = Requirement(word)
    except InvalidRequirement as error:
        raise UsageError(
            f"{text!r} is not a spec.",
            why=f"A spec is {FORMS}.",
            do=suggestion(word, _WORDS) or "Example: tensorflow-cpu==2.14.0",
        ) from error
    name = canonicalize_name(requirement.name)
    if name == "pip":
        raise UsageError(
            f"{text!r} would be pip itself.",
            why="`pip` alone means the official TensorFlow wheel, at a version that fits.",
            do=f"Write: tensorflow-cpu{requirement.specifier}",
        )
    # A bare word is more often a slip ("compild") than a project that holds TensorFlow.
    named = bool(requirement.specifier) or requirement.url is not None
    if not named and "tensorflow" not in name and not name.startswith("tf"):
        raise UsageError(
            f"{text!r} is not a spec.",
            why=f"A spec is {FORMS}.",
            do=suggestion(word, _WORDS)
            or f"If a project of that name holds TensorFlow, add a version: {name}==2.14.0",
        )
    return Spec(text=text, kind="requirement", requirement=str(requirement))
