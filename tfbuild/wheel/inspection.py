"""What an inspection finds."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tfbuild.code.evidence import Evidence
from tfbuild.code.minimum import Minimum
from tfbuild.wheel.match import HostMatch


@dataclass(frozen=True, kw_only=True)
class Library:
    """A shared library."""

    name: str
    """Path in the wheel or below site-packages."""
    size: int
    """Bytes."""
    machine: str | None
    """"x86_64", "aarch64"; None where it is not ELF, or damaged."""
    stripped: bool | None = None
    """Whether its full symbol table is gone; None where that is unknown."""
    code: Evidence | None = None
    """What its code uses; None where that is unknown."""
    unknown: str = ""
    """Why that is unknown, a sentence: "Code for aarch64 is not decoded, only x86 is."."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """One wheel, or one installed distribution, as its files say. None means unknown."""

    SCHEMA: ClassVar[str] = "tfbuild.inspection"
    VERSION: ClassVar[int] = 2

    source: Literal["wheel", "installed"]
    file: str
    """The wheel's file name, or the installed .dist-info folder."""
    distribution: str
    version: str
    label: str | None
    """The version's local part: "skylake"."""
    tensorflow: str | None
    """Version of the TensorFlow inside; None where there is none."""
    tags: tuple[str, ...]
    python: str | None
    """"3.10"; "3" where any Python 3 will do."""
    abi: str | None
    size: int
    """Bytes of the wheel; installed: of all its files."""
    unpacked_size: int
    files: int
    sha256: str | None
    """Of the wheel; None for an installed one."""
    libraries: tuple[Library, ...]
    """Largest first."""
    compilers: tuple[str, ...]
    """The compilers' own marks in any library, such as "GCC: (GNU) 7.3.1 20180303"."""
    glibc: str | None
    """Oldest glibc that can load every library: "2.17"."""
    glibcxx: str | None
    """Same for libstdc++'s symbols: "3.4.19"."""
    code: Evidence | None
    """The x86 code of all libraries together; None without any."""
    minimum: Minimum | None
    """The lowest CPU that can run that code; None without any."""
    reading: tuple[str, ...]
    """What the code tells, in sentences; none without any library."""
    record: dict[str, Any] | None
    """What tfbuild wrote into the wheel when it compiled it."""
    notes: tuple[str, ...]
    """What is odd about it, in sentences."""
    sboms: tuple[str, ...] = ()
    """Lists of components that it carries, as paths in .dist-info: "sboms/tfbuild.cdx.json"."""
    host_match: HostMatch | None = None
    """Whether one machine can run it, where that was asked."""
