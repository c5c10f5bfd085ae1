"""The CPUs that this process may use: which share a core, a package, a memory node.

Read from the kernel's own files (Documentation/admin-guide/cputopology.rst). The affinity mask is
the border: the kernel keeps it within the control group's cpuset and the CPUs that are on line.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tfbuild.errors import UsageError
from tfbuild.machine import files, groups

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5})(?::([1-9]\d{0,4}))?)?")
BINDS = hasattr(os, "sched_getaffinity")
"""Whether Python can bind a process to CPUs here: on Linux, not on macOS and Windows."""


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """One logical CPU."""

    number: int
    siblings: tuple[int, ...]
    """The hardware threads of its core, itself among them; some may be forbidden to us."""
    package: int | None = None
    node: int | None = None
    capacity: int | None = None
    """Relative to the machine's fastest, 1024; told where cores differ (Arm, some hybrids)."""

    @property
    def core(self) -> int:
        """A number for its core: the lowest of the siblings."""
        return self.siblings[0]


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The CPUs that may be used, ascending, and how much of their time."""

    cpus: tuple[Cpu, ...]
    quota: float | None = None
    """CPUs' worth of time that the control group grants; None is no limit."""
    is_known: bool = True
    """Whether the kernel tells which CPUs share a core."""
    can_bind: bool = True
    """Whether this system binds processes to CPUs (macOS does not)."""

    @property
    def cores(self) -> int:
        """Physical cores with at least one CPU that may be used."""
        return len({cpu.core for cpu in self.cpus})

    @property
    def nodes(self) -> tuple[int, ...]:
        """Memory nodes that have such CPUs."""
        return tuple(sorted({cpu.node for cpu in self.cpus if cpu.node is not None}))

    def of(self, numbers: Iterable[int]) -> tuple[Cpu, ...]:
        """Return those of the given numbers."""
        wanted = frozenset(numbers)
        return tuple(cpu for cpu in self.cpus if cpu.number in wanted)


def read(root: Path = Path("/"), allowed: Iterable[int] | None = None) -> Topology:
    """Return the CPUs that may be used here.

    Args:
        root: where proc and sys are found.
        allowed: their numbers; those of this process's affinity mask if None.
    """
    numbers = sorted(usable() if allowed is None else allowed)
    nodes = _nodes(root)
    base = root / "sys/devices/system/cpu"
    siblings = {number: _siblings(base / f"cpu{number}/topology") for number in numbers}
    return Topology(
        cpus=tuple(
            Cpu(
                number=number,
                siblings=siblings[number] or (number,),
                package=files.number(base / f"cpu{number}/topology/physical_package_id"),
                node=nodes.get(number),
                capacity=files.number(base / f"cpu{number}/cpu_capacity"),
            )
            for number in numbers
        ),
        quota=groups.quota(root),
        is_known=all(siblings.values()),
        can_bind=BINDS,
    )


def usable() -> frozenset[int]:
    """Return the numbers of the CPUs that this process may use."""
    if BINDS:
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def numbers(text: str) -> tuple[int, ...]:
    """Read a list as the kernel and taskset write it: "0-3,8" or "0-30:2"; ascending.

    Raises:
        UsageError: it is none, or empty.
    """
    found: set[int] = set()
    for word in filter(None, (part.strip() for part in text.split(","))):
        if not (match := _RANGE.fullmatch(word)):
            raise UsageError(f"{word!r} is no number or range of CPUs.", do="Example: 0-3,8")
        first, last = int(match[1]), int(match[2] or match[1])
        found.update(range(first, last + 1, int(match[3] or 1)))
        if last < first:
            raise UsageError(f"The range {word} is empty.", do=f"Perhaps {last}-{first}?")
    if not found:
        raise UsageError("A list of CPUs is empty.", do="Example: 0-3,8")
    return tuple(sorted(found))


def written(numbers: Iterable[int]) -> str:
    """Return numbers as the kernel writes them: "0-3,8"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if run[1:] else str(run[0]) for run in runs)


def _siblings(folder: Path) -> tuple[int, ...]:
    """Newer kernels call the file core_cpus_list, older ones only thread_siblings_list."""
    for name in ("core_cpus_list", "thread_siblings_list"):
        try:
            return numbers((folder / name).read_text(encoding="ascii"))
        except (OSError, UsageError, UnicodeDecodeError):
            continue
    return ()


def _nodes(root: Path) -> Mapping[int, int]:
    found = {}
    for folder in (root / "sys/devices/system/node").glob("node[0-9]*"):
        try:
            members = numbers((folder / "cpulist").read_text(encoding="ascii"))
        except (OSError, UsageError, UnicodeDecodeError):
            continue  # a node of memory alone has an empty list
        found.update(dict.fromkeys(members, int(folder.name.removeprefix("node"))))
    return found
