"""Makes an environment for each measured wheel, with uv.

An environment stands below the user's cache folder under a name that says what is in it, and is
used again. A mark is written when all is installed: a folder without one was never finished and is
made anew. Its record comes when TensorFlow has been imported. A lock keeps two processes from
making the same one at once.
"""

import fcntl
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tfbuild import artifact, constraints, probe, pythons, settings
from tfbuild.choice import Choice, Here
from tfbuild.errors import SaveError, TfbuildError, WheelError
from tfbuild.host import Host
from tfbuild.installer import Installer
from tfbuild.progress import Progress
from tfbuild.spec import Environment

__all__ = ["Installer", "here", "install", "prepare"]

_INSTALLED = "installed.txt"
"""The mark of an environment in which everything is installed."""


def prepare(
    choice: Choice, installer: Installer, host: Host, progress: Progress, folder: Path | None = None
) -> Environment:
    """Return an environment that imports the chosen TensorFlow, making it if it is not there.

    Args:
        choice: what shall be in it.
        installer: how uv reaches its index.
        host: this CPU, to know whether an environment has been tried on it.
        progress: is told before each download.
        folder: where environments stand; the user's cache without one.

    Raises:
        BenchError: it cannot be installed, or TensorFlow cannot be imported.
        HostError: this CPU lacks instructions that TensorFlow uses.
        WheelError: the wheel file is damaged.
        SaveError: the disk is full, or the folder cannot be written.
    """
    if choice.install is None:
        if choice.interpreter is None:
            raise AssertionError
        seen = probe.imported(choice.spec.text, choice.interpreter, ours=False, progress=progress)
        return _environment(choice, choice.interpreter, seen, None)
    digest = _wheel_digest(choice)
    place, base = _place(choice, digest, installer, progress, folder)
    with _locked(place):
        _complete(choice, base, place, installer=installer, progress=progress)
        made = _Made.read(place)
        if made is None or made.cpu != _cpu(host):
            progress.phase(f"Importing {choice.distribution} {choice.version}")
            made = _Made(seen=_imported(choice, place, progress), cpu=_cpu(host))
            artifact.save(made, place / _Made.FILE)
    return _environment(choice, _python(place), made.seen, digest)


def install(
    choice: Choice,
    installer: Installer,
    progress: Progress,
    folder: Path | None = None,
) -> Path:
    """Return the interpreter of the environment that `prepare` would return, importing nothing.

    One in which a file has been changed, added or removed since it was made is made anew, and so is
    one of which that is not known.

    Args:
        choice: what shall be in it; not an interpreter.
        installer: how uv reaches its index.
        progress: is told before each download.
        folder: where environments stand; the user's cache without one.

    Raises:
        BenchError: it cannot be installed.
        WheelError: the wheel file is damaged.
        SaveError: the disk is full, or the folder cannot be written.
    """
    digest = _wheel_digest(choice)
    place, base = _place(choice, digest, installer, progress, folder)
    with _locked(place):
        if _is_complete(place) and not _is_unchanged(place):
            _discard(place)
        _complete(choice, base, place, installer=installer, progress=progress)
    return _python(place)


def _place(
    choice: Choice,
    digest: str | None,
    installer: Installer,
    progress: Progress,
    folder: Path | None,
) -> tuple[Path, Path]:
    """Return the environment's folder and the interpreter that it is made from."""
    what = f"{choice.distribution} {choice.version}"
    base = choice.interpreter or installer.fetch_python(choice.python, what, progress)
    root = folder or settings.cache_folder("environments")
    limits = constraints.of(choice.tensorflow)
    return root / _name(choice, base, digest, limits, installer.source), base


def _complete(
    choice: Choice, base: Path, place: Path, *, installer: Installer, progress: Progress
) -> None:
    if not _is_complete(place):
        _make(choice, base, place, installer=installer, progress=progress)
        artifact.write_text(place / _INSTALLED, _listing(place) + "\n")


def _is_complete(place: Path) -> bool:
    """Return whether all is installed; a record says so too, older environments have no mark."""
    marks = (place / _INSTALLED, place / _Made.FILE)
    return _python(place).exists() and any(mark.exists() for mark in marks)


def _is_unchanged(place: Path) -> bool:
    try:
        return (place / _INSTALLED).read_text(encoding="utf-8").strip() == _listing(place)
    except OSError:
        return False


def _listing(place: Path) -> str:
    """Return a digest of all files' names, sizes, times and inodes; of bytecode nothing counts.

    Reading the files would take 11 s for each gigabyte here. This shows an edit, another version of
    a package and a file that was put beside as well.
    """
    digest = hashlib.sha256()
    for path in sorted((place / "lib").rglob("*")):
        if path.suffix != ".pyc" and path.name != "__pycache__":
            seen = path.lstat()
            size = 0 if path.is_dir() else seen.st_size
            when = 0 if path.is_dir() else seen.st_mtime_ns
            digest.update(f"{path.relative_to(place)} {size} {when} {seen.st_ino}\n".encode())
    return digest.hexdigest()


def _imported(choice: Choice, place: Path, progress: Progress) -> probe.Seen:
    try:
        return probe.imported(choice.spec.text, _python(place), ours=True, progress=progress)
    except TfbuildError:
        # Whatever is wrong with it, the next attempt shall not find it.
        for mark in (_INSTALLED, _Made.FILE):
            (place / mark).unlink(missing_ok=True)
        raise


def _discard(place: Path) -> None:
    """Remove an environment, its marks first: half of it must never pass for whole."""
    try:
        for mark in (_INSTALLED, _Made.FILE):
            (place / mark).unlink(missing_ok=True)
        shutil.rmtree(place)
    except OSError as error:
        raise SaveError(f"Cannot remove {place}.", why=error.strerror or str(error)) from error


@dataclass(frozen=True, kw_only=True)
class _Made:
    """The record of a finished environment."""

    SCHEMA: ClassVar[str] = "tfbuild.environment"
    VERSION: ClassVar[int] = 1
    FILE: ClassVar[str] = "tfbuild.json"

    seen: probe.Seen
    cpu: str
    """The CPU on which TensorFlow was imported; on another one it is tried again."""

    @classmethod
    def read(cls, place: Path) -> "_Made | None":
        try:
            made = artifact.load(cls, place / cls.FILE)
        except TfbuildError:
            return None
        return made if _python(place).exists() else None


def _environment(choice: Choice, python: Path, seen: probe.Seen, digest: str | None) -> Environment:
    return Environment(
        spec=choice.spec.text,
        description=choice.description,
        python=python,
        python_version=seen.python,
        distribution=seen.distribution,
        version=seen.version,
        tensorflow=seen.tensorflow,
        wheel_sha256=digest,
        packages=seen.packages,
    )


def _make(
    choice: Choice, base: Path, place: Path, *, installer: Installer, progress: Progress
) -> None:
    try:
        if place.exists():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SaveError(f"Cannot write {place}.", why=error.strerror or str(error)) from error
    what = f"{choice.distribution} {choice.version}"
    size = f" ({choice.size} MB and what it needs)" if choice.size else ""
    where = "" if choice.wheel else f" from {installer.place}{size}, unless uv has it cached"
    progress.phase(f"Installing {what}{where}")
    try:
        installer.create(place, base, what)
        limits = "".join(f"{one}\n" for one in constraints.of(choice.tensorflow))
        file = artifact.write_text(place / "constraints.txt", limits)
        installer.install(str(choice.install), _python(place), file, what=what, progress=progress)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _wheel_digest(choice: Choice) -> str | None:
    if choice.wheel is None:
        return None
    if not zipfile.is_zipfile(choice.wheel):
        raise WheelError(f"{choice.wheel} is not a wheel.", why="It is not a ZIP archive.")
    return artifact.sha256(choice.wheel)


def _name(
    choice: Choice, base: Path, digest: str | None, limits: Sequence[str], source: str
) -> str:
    """Return the folder's name: readable, and different for everything that makes a difference."""
    facts = [str(choice.install), str(base.resolve()), choice.python, digest, list(limits)]
    facts += [source] if source else []
    short = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:10]
    readable = re.sub(r"[^A-Za-z0-9.+-]", "-", f"{choice.distribution}-{choice.version}")
    return f"{readable}-py{choice.python}-{short}"


def _python(place: Path) -> Path:
    return place / "bin" / "python"


def _cpu(host: Host) -> str:
    text = " ".join([host.architecture, *sorted(host.features)])
    return f"{host.brand} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Keep other processes out of the place; a lock goes with its process, however that ends."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / f".{place.name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise SaveError(
            f"Cannot write in {place.parent}.",
            why=error.strerror or str(error),
            do="Set XDG_CACHE_HOME to a folder that can be written.",
        ) from error


def here(host: Host, wheels: Path, installer: Installer) -> Here:
    """Return what a choice depends on, for this machine."""

    def look(python: Path) -> tuple[str, str, str]:
        seen = probe.looked(str(python), python)
        return seen.python, seen.distribution, seen.version

    return Here(
        host=host,
        pythons=pythons.find(),
        wheels=wheels,
        resolve=installer.resolve,
        look=look,
        fetch_pythons=not installer.offline,
    )
