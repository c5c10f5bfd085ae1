"""Whether the kernel killed a process because memory ran out: its own counts, before and after."""

from dataclasses import dataclass
from pathlib import Path

from tfbuild.machine import files, groups


@dataclass(frozen=True, kw_only=True)
class Kills:
    """How many processes the kernel has killed for lack of memory; None where it does not say."""

    group: int | None
    """In this process's control group and those above, for their limits or the machine's."""
    machine: int | None
    limit_bytes: int | None
    """What the group grants."""


def kills(root: Path = Path("/")) -> Kills:
    """Return the counts at this moment."""
    return Kills(
        group=groups.oom_kills(root),
        machine=files.table(root / "proc/vmstat").get("oom_kill"),
        limit_bytes=groups.memory_limit(root),
    )


def verdict(before: Kills, after: Kills) -> str:
    """Return in a sentence what the counts say of a process that was killed with SIGKILL."""
    if _more(before.group, after.group):
        limit = after.limit_bytes
        of = "" if limit is None else f", whose limit is {limit / 2**30:.1f} GiB"
        return f"The kernel killed it because memory ran out in its control group{of}."
    if _more(before.machine, after.machine):
        return "The kernel killed a process meanwhile because memory ran out: most probably this."
    if before.machine is not None and after.machine is not None:
        return (
            "It was not for lack of memory: the kernel counts no such kill meanwhile. Somebody "
            "else ended it, such as a job scheduler or a container's end."
        )
    return "Most often the kernel does that when memory runs out."


def _more(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before
