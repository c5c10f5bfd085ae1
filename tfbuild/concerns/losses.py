"""Whether both sides compute the same, and numbers at all."""

import math
from collections.abc import Iterator

from tfbuild.bench.suite import Side
from tfbuild.concerns.model import Concern, Kind

TOLERANCE = 1e-5
"""Relative difference of two losses of the very first step, before any weight has changed. Builds
of one release add up in another order, which moves the last digit of a float: official wheels and
Intel's, 2.8 and 2.14, differ by at most 1e-7. Other first weights, another dropout, 16 bits or a
wrong kernel are far beyond this."""
SCRIPT_TOLERANCE = 0.25
"""The same for a user's script, whose first loss is the mean of its first epoch: steps magnify the
last digits, to 14 % within 60 steps of `mnist_mlp`."""


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


def about_sameness(baseline: Side, candidate: Side) -> Iterator[Concern]:
    """Yield whether first losses show that the two sides compute different things."""
    if odd := disagreeing(baseline, candidate):
        told = ", ".join(f"{name} {_in_words(share)}" for name, share in odd.items())
        yield Concern(
            kind=Kind.OTHER_LOSSES,
            what="The two do not compute the same thing: for the same seed and data their first "
            f"losses differ, {told}.",
            do="Speed is then the lesser question: see what `tfbuild verify` says of both.",
        )


def _in_words(share: float) -> str:
    return f"by {100 * share:.2g} %" if math.isfinite(share) else "since one is no number"


def are_comparable(baseline: Side, candidate: Side) -> bool:
    """Return whether first losses should agree at all.

    Another release draws other first weights and another dropout from the same seed, XLA another
    dropout, and another batch holds other samples.
    """
    a, b = baseline.who, candidate.who
    return a.tensorflow.split(".")[:2] == b.tensorflow.split(".")[:2] and (
        (a.setting.batch, a.setting.xla) == (b.setting.batch, b.setting.xla)
    )


def disagreeing(baseline: Side, candidate: Side) -> dict[str, float]:
    """Return how far first losses are apart where they should agree and do not.

    Keys are architectures, values the largest difference over the larger loss; infinite where only
    one of them is a number. Empty where the two sides cannot be compared so.
    """
    if not are_comparable(baseline, candidate):
        return {}
    plan = baseline.suite.plan
    tolerance = TOLERANCE if plan.script is None else SCRIPT_TOLERANCE
    found = {name: _apart(baseline, candidate, name) for name in plan.architectures}
    return {name: share for name, share in found.items() if share > tolerance}


def _apart(baseline: Side, candidate: Side, name: str) -> float:
    by_seed = {run.seed: run.sample(name) for run in candidate.runs}
    pairs = [(run.sample(name), by_seed[run.seed]) for run in baseline.runs if run.seed in by_seed]
    return max(
        (_share(a.first_loss, b.first_loss) for a, b in pairs if a.data == b.data), default=0.0
    )


def _share(a: float | None, b: float | None) -> float:
    if a is None or b is None:
        return 0.0 if a is b else math.inf
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0
