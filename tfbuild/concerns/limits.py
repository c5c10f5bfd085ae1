"""What the machine did not give: memory, and processor time that a control group held back."""

from collections.abc import Iterator

from tfbuild.bench.suite import Run, Side
from tfbuild.concerns.model import Concern, Kind

SWAPPED_PAGES = 256
"""In the course of a session: 1 MiB with pages of 4 KiB. Less is the kernel tidying up."""
STOPPED = 0.005
"""Share of the time for which a quota may stop a process before it is mentioned."""


def about(*sides: Side) -> Iterator[Concern]:
    """Yield whether memory went to swap, and whether a quota stopped a process."""
    runs = [run for side in sides for run in side.runs]
    if (pages := sum(map(_swapped, runs))) >= SWAPPED_PAGES:
        yield Concern(
            kind=Kind.SWAP,
            what=f"{pages} pages of memory went to swap or came back meanwhile.",
            do="Close other programs, or train less at once with --architectures: a process that "
            "waits for the disk measures the disk.",
        )
    seconds = sum(run.seconds for run in runs)
    stopped = sum(map(_stopped, runs))
    if stopped > STOPPED * seconds:
        quota = sides[0].suite.machine.cpu_quota
        granted = "" if quota is None else f" of {quota:g} CPUs"
        yield Concern(
            kind=Kind.QUOTA,
            what=f"The control group's quota{granted} stopped the processes: threads waited "
            f"{stopped:.1f} s in {seconds:.1f} s.",
            do="Use fewer threads (--threads), or lift the limit (docker run --cpus, CPUQuota=): "
            "a process that is stopped in every period measures the quota.",
        )


def _swapped(run: Run) -> int:
    before, after = run.before, run.after
    pairs = (
        (before.swapped_in_pages, after.swapped_in_pages),
        (before.swapped_out_pages, after.swapped_out_pages),
    )
    return sum(max(0, b - a) for a, b in pairs if a is not None and b is not None)


def _stopped(run: Run) -> float:
    before, after = run.before.throttled_seconds, run.after.throttled_seconds
    return 0.0 if before is None or after is None else max(0.0, after - before)
