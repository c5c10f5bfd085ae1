"""The record that lies beside every compiled wheel."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Actions:
    """Bazel's own count of what it did, from its closing summary."""

    total: int
    cached: int
    """Answered by the disk or remote cache, or already up to date."""
    executed: int
    """Really run: total less cached and internal."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The TensorFlow tree that was compiled."""

    kind: str
    """"git", "archive", or "local": a folder or archive of the machine that tfbuild ran on."""
    url: str = ""
    ref: str = ""
    """Branch, tag or commit that was asked for."""
    commit: str = ""
    """What that was in the end; "" where the source does not tell."""
    sha256: str = ""
    """Of the archive, if its hash is known; for a folder, of the archive made from it."""


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """How often the build was begun before there was this wheel."""

    count: int
    """1 if nothing went wrong."""
    finished: int
    """Actions that earlier attempts had finished, as far as they could tell."""
    repeated: int | None
    """Actions that were run again although an earlier attempt had finished them.

    None where it cannot be told: other builds wrote into the same cache, or a remote cache
    answered. Actions that Bazel may not cache count from the second attempt on.
    """


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What one check of the finished wheel found, as `tfbuild verify` does it."""

    name: str
    status: str
    """"passed", "warning", "failed" or "skipped"."""
    found: str


@dataclass(frozen=True, kw_only=True)
class BuiltWheel:
    """One compiled wheel: what it is, what it needs, how it was made.

    The wheel carries the same record, less what its own bytes or the single run decide: the same
    recipe gives the same wheel.
    """

    SCHEMA: ClassVar[str] = "tfbuild.wheel"
    VERSION: ClassVar[int] = 1
    BESIDE: ClassVar[frozenset[str]] = frozenset(
        {
            "sha256",
            "size",
            "engine",
            "image",
            "actions",
            "attempts",
            "seconds",
            "built_at",
            "checks",
        }
    )
    """Fields of the record beside the wheel that the one inside lacks."""

    file: str
    """The wheel's file name; the record `<file>.json` stands beside it."""
    sha256: str = ""
    """Not inside the wheel."""
    size: int = 0
    """Bytes. Not inside the wheel."""
    distribution: str
    version: str
    """With its local label: "2.21.0+skylake"."""
    tensorflow: str
    python: str
    """"3.12"."""
    architecture: str
    target: str
    requires: frozenset[str]
    """Features that a CPU needs; Linux spelling."""
    flags: tuple[str, ...]
    """Compiler flags that reached target code."""
    recipe_digest: str
    engine: str = ""
    """"docker 20.10.24", "podman 4.3.1", "local". Not inside the wheel."""
    image: str | None = None
    """The toolchain image's ID, None without a container. Not inside the wheel."""
    compiler: str
    bazel: str
    actions: Actions | None = None
    """Not inside the wheel."""
    seconds: float = 0.0
    """Wall-clock time of the compile. Not inside the wheel."""
    built_at: datetime | None = None
    """Not inside the wheel."""
    tfbuild: str
    """Version of tfbuild."""
    attempts: Attempts | None = None
    """Not inside the wheel."""
    checks: tuple[Checked, ...] = ()
    """Done on the finished wheel; none where that was not wanted. Not inside the wheel."""
    notices: tuple[str, ...] = ()
    """What is otherwise than the target's name tells: flags that the compiler does not know."""
    source: Source | None = None
    toolchain_digest: str = ""
    """Of the part of the recipe that the toolchain image was made by."""
    base_image: str = ""
    """As the recipe names it; "" without a container."""
    base_digest: str = ""
    """What that name stood for: the registry's digest, or the ID of an image from no registry."""
    options: tuple[str, ...] = ()
    """All of Bazel's options that the recipe gives, in their order."""
    profile: str = ""
    """SHA-256 of the counts that the compiler optimised for; "" without a profile."""
    python_full: str = ""
    """The Python of the build with its patch number: "3.11.2"."""
    python_packages: dict[str, str] = field(default_factory=dict)
    """Packages in the build's own Python environment: name -> version."""
    libc: str | None = None
    """C library of the system where the build's tools ran: "glibc 2.36"."""
    source_date_epoch: int | None = None
    """Time of the wheel's files, in seconds since 1970: the source's, not the build's."""


def record_path(wheel: Path) -> Path:
    """Return where the wheel's record stands: the wheel's name with ".json" added."""
    return wheel.with_name(wheel.name + ".json")
