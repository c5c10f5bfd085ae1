"""The record that lies beside every compiled wheel."""

from dataclasses import dataclass
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
class BuiltWheel:
    """One compiled wheel: what it is, what it needs, how it was made."""

    SCHEMA: ClassVar[str] = "tfbuild.wheel"
    VERSION: ClassVar[int] = 1

    file: str
    """The wheel's file name; the record `<file>.json` stands beside it."""
    sha256: str
    size: int
    """Bytes."""
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
    engine: str
    """"docker 20.10.24", "podman 4.3.1", "local"."""
    image: str | None
    """The toolchain image's ID, None without a container."""
    compiler: str
    bazel: str
    actions: Actions | None
    seconds: float
    """Wall-clock time of the compile."""
    built_at: datetime
    tfbuild: str
    """Version of tfbuild."""
    notices: tuple[str, ...] = ()
    """What is otherwise than the target's name tells: flags that the compiler does not know."""


def record_path(wheel: Path) -> Path:
    """Return where the wheel's record stands: the wheel's name with ".json" added."""
    return wheel.with_name(wheel.name + ".json")
