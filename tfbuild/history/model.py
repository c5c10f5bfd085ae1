"""What the history keeps in mind of each result: enough for every claim, without its file."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from tfbuild.bench.suite import Scale


@dataclass(frozen=True, kw_only=True)
class Place:
    """A machine, as far as results of two days may be set side by side."""

    key: str
    """Twelve hexadecimal digits; results of different keys never meet."""
    description: str
    """"AMD EPYC, zen, 2 of 2 CPUs, 24 GiB"."""
    kernel: str
    """May change from result to result, as all below; the change is told."""
    libc: str
    microcode: str | None
    driver: str | None
    governor: str | None
    turbo: bool | None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One contender of one session."""

    wheel: str
    """What stays the same from build to build: "tensorflow+skylake", "intel-tensorflow"."""
    setting: str
    """"2 CPUs, 2 threads"."""
    version: str
    sha256: str | None
    """Of the wheel's file; None for what came from an index or was there before."""
    tensorflow: str
    python: str
    keras: str
    numpy: str
    baseline: int | None
    """Index of the contender that it was set against in its session; None for a baseline."""
    seconds: dict[str, tuple[float, ...]]
    """Of each architecture or script, in each round: for one epoch of the study."""
    data: dict[str, str]
    """"real", "generated" or "mixed", for each architecture."""

    @property
    def same(self) -> tuple[str, str, str | None, str]:
        """What has to agree for two baselines to be one and the same."""
        return self.wheel, self.version, self.sha256, self.setting

    @property
    def name(self) -> str:
        """Return "tensorflow-cpu 2.14.1"."""
        return f"{self.wheel.partition(' ')[0].partition('+')[0]} {self.version}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One session."""

    sha256: str
    """Of the file with its samples, which bears this name in the store."""
    size: int
    """Bytes of that file."""
    tfbuild: str
    """Version that measured."""
    started_at: datetime
    scale: Scale
    level: float
    """Confidence that its intervals need."""
    place: Place
    measured: tuple[Measured, ...]
    """Its contenders, control excluded."""

    @property
    def id(self) -> str:
        """The first letters of the hash, as they are shown."""
        return self.sha256[:8]

    @property
    def candidates(self) -> tuple[Measured, ...]:
        """What the session was for: all that have a baseline, or all if none has."""
        return tuple(m for m in self.measured if m.baseline is not None) or self.measured


@dataclass(frozen=True, kw_only=True)
class Index:
    """What is in a store, the oldest first. Made from the results, and made again if lost."""

    SCHEMA: ClassVar[str] = "tfbuild.history"
    VERSION: ClassVar[int] = 1

    entries: tuple[Entry, ...]
