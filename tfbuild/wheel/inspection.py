"""What an inspection finds."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tfbuild.wheel.isa import IsaCounts


@dataclass(frozen=True, kw_only=True)
class Library:
    """A shared library."""

    name: str
    """Path in the wheel or below site-packages."""
    size: int
    """Bytes."""
    machine: str | None
    """"x86_64", "aarch64"; None where it is not ELF, or damaged."""


@dataclass(frozen=True, kw_only=True)
class Code:
    """The code of the largest library, which holds most of TensorFlow's kernels."""

    library: str
    machine: str | None
    stripped: bool | None
    """Whether its full symbol table is gone."""
    isa: IsaCounts | None
    """None where the code is not x86, or the file is not ELF."""
    reading: tuple[str, ...]
    """What the counts tell, in sentences."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """One wheel, or one installed distribution, as its files say. None means unknown."""

    SCHEMA: ClassVar[str] = "tfbuild.inspection"
    VERSION: ClassVar[int] = 1

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
    code: Code | None
    """None without any library."""
    record: dict[str, Any] | None
    """What tfbuild wrote into the wheel when it compiled it."""
    notes: tuple[str, ...]
    """What is odd about it, in sentences."""
    sboms: tuple[str, ...] = ()
    """Lists of components that it carries, as paths in .dist-info: "sboms/tfbuild.cdx.json"."""
