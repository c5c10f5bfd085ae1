"""Limits of the control groups that hold this process, of both versions.

A limit of a group above holds as well, so the smallest on the way up counts. In a container the
way up ends at its own group, which is then all that is seen: the kernel shows no more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tfbuild.machine import files

_NO_LIMIT = 2**62
"""Version 1 writes the largest multiple of a page for no limit of memory."""


@dataclass(frozen=True, kw_only=True)
class Throttled:
    """How often and how long a quota stopped this process's group, since the group exists."""

    periods: int
    seconds: float


def quota(root: Path) -> float | None:
    """Return the CPUs' worth of time that may be used, None for no limit.

    Version 2: `cpu.max` ("200000 100000" or "max 100000"); version 1: two files.
    """
    granted = [
        share
        for folder in _folders(root, "cpu")
        if (share := _two(folder) if (folder / "cpu.max").exists() else _one(folder)) is not None
    ]
    return min(granted, default=None)


def memory_limit(root: Path) -> int | None:
    """Return the bytes that may be used, None for no limit."""
    limits = [
        limit
        for folder in _folders(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (limit := files.number(folder / name)) is not None and limit < _NO_LIMIT
    ]
    return min(limits, default=None)


def cpuset(root: Path) -> str | None:
    """Return the CPUs of the innermost group that says any, as the kernel writes them."""
    for folder in _folders(root, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            if found := files.text(folder / name):
                return found
    return None


def throttled(root: Path) -> Throttled | None:
    """Return what a quota cost so far: of the group on the way up that was stopped longest."""
    seen = [one for folder in _folders(root, "cpu") if (one := _stat(folder)) is not None]
    return max(seen, key=lambda one: one.seconds, default=None)


def oom_kills(root: Path) -> int | None:
    """Return how many processes of this very group the kernel killed for lack of memory, ever.

    Version 2: `memory.events`; version 1: `memory.oom_control`.
    """
    counts = (
        table["oom_kill"]
        for folder in _folders(root, "memory")
        for name in ("memory.events", "memory.oom_control")
        if "oom_kill" in (table := files.table(folder / name))
    )
    return next(counts, None)


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's groups that this controller governs, innermost first."""
    base = root / "sys/fs/cgroup"
    for line in (files.text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, own = line.split(":", 2)
        if controllers == "":
            mount = base / "unified" if (base / "unified").is_dir() else base
        elif controller in controllers.split(","):
            mount = base / controller
        else:
            continue
        # Seen from a container, its own group may be named by its path on the machine.
        inner = PurePosixPath(own.lstrip("/"))
        for part in (inner, *inner.parents):
            if ".." not in part.parts and (folder := mount / part).is_dir():
                yield folder


def _two(folder: Path) -> float | None:
    return _share((files.text(folder / "cpu.max") or "").split())


def _one(folder: Path) -> float | None:
    return _share([files.text(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")])


def _share(words: list[str]) -> float | None:
    try:
        granted, period = (int(word) for word in words)
    except ValueError:
        return None
    return granted / period if granted > 0 and period > 0 else None


def _stat(folder: Path) -> Throttled | None:
    found = files.table(folder / "cpu.stat")
    if "nr_throttled" not in found:
        return None
    # Microseconds in version 2, nanoseconds in version 1.
    micro, nano = found.get("throttled_usec"), found.get("throttled_time", 0)
    return Throttled(
        periods=found["nr_throttled"], seconds=nano / 1e9 if micro is None else micro / 1e6
    )
