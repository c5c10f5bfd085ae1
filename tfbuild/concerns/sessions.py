"""What is to be said of how two sides were measured: pairs, sessions, machines."""

from collections.abc import Iterator

from tfbuild.bench.suite import Side
from tfbuild.concerns.model import Concern, Kind

ENOUGH_PAIRS = 5


def about(baseline: Side, candidate: Side, *, is_paired: bool) -> Iterator[Concern]:
    """Yield what pairs, or the lack of them, do to the claim."""
    pairs = min(len(baseline.runs), len(candidate.runs))
    if pairs < ENOUGH_PAIRS:
        several = f"{pairs} rounds give wide intervals."
        yield Concern(
            kind=Kind.FEW_PAIRS,
            what="One round gives no interval." if pairs == 1 else several,
            do=f"Use --rounds {2 * ENOUGH_PAIRS} for a claim.",
        )
    if is_paired:
        return
    yield Concern(
        kind=Kind.NOT_INTERLEAVED,
        what="The two were measured in different sessions: not interleaved, so not paired.",
        do="What changed in between counts as speed; name both in one `tfbuild compare`.",
    )
    if _machine(baseline) != _machine(candidate):
        yield Concern(
            kind=Kind.OTHER_MACHINE,
            what=f"They ran on different machines: {baseline.suite.machine.brand} and "
            f"{candidate.suite.machine.brand}, or with other CPUs allowed.",
            do="The ratio is of machine and wheel together.",
        )
    if baseline.settings != candidate.settings:
        yield Concern(
            kind=Kind.OTHER_SETTINGS,
            what="Threads or other settings differ between the two sessions.",
            do="Use the same --threads for both.",
        )


def _machine(side: Side) -> tuple[object, ...]:
    here = side.suite.machine
    return here.brand, here.features, here.cpus_allowed, here.cpu_quota


def about_end(*sides: Side) -> Iterator[Concern]:
    """Yield whether rounds are missing."""
    if any(side.suite.finished_at is None for side in sides):
        yield Concern(
            kind=Kind.UNFINISHED,
            what="A session ended before its last round.",
            do="Its finished rounds count; measure again for more.",
        )
