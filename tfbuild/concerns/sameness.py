"""What differs between two sides besides what is to be compared."""

from collections.abc import Iterator

from tfbuild.bench.suite import Side, Subject
from tfbuild.concerns import losses
from tfbuild.concerns.model import Concern, Kind

_NO_LOSSES = (
    " The same seed draws other first weights in another release, so first losses are not "
    "compared; models, samples and steps are."
)


def about(baseline: Side, candidate: Side) -> Iterator[Concern]:
    """Yield what the two sides do not share."""
    a, b = baseline.who, candidate.who
    if a.tensorflow != b.tensorflow:
        yield Concern(
            kind=Kind.OTHER_TENSORFLOW,
            what=f"TensorFlow {a.tensorflow} against {b.tensorflow}.",
            do="The ratio is of release and build together."
            + ("" if losses.are_comparable(baseline, candidate) else _NO_LOSSES),
        )
    # Where the settings ask for it, it is what is compared, and the names say so.
    if None not in {a.onednn, b.onednn} and a.onednn != b.onednn and not _is_asked(a, b):
        yield Concern(
            kind=Kind.OTHER_ONEDNN,
            what=f"oneDNN is {_switch(a)} in {a.spec} and {_switch(b)} in {b.spec}.",
            do="--onednn on or --onednn off sets it alike where a wheel can.",
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
    yield from losses.about_sameness(baseline, candidate)


def _is_asked(a: Subject, b: Subject) -> bool:
    return (a.setting.onednn, b.setting.onednn) == (a.onednn, b.onednn)


def _switch(who: Subject) -> str:
    return "on" if who.onednn else "off"


def _work(side: Side, name: str) -> set[tuple[int, ...]]:
    samples = [run.sample(name) for run in side.runs]
    return {
        (each.parameters, each.train_samples, each.validation_samples, each.batch_size)
        for each in samples
    }
