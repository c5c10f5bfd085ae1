"""A wheel as an index sees it: its name, its version, its METADATA and its bytes' digest."""

import hashlib
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from packaging.metadata import parse_email
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    is_normalized_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from tfbuild import artifact
from tfbuild.errors import UsageError, WheelError
from tfbuild.wheel.members import checked_members

# Narrower than the standard: such a name is safe in a path, in a URL once "+" is quoted, in HTML.
_PART = r"[A-Za-z0-9_.+!]+"
_SAFE_NAME = re.compile(rf"{_PART}(-{_PART}){{4,5}}\.whl", re.ASCII)
_METADATA_LIMIT = 16 * 2**20

_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression method that Python does not know
    RuntimeError,  # an encrypted member
    UnicodeDecodeError,
)


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """One wheel file whose name, METADATA and zip structure agree."""

    path: Path
    filename: str
    project: NormalizedName
    """Normalised: "tensorflow", "intel-tensorflow"."""
    version: Version
    requires_python: str | None
    metadata: bytes
    """The METADATA file, byte for byte: what an index serves as `<wheel>.metadata`."""
    sha256: str
    size: int
    """Bytes."""

    @property
    def label(self) -> str | None:
        """The local version ("skylake" of "2.21.0+skylake"), None without one."""
        return self.version.local

    @property
    def metadata_sha256(self) -> str:
        """Digest of the METADATA file."""
        return hashlib.sha256(self.metadata).hexdigest()

    @property
    def requirement(self) -> str:
        """The pin that names this version only: "tensorflow==2.21.0+skylake"."""
        return f"{self.project}=={self.version}"


def parse_name(filename: str) -> tuple[NormalizedName, Version]:
    """Return project and version of a wheel's file name.

    Raises:
        WheelError: the name is not a wheel's, or holds a character that no index should carry.
    """
    if not _SAFE_NAME.fullmatch(filename):
        raise WheelError(
            f"{filename!r} is not the name of a wheel.",
            why="A wheel is called NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl, in ASCII "
            "letters, digits and '_', '.', '+', '!'.",
        )
    try:
        project, version, _, _ = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise WheelError(f"{filename!r} is not the name of a wheel.", why=str(error)) from error
    if not is_normalized_name(project):
        raise WheelError(f"{filename!r} is not the name of a wheel.", why=f"Project {project!r}.")
    return project, version


def read(path: Path) -> WheelFile:
    """Check a wheel file and return what an index needs of it. Reads every byte.

    Raises:
        UsageError: there is no such file, or it cannot be read.
        WheelError: it is not a wheel, it is damaged, or its METADATA says something else than
            its name.
    """
    if not path.is_file():
        what = "is a folder, not a wheel file" if path.is_dir() else "does not exist"
        raise UsageError(f"{path} {what}.", do="Give the path of a .whl file.")
    project, version = parse_name(path.name)
    try:
        metadata = _metadata(path, project, version)
        size, digest = path.stat().st_size, artifact.sha256(path)
    except OSError as error:
        raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
    return WheelFile(
        path=path,
        filename=path.name,
        project=project,
        version=version,
        requires_python=_checked(path, metadata, project, version),
        metadata=metadata,
        sha256=digest,
        size=size,
    )


def _metadata(path: Path, project: NormalizedName, version: Version) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            # Before anything is unpacked: testzip reads every member to its end.
            checked_members(path, archive)
            damaged = archive.testzip()
            if damaged is not None:
                raise WheelError(f"{path} is damaged.", why=f"Wrong checksum: {damaged!r}.")
            member = _metadata_member(path, archive, project, version)
            with archive.open(member) as file:
                data = file.read(_METADATA_LIMIT + 1)
    except _ZIP_ERRORS as error:
        raise WheelError(
            f"{path} is not a wheel: it is no whole zip file.", why=str(error)
        ) from error
    if len(data) > _METADATA_LIMIT:
        raise WheelError(f"{path} is not a usable wheel.", why="Its METADATA exceeds 16 MiB.")
    return data


def _metadata_member(
    path: Path, archive: zipfile.ZipFile, project: NormalizedName, version: Version
) -> str:
    names = [name for name in archive.namelist() if name.count("/") == 1]
    found = [name for name in names if name.endswith(".dist-info/METADATA")]
    if len(found) != 1:
        raise WheelError(
            f"{path} is not a wheel.",
            why=f"It holds {len(found)} *.dist-info/METADATA files; a wheel holds one.",
        )
    folder_project, _, folder_version = found[0].removesuffix(".dist-info/METADATA").partition("-")
    if canonicalize_name(folder_project) != project or _version(folder_version) != version:
        raise WheelError(
            f"{path} is not what its name says.", why=f"Inside it is {found[0].split('/')[0]!r}."
        )
    return found[0]


def _checked(path: Path, metadata: bytes, project: NormalizedName, version: Version) -> str | None:
    """Compare METADATA with the file name and return its Requires-Python."""
    raw, _ = parse_email(metadata)
    name, found = raw.get("name", ""), raw.get("version", "")
    if canonicalize_name(name) != project or _version(found) != version:
        raise WheelError(
            f"{path} is not what its name says.",
            why=f"Its METADATA says {name!r} version {found!r}.",
        )
    requires_python = raw.get("requires_python") or None
    if requires_python is not None:
        try:
            SpecifierSet(requires_python)
        except InvalidSpecifier as error:
            raise WheelError(f"{path} has a wrong Requires-Python.", why=str(error)) from error
    return requires_python


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
