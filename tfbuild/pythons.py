"""The Python interpreters of this machine.

uv finds most of them, but not those of pyenv that no shim leads to, so we look ourselves: the
interpreter that runs tfbuild, PATH, pyenv, and those that uv has downloaded. Each is run once,
because a shim that leads nowhere looks like a program too.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tfbuild import process

SUPPORTED = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
"""Pythons of TensorFlow 2.8 to 2.21 that the worker runs in, oldest first."""

_ASK = """
import platform, sys, sysconfig
plain = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(platform.python_version() if plain else "")
"""
_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Python:
    """An interpreter that works."""

    path: Path
    full: str
    """"3.11.7"."""

    @property
    def version(self) -> str:
        """The minor version: "3.11"."""
        return ".".join(self.full.split(".")[:2])


@cache
def find() -> tuple[Python, ...]:
    """Return one interpreter for each supported version that this machine has, newest first."""
    found = (first(version) for version in reversed(SUPPORTED))
    return tuple(python for python in found if python is not None)


@cache
def first(version: str) -> Python | None:
    """Return the best interpreter of one version ("3.11"), or None."""
    for path in _places(version):
        python = ask(path)
        if python is not None and python.version == version:
            return python
    return None


def ask(path: Path) -> Python | None:
    """Return the interpreter, or None if it does not work or is no ordinary CPython."""
    try:
        done = process.run([path, "-I", "-c", _ASK], timeout=_SECONDS, check=False)
    except process.ProcessError:
        return None
    full = done.stdout.strip()
    return Python(path=path, full=full) if done.ok and full else None


def _places(version: str) -> Iterator[Path]:
    """Yield where a version may be, best first."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        # Not a virtual environment's: that one may go while ours stays.
        yield Path(getattr(sys, "_base_executable", sys.executable))
        yield Path(sys.executable)
    on_path = shutil.which(f"python{version}")
    # A shim of pyenv is slow and may lead nowhere; what it could lead to comes next.
    if on_path and Path(on_path).parent.name != "shims":
        yield Path(on_path)
    # A user without a home has nothing there: "~" stays as it is.
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() would raise
    yield from _versions(Path(os.environ.get("PYENV_ROOT", f"{home}/.pyenv")) / "versions", version)
    data = Path(os.environ.get("XDG_DATA_HOME", f"{home}/.local/share"))
    managed = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", data / "uv" / "python"))
    yield from _versions(managed, f"cpython-{version}")


def _versions(folder: Path, prefix: str) -> list[Path]:
    def patch(path: Path) -> int:
        digits = path.parts[-3].removeprefix(f"{prefix}.").partition("-")[0]
        return int(digits) if digits.isdecimal() else -1

    found = folder.glob(f"{prefix}.*/bin/python3") if folder.is_dir() else ()
    return sorted(found, key=patch, reverse=True)
