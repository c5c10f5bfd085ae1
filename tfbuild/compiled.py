"""The wheels that were compiled here: which are there, and which this CPU can run."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from tfbuild import artifact
from tfbuild.errors import HostError, TfbuildError, UsageError, WheelError
from tfbuild.host import Host
from tfbuild.pythons import SUPPORTED
from tfbuild.record import BuiltWheel, record_path

_LINUX = re.compile(r"(?:manylinux_\d+_\d+|manylinux\d+|musllinux_\d+_\d+|linux)_(\w+)")


@dataclass(frozen=True, kw_only=True)
class Own:
    """A wheel file, with what its record tells; without a record its name alone."""

    path: Path
    distribution: str
    version: str
    pythons: tuple[str, ...]
    requires: frozenset[str]
    """Features that its code needs; empty where no record tells."""
    architecture: str | None
    """Without a record that of the platform tag, if it is one of Linux."""
    built_at: datetime
    """Without a record the file's own time."""

    def missing(self, host: Host) -> list[str]:
        """Return the features that the host lacks; a foreign architecture lacks all."""
        if self.architecture is not None and self.architecture != host.architecture:
            return [self.architecture]
        return sorted(self.requires - host.features)


def read(path: Path) -> Own:
    """Return what is known about a wheel without opening it.

    Raises:
        UsageError: its record is damaged.
        WheelError: its name is not a wheel's, or no supported Python can import it.
    """
    try:
        distribution, version, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise WheelError(f"{path.name} is not a wheel's file name.", why=str(error)) from error
    names = {tag.interpreter for tag in tags}
    pythons = tuple(
        python
        for python in SUPPORTED
        if names & {f"cp{python.replace('.', '')}", "py3", f"py{python.replace('.', '')}"}
    )
    if not pythons:
        raise WheelError(
            f"{path.name} is for no Python that can be measured.",
            why=f"Its tags are {', '.join(sorted(map(str, tags)))}; "
            f"Pythons are {SUPPORTED[0]} to {SUPPORTED[-1]}.",
        )
    record = _record(path)
    return Own(
        path=path,
        distribution=str(distribution),
        version=str(version),
        pythons=pythons,
        requires=record.requires if record else frozenset(),
        architecture=record.architecture if record else _architecture(tags),
        built_at=(record and record.built_at) or _time(path),
    )


def best(folder: Path, host: Host, tensorflow: str | None) -> Own | None:
    """Return the newest wheel in the folder that the host can run; None for an empty folder.

    Args:
        folder: "wheels".
        host: the CPU.
        tensorflow: a version to prefer; others are taken only where none has it.

    Raises:
        HostError: there are wheels, but this CPU can run none.
    """
    wheels = [own for path in sorted(folder.glob("*.whl")) if (own := _readable(path))]
    if not wheels:
        return None
    runs = [own for own in wheels if not own.missing(host)]
    if not runs:
        reasons = [f"{own.path.name} needs {', '.join(own.missing(host))}" for own in wheels]
        raise HostError(
            f"This CPU can run none of the wheels in {folder}.",
            why="\n".join(reasons),
            do="Compile one for it: tfbuild wheel --target native",
        )
    same = [own for own in runs if Version(own.version).public == tensorflow]
    return max(same or runs, key=lambda own: own.built_at)


def _readable(path: Path) -> Own | None:
    """Skip what is no TensorFlow wheel of ours: a stray file must not stop a comparison."""
    try:
        own = read(path)
    except (WheelError, UsageError):
        return None
    return own if "tensorflow" in own.distribution else None


def _record(path: Path) -> BuiltWheel | None:
    place = record_path(path)
    return artifact.load(BuiltWheel, place) if place.is_file() else None


def _architecture(tags: Iterable[Tag]) -> str | None:
    """Return what the platform tags of a wheel for Linux name: "x86_64"."""
    found = (_LINUX.fullmatch(tag.platform) for tag in tags)
    return next((match[1] for match in found if match), None)


def _time(path: Path) -> datetime:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise TfbuildError(f"Cannot read {path}.", why=str(error)) from error
