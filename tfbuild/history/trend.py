"""Each wheel, setting and architecture over time, machines apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from tfbuild import stats
from tfbuild.bench.suite import Scale
from tfbuild.history.model import Entry, Measured
from tfbuild.history.pair import Against, baseline, chosen
from tfbuild.stats import Estimate


@dataclass(frozen=True, kw_only=True)
class Point:
    """One session."""

    sha256: str
    started_at: datetime
    version: str
    seconds: float
    """For one epoch of the study: the geometric mean of the rounds."""
    speedup: float | None
    """The baseline's time of that session over this one; None without a baseline."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One architecture of one wheel in one setting on one machine."""

    machine: str
    """The key that keeps machines apart."""
    wheel: str
    setting: str
    scale: Scale
    architecture: str
    data: str
    baseline: str | None
    """Of the newest session."""
    points: tuple[Point, ...]
    """The oldest first."""
    change: Estimate | None
    """The session before over the newest: less than 1 is slower; None for a single one."""
    change_over_baseline: bool
    """Whether `change` is one of ratios to the same baseline in both sessions."""
    trend_over_baseline: bool
    """Whether all sessions had the same baseline."""

    @property
    def speeds(self) -> tuple[float, ...]:
        """What a trend shows, more is faster: speedups over the baseline, or one over the time."""
        speedups = [point.speedup for point in self.points if point.speedup is not None]
        if self.trend_over_baseline:
            return tuple(speedups)
        return tuple(1 / point.seconds for point in self.points)


@dataclass(frozen=True, kw_only=True)
class MachineShown:
    """A machine and how many sessions it has measured."""

    key: str
    description: str
    sessions: int


@dataclass(frozen=True, kw_only=True)
class Trends:
    """All lines of a store."""

    SCHEMA: ClassVar[str] = "tfbuild.trends"
    VERSION: ClassVar[int] = 1

    machines: tuple[MachineShown, ...]
    lines: tuple[Line, ...]


def trends(entries: Sequence[Entry]) -> Trends:
    """Return the lines of a history, machine by machine.

    Args:
        entries: the oldest first.
    """
    by_machine: dict[str, list[Entry]] = {}
    for entry in entries:
        by_machine.setdefault(entry.place.key, []).append(entry)
    return Trends(
        machines=tuple(
            MachineShown(key=key, description=own[-1].place.description, sessions=len(own))
            for key, own in by_machine.items()
        ),
        lines=tuple(line for own in by_machine.values() for line in _lines(own)),
    )


def _lines(entries: Sequence[Entry]) -> Iterator[Line]:
    wheels: dict[tuple[str, str, Scale], dict[tuple[str, str], list[tuple[Measured, Entry]]]] = {}
    for entry in entries:
        for one in entry.measured:
            wheel = wheels.setdefault((one.wheel, one.setting, entry.scale), {})
            for name in one.seconds:
                wheel.setdefault((name, one.data[name]), []).append((one, entry))
    for wheel in wheels.values():
        for (name, data), found in wheel.items():
            yield _line(name, data, found)


def _line(name: str, data: str, found: Sequence[tuple[Measured, Entry]]) -> Line:
    now, newest = found[-1]
    pair = chosen(now, newest, [entry for _, entry in found[:-1]], Against.PREVIOUS)
    change = None if pair is None else pair.speedups(stats.CONFIDENCE).get(name)
    own = baseline(now, newest)
    before = [baseline(one, entry) for one, entry in found]
    return Line(
        machine=newest.place.key,
        wheel=now.wheel,
        setting=now.setting,
        scale=newest.scale,
        architecture=name,
        data=data,
        baseline=None if own is None else own.name,
        points=tuple(_point(name, one, entry) for one, entry in found),
        change=change,
        change_over_baseline=pair is not None and pair.baseline is not None,
        trend_over_baseline=own is not None and all(b and b.same == own.same for b in before),
    )


def _point(name: str, one: Measured, entry: Entry) -> Point:
    seconds = stats.geometric_mean(one.seconds[name])
    other = baseline(one, entry)
    return Point(
        sha256=entry.sha256,
        started_at=entry.started_at,
        version=one.version,
        seconds=seconds,
        speedup=None if other is None else stats.geometric_mean(other.seconds[name]) / seconds,
    )
