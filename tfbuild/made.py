"""What the build script tells about its work, in the build.json beside the wheel."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tfbuild.errors import BuildError

FILE = "build.json"


@dataclass(frozen=True, kw_only=True)
class Made:
    """Facts that only the place of the build knows."""

    compiler: str = ""
    """Its own words: "gcc (Debian 12.2.0-14) 12.2.0"."""
    bazel: str = ""
    python: str = ""
    """With its patch number: "3.11.2"."""
    libc: str | None = None
    """"glibc 2.36", of the system where the build's tools ran."""
    source_date_epoch: int | None = None
    """Seconds since 1970: the commit's date, or the newest file's of a source without git."""
    commit: str = ""
    """The source's, "" where it does not tell."""
    flags: str = ""
    """Compiler flags for target code, as far as the script itself knows them, with spaces."""
    notices: tuple[str, ...] = ()
    """What is otherwise than the target's name tells, a sentence each."""
    options: tuple[str, ...] = ()
    """Bazel's options beyond those of tfbuild.bazelrc, without places of that machine."""
    packages: dict[str, str] = field(default_factory=dict)
    """Python packages in the environment of the build: name -> version."""
    repositories: tuple[str, ...] | None = None
    """Bazel's external repositories that the wheel depends on; None where Bazel did not tell."""
    external: str = ""
    """How the source defines its repositories, as `bazel query --output=build` prints it."""


def read(path: Path) -> Made:
    """Read a build.json; what a later build script tells beyond this is left aside.

    Raises:
        BuildError: it is no such file.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Made)
    except (OSError, msgspec.DecodeError) as error:
        raise BuildError(f"The build script's {FILE} cannot be read.", why=str(error)) from error
