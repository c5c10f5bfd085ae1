"""Whether both sides compute the same, and numbers at all."""

from collections.abc import Iterator

from tfbuild.bench.suite import Side
from tfbuild.concerns.model import Concern, Kind

TOLERANCE = 0.02
"""Relative difference of two first losses. Builds of one release round differently in the last
bits, which a few steps magnify; another initialisation or another gradient is far beyond it."""


def about(*sides: Side) -> Iterator[Concern]:
    """Yield whether a loss was no number."""
    spoilt = {
        sample.architecture
        for side in sides
        for run in side.runs
        for sample in run.samples
        if None in {sample.first_loss, *sample.losses}
    }
    if spoilt:
        yield Concern(
            kind=Kind.NO_LOSS,
            what=f"The loss was no finite number in {', '.join(sorted(spoilt))}.",
            do="Training went wrong there; its time says nothing. Try another --seed, or look at "
            "one architecture with --architectures.",
        )


def disagreeing(baseline: Side, candidate: Side) -> list[str]:
    """Return the architectures whose first losses differ for the same seed and data."""
    by_seed = {run.seed: run for run in candidate.runs}
    pairs = [(run, by_seed[run.seed]) for run in baseline.runs if run.seed in by_seed]

    def disagree(name: str) -> bool:
        return any(
            a.sample(name).data == b.sample(name).data
            and _apart(a.sample(name).first_loss, b.sample(name).first_loss)
            for a, b in pairs
        )

    return [name for name in baseline.suite.plan.architectures if disagree(name)]


def _apart(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > TOLERANCE * max(abs(a), abs(b))
