"""Reasons to trust a comparison less, each with advice. None of them stops it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tfbuild import stats
from tfbuild.bench.suite import Side, Subject

ENOUGH_PAIRS = 5
BUSY = 0.1
"""Share of the machine's CPUs that others may use before it is mentioned."""
LOSS_TOLERANCE = 0.02
"""Relative difference of two first losses. Builds of one release round differently in the last
bits, which a few steps magnify; another initialisation or another gradient is far beyond it."""


class Kind(StrEnum):
    """A reason to trust a comparison less."""

    FEW_PAIRS = "few pairs"
    BUSY_MACHINE = "busy machine"
    NOT_INTERLEAVED = "not interleaved"
    OTHER_MACHINE = "other machine"
    OTHER_SETTINGS = "other settings"
    OTHER_DATA = "other data"
    OTHER_WORK = "other work"
    OTHER_TENSORFLOW = "other TensorFlow"
    OTHER_ONEDNN = "other oneDNN"
    OTHER_LOSSES = "other losses"
    NO_LOSS = "no finite loss"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, kw_only=True)
class Concern:
    """One concern, in words, with advice."""

    kind: Kind
    what: str
    do: str


def about(baseline: Side, candidate: Side, *, is_paired: bool) -> Iterator[Concern]:
    """Yield every concern about a comparison of two sides that may be compared at all."""
    yield from _about_sessions(baseline, candidate, is_paired=is_paired)
    yield from _about_end(baseline, candidate)
    yield from _about_load(baseline, candidate)
    yield from _about_losses(baseline, candidate)
    yield from _about_sameness(baseline, candidate)


def about_one(side: Side) -> Iterator[Concern]:
    """Yield what is to be said of one environment's times alone."""
    yield from _about_end(side)
    yield from _about_load(side)
    yield from _about_losses(side)


def _about_sessions(baseline: Side, candidate: Side, *, is_paired: bool) -> Iterator[Concern]:
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


def _about_end(*sides: Side) -> Iterator[Concern]:
    if any(side.suite.finished_at is None for side in sides):
        yield Concern(
            kind=Kind.UNFINISHED,
            what="A session ended before its last round.",
            do="Its finished rounds count; measure again for more.",
        )


def _about_load(*sides: Side) -> Iterator[Concern]:
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


def _about_losses(*sides: Side) -> Iterator[Concern]:
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


def _about_sameness(baseline: Side, candidate: Side) -> Iterator[Concern]:
    a, b = baseline.who, candidate.who
    if a.tensorflow != b.tensorflow:
        yield Concern(
            kind=Kind.OTHER_TENSORFLOW,
            what=f"TensorFlow {a.tensorflow} against {b.tensorflow}.",
            do="The ratio is of release and build together.",
        )
    if a.onednn is not None and b.onednn is not None and a.onednn != b.onednn:
        yield Concern(
            kind=Kind.OTHER_ONEDNN,
            what=f"oneDNN is {_switch(a)} in {a.spec} and {_switch(b)} in {b.spec}.",
            do="TF_ENABLE_ONEDNN_OPTS=1 or 0 before the command sets it alike where a wheel can.",
        )
    names = baseline.suite.plan.architectures
    if other := [name for name in names if baseline.data(name) != candidate.data(name)]:
        yield Concern(
            kind=Kind.OTHER_DATA,
            what=f"The two sides trained on different data: {', '.join(other)}.",
            do="Their shapes are the same; for a claim measure both with the same data.",
        )
    if other := [name for name in names if _work(baseline, name) != _work(candidate, name)]:
        yield Concern(
            kind=Kind.OTHER_WORK,
            what=f"The two sides trained other models or amounts: {', '.join(other)}.",
            do="Times per sample still compare, but not exactly; measure both with one tfbuild.",
        )
    same_release = a.tensorflow.split(".")[:2] == b.tensorflow.split(".")[:2]
    if same_release and (odd := _disagreeing(baseline, candidate)):
        yield Concern(
            kind=Kind.OTHER_LOSSES,
            what=f"First losses differ for the same seed: {', '.join(odd)}.",
            do="The two wheels may not compute the same thing; speed is then the lesser question.",
        )


def _switch(who: Subject) -> str:
    return "on" if who.onednn else "off"


def _work(side: Side, name: str) -> set[tuple[int, ...]]:
    samples = [run.sample(name) for run in side.runs]
    return {
        (each.parameters, each.train_samples, each.validation_samples, each.batch_size)
        for each in samples
    }


def _disagreeing(baseline: Side, candidate: Side) -> list[str]:
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
    return abs(a - b) > LOSS_TOLERANCE * max(abs(a), abs(b))
