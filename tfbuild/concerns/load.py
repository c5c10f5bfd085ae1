"""What else the machine did meanwhile."""

from collections.abc import Iterator

from tfbuild import stats
from tfbuild.bench.suite import Side
from tfbuild.concerns.model import Concern, Kind

BUSY = 0.1
"""Share of the machine's CPUs that others may use before it is mentioned."""


def about(*sides: Side) -> Iterator[Concern]:
    """Yield whether others used the CPUs."""
    runs = [run for side in sides for run in side.runs]
    others = [run.others_cpus for run in runs if run.others_cpus is not None]
    if not others:
        return
    here = sides[0].suite.machine
    share = stats.mean(others) / (here.cpus or here.cpus_allowed)
    if share > BUSY:
        yield Concern(
            kind=Kind.BUSY_MACHINE,
            what=f"Other programs used {share:.0%} of the CPUs meanwhile.",
            do="Repeat on a quiet machine; rounds cancel slow drift, not a fight for the cores.",
        )
