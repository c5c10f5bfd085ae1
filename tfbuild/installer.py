"""uv, which installs wheels and downloads Pythons.

Its cache is the user's own, so that a wheel is downloaded once for all of a user's environments.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from tfbuild import process, pythons
from tfbuild.errors import BenchError, SaveError
from tfbuild.process import ProcessError
from tfbuild.progress import Progress, Silent
from tfbuild.pythons import Python

_TIMEOUT_SECONDS = 3600.0
_FULL = re.compile(r"No space left on device|os error 28\b|os error 122\b|Disk quota exceeded")
_DOWNLOADING = re.compile(r"^\s*(Downloading|Building|Prepared|Installed) (.+)")
_UNREACHABLE = re.compile(r"Failed to fetch|error sending request")
_LAST_LINES = 12


class UnreachableError(BenchError):
    """The index does not answer, so asking it again for another Python is of no use."""


@dataclass(frozen=True, kw_only=True)
class Installer:
    """uv, and how it may reach an index.

    Args:
        index: URL of a package index in PyPI's place. It may hold a password, so it is handed on
            in the environment.
        offline: use only what uv has in its cache.
    """

    index: str | None = None
    offline: bool = False

    def environment(self) -> dict[str, str]:
        """Return the environment variables for uv."""
        ours = {
            # Half a gigabyte over a slow line: uv's 30 s without data are too few.
            "UV_HTTP_TIMEOUT": os.environ.get("UV_HTTP_TIMEOUT", "300"),
            "UV_NO_PROGRESS": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            "NO_COLOR": "1",
        }
        if self.index:
            ours["UV_DEFAULT_INDEX"] = self.index
        if self.offline:
            ours["UV_OFFLINE"] = "1"
        inherited = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"}
        return {**inherited, **ours}

    @property
    def place(self) -> str:
        """Where wheels come from, in words and without a password."""
        if self.offline:
            return "uv's cache"
        if not self.index:
            return (
                "PyPI" if "UV_DEFAULT_INDEX" not in os.environ else "the index of UV_DEFAULT_INDEX"
            )
        return _without_password(self.index)

    @property
    def source(self) -> str:
        """Which index stands in PyPI's place, without a password; empty where none does.

        One version may be another wheel in another index, so this belongs to what tells two
        environments apart.
        """
        return _without_password(self.index or os.environ.get("UV_DEFAULT_INDEX", ""))

    def resolve(self, requirement: str, python: Python) -> str:
        """Return the version that would be installed on that Python.

        Raises:
            BenchError: there is none.
        """
        args = ["pip", "compile", "--python", str(python.path), "--no-deps", "--no-header"]
        args += ["--no-annotate", "--quiet", "--only-binary", ":all:", "-"]
        done = process.run(
            [_uv(), *args], env=self.environment(), input_text=requirement + "\n", check=False
        )
        if not done.ok:
            raise _cannot_install(requirement, f"Python {python.version}", done.stderr)
        found = re.search(r"==([^\s;]+)", done.stdout)
        return found[1] if found else _version_in_url(requirement)

    def create(self, place: Path, base: Path, what: str) -> None:
        """Make an empty environment of that interpreter. Errors as `install`."""
        args = ["venv", "--quiet", "--no-project", "--python", str(base), str(place)]
        self._run(args, what, str(base), Silent())

    def install(
        self, wanted: str, python: Path, limits: Path, *, what: str, progress: Progress
    ) -> None:
        """Install a pin or a wheel with all that it needs.

        Args:
            wanted: as uv reads it.
            python: the environment's interpreter.
            limits: a file of constraints.
            what: the same in words, for errors: "tensorflow-cpu 2.14.0".
            progress: is told what uv downloads.

        Raises:
            BenchError: it cannot be installed; with uv's last lines.
            SaveError: the disk is full.
        """
        # A source distribution of grpc or numpy would take an hour to compile, or fail.
        args = ["pip", "install", "--python", str(python), "--constraint", str(limits)]
        self._run([*args, "--only-binary", ":all:", wanted], what, str(python), progress)

    def fetch_python(self, version: str, what: str, progress: Progress) -> Path:
        """Download a Python that is not here.

        Raises:
            BenchError: it may not or cannot be downloaded.
        """
        missing = f"{what} needs Python {version}, which is not here."
        if self.offline:
            raise BenchError(missing, why="Nothing is downloaded with --offline.")
        progress.phase(f"Downloading Python {version} (about 30 MB) from python-build-standalone")
        done = process.run(
            [_uv(), "python", "install", "--no-bin", version],
            env={**self.environment(), "UV_PYTHON_DOWNLOADS": "manual"},
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        pythons.first.cache_clear()
        found = pythons.first(version)
        if found is None:
            raise BenchError(
                missing,
                why="uv could not download it:\n" + _last(done.stderr),
                do=f"Install Python {version}, or name a version that has a wheel for yours.",
            )
        return found.path

    def _run(self, args: list[str], what: str, where: str, progress: Progress) -> None:
        count = 0

        def tell(line: str) -> None:
            nonlocal count
            if found := _DOWNLOADING.match(line):
                count += 1
                progress.step(count, text=f"{found[1].lower()} {found[2]}")

        try:
            process.stream([_uv(), *args], tell, env=self.environment(), timeout=_TIMEOUT_SECONDS)
        except ProcessError as error:
            said = error.completed.stdout if error.completed else error.why
            raise _cannot_install(what, where, said) from error


def _cannot_install(what: str, where: str, said: str) -> BenchError | SaveError:
    if _FULL.search(said):
        return SaveError(
            f"Cannot install {what}: the disk is full.",
            why=_last(said),
            do="Free some space; nothing half-made was left. `uv cache clean` frees uv's part.",
        )
    kind = UnreachableError if _UNREACHABLE.search(said) else BenchError
    return kind(
        f"{what} cannot be installed for {where}.",
        why=_last(said),
        do="Name a version and a Python that have a wheel, or another index with --pip-index.",
    )


def _last(said: str) -> str:
    return "\n".join(said.strip().splitlines()[-_LAST_LINES:])


def _uv() -> str:
    from uv import find_uv_bin

    try:
        return str(find_uv_bin())
    except FileNotFoundError as error:
        raise BenchError(
            "uv is missing from this installation.",
            why=str(error),
            do="Install tfbuild again: pip install --force-reinstall tfbuild",
        ) from error


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _version_in_url(requirement: str) -> str:
    """Return the version in the name of the wheel at an address, "0" where that has none."""
    # The "+" of a local version is often quoted.
    name = unquote(urlsplit(requirement.partition("@")[2].strip()).path).rpartition("/")[2]
    try:
        return str(parse_wheel_filename(name)[1])
    except InvalidWheelFilename:
        return "0"
