"""A report as figures want it: contenders with labels and series, pairs with their rounds."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild import compare
from tfbuild.bench.suite import Run, Side, Subject
from tfbuild.compare import Contrast, Times
from tfbuild.report import who, words
from tfbuild.report.value import Report
from tfbuild.stats import geometric_mean


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An environment in a setting."""

    label: str
    short: str
    """The same without the package, where all have the same one: for bars."""
    series: int
    """Decides colour and sign; 0 is the baseline."""
    subject: Subject
    side: Side | None
    """None where its samples were not found in any source."""
    times: tuple[Times, ...]

    def of(self, architecture: str) -> Times | None:
        """Return its times of one architecture."""
        return next((each for each in self.times if each.architecture == architecture), None)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A contrast and its ratios of single rounds."""

    contrast: Contrast
    baseline: Contender
    candidate: Contender
    label: str
    """Tells it from the other pairs."""
    series: int

    def ratios(self, architecture: str) -> dict[int, float]:
        """Return the speedup in each round, by its number; "" is the geometric mean over all.

        Empty where the two were not measured in the same session.
        """
        one, other = self.baseline.side, self.candidate.side
        if one is None or other is None or one.suite is not other.suite:
            return {}
        names = (architecture,) if architecture else one.suite.plan.architectures
        then, now = (
            {run.round: _seconds(run, names) for run in side.runs} for side in (one, other)
        )
        return {number: then[number] / now[number] for number in sorted(then.keys() & now.keys())}


@dataclass(frozen=True, kw_only=True)
class View:
    """All of it, in the order in which it is shown."""

    report: Report
    contenders: tuple[Contender, ...]
    """The baseline first; the control is not among them."""
    pairs: tuple[Pair, ...]
    control: Pair | None

    @property
    def architectures(self) -> tuple[str, ...]:
        """In the order of the plan."""
        return tuple(each.architecture for each in self.contenders[0].times)

    @property
    def is_several(self) -> bool:
        """Whether a mean over architectures says more than the one row."""
        return len(self.architectures) > 1

    @property
    def rounds(self) -> int:
        """Rounds that every claim rests on at least."""
        if self.pairs:
            return min(pair.contrast.overall.pairs for pair in self.pairs)
        return self.report.sources[0].suite.rounds if self.report.sources else 0


def view(report: Report) -> View:
    """Return the view of a report.

    Raises:
        NothingToDoError: no round is finished.
    """
    comparison = report.comparison
    known = who.of_comparison(comparison)
    made = _contenders(report, known)
    count = len(comparison.contrasts)
    control = None
    if comparison.control is not None:
        (control,) = _pairs(made, [comparison.control], known.places[count:])
    return View(
        report=report,
        contenders=tuple(each for each in made if control is None or each is not control.candidate),
        pairs=_pairs(made, comparison.contrasts, known.places[:count]),
        control=control,
    )


def _contenders(report: Report, known: who.Cast) -> list[Contender]:
    times: dict[int, tuple[Times, ...]] = {}
    control = report.comparison.control
    contrasts = (*report.comparison.contrasts, *(() if control is None else (control,)))
    for contrast, (a, b) in zip(contrasts, known.places, strict=True):
        times.setdefault(a, tuple(row.baseline for row in contrast.rows))
        times.setdefault(b, tuple(row.candidate for row in contrast.rows))
    sides = who.sides(known.subjects, [source.suite for source in report.sources])
    if not times and sides[0] is not None:
        times[0] = compare.times(sides[0])
    labels = words.labels(known.subjects)
    shorts = words.apart(labels, known.subjects)
    return [
        Contender(
            label=labels[n],
            short=shorts[n],
            series=n,
            subject=subject,
            side=sides[n],
            times=times.get(n, ()),
        )
        for n, subject in enumerate(known.subjects)
    ]


def _pairs(
    made: Sequence[Contender],
    contrasts: Sequence[Contrast],
    places: Sequence[tuple[int, int]],
) -> tuple[Pair, ...]:
    candidates = [made[b] for _, b in places]
    labels = words.apart([each.label for each in candidates], [c.subject for c in candidates])
    one_baseline = len({a for a, _ in places}) == 1
    return tuple(
        Pair(
            contrast=contrast,
            baseline=made[a],
            candidate=made[b],
            label=labels[number],
            series=made[b].series if one_baseline else number + 1,
        )
        for number, (contrast, (a, b)) in enumerate(zip(contrasts, places, strict=True))
    )


def _seconds(run: Run, architectures: tuple[str, ...]) -> float:
    return geometric_mean([run.sample(name).study_epoch_seconds for name in architectures])
