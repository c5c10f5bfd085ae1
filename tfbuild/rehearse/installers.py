"""Installs a wheel from an index as a user would: with pip, with uv, hash checked by both."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import process, pythons
from tfbuild.errors import PublishError

if TYPE_CHECKING:
    from tfbuild.publish import Receipt

_SECONDS = 300.0


def pip(receipt: "Receipt", python: str, place: Path) -> str:
    """Install with pip into a new environment, or into a folder if that Python is not here.

    Returns what was installed. Raises PublishError.
    """
    interpreter = _interpreter(python)
    options = ["--no-deps", "--require-hashes", "--index-url", receipt.simple_url]
    options += ["--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    if interpreter is None:
        command = [sys.executable, "-m", "pip", "--isolated", "install", *_elsewhere(python, place)]
    else:
        _run([interpreter, "-m", "venv", place], receipt)
        command = [place / "bin/python", "-m", "pip", "--isolated", "install"]
    _run([*command, *options, "--requirement", _pin(receipt, place)], receipt)
    return _told(interpreter, python)


def uv(receipt: "Receipt", python: str, place: Path) -> str:
    """Install with uv; otherwise as `pip`."""
    interpreter = _interpreter(python)
    options = ["--no-deps", "--require-hashes", "--default-index", receipt.simple_url]
    options += ["--no-cache", "--quiet"]
    if interpreter is None:
        # Any interpreter serves to ask; the wheel's own Python is named apart.
        target: list[str | Path] = [
            "--python",
            sys.executable,
            "--python-version",
            python,
            "--target",
            place,
        ]
    else:
        _run([*_uv(), "venv", "--quiet", "--python", interpreter, place], receipt)
        target = ["--python", place / "bin/python"]
    requirement = ["--requirement", str(_pin(receipt, place))]
    _run([*_uv(), "pip", "install", *target, *options, *requirement], receipt)
    return _told(interpreter, python)


def environment_python(place: Path) -> Path | None:
    """Return the interpreter of an installed environment, None for a mere folder."""
    path = place / "bin/python"
    return path if path.exists() else None


def _interpreter(version: str) -> Path | None:
    found = pythons.first(version)
    return None if found is None else found.path


def _uv() -> list[str]:
    return [sys.executable, "-m", "uv", "--no-config"]


def _elsewhere(python: str, place: Path) -> list[str | Path]:
    return ["--target", place, "--python-version", python, "--only-binary", ":all:"]


def _pin(receipt: "Receipt", place: Path) -> Path:
    """Write the requirement with its hash: an installer refuses any other bytes."""
    path = place.with_name(place.name + ".txt")
    path.write_text(f"{receipt.requirement} --hash=sha256:{receipt.sha256}\n", encoding="utf-8")
    return path


def _run(words: list[str | Path], receipt: "Receipt") -> None:
    # Settings of the user's own must not send the installers to another index.
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))
    }
    environment["PIP_CONFIG_FILE"] = os.devnull
    try:
        process.run(words, timeout=_SECONDS, env=environment)
    except process.ProcessError as error:
        raise PublishError(
            f"{receipt.file} cannot be installed back from the index.", why=str(error)
        ) from error


def _told(interpreter: Path | None, python: str) -> str:
    if interpreter is None:
        return f"hash checked; unpacked only: no Python {python} on this machine"
    return f"hash checked, into a new environment of {interpreter}"
