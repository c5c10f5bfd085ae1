"""A report as figures want it: contenders with labels and series, pairs with their rounds."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild import compare
from tfbuild.bench.suite import Run, Side, Subject
from tfbuild.compare import Contrast, Times
from tfbuild.report import words
from tfbuild.report.value import Report
from tfbuild.stats import geometric_mean


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An environment in a setting."""

    label: str
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
    return _Maker(report).make()


class _Maker:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.sides = [
            Side(suite=source.suite, subject=place)
            for source in report.sources
            for place in range(len(source.suite.subjects))
        ]
        self.found: list[tuple[Subject, Side | None, tuple[Times, ...]]] = []

    def make(self) -> View:
        comparison = self.report.comparison
        places = [self._places(each) for each in comparison.contrasts]
        if not comparison.contrasts:
            self._alone()
        control = None if comparison.control is None else self._places(comparison.control)
        names = words.labels([subject for subject, _, _ in self.found])
        made = [
            Contender(label=name, series=place, subject=subject, side=side, times=times)
            for place, (name, (subject, side, times)) in enumerate(
                zip(names, self.found, strict=True)
            )
        ]
        pairs = self._pairs(made, comparison.contrasts, places)
        apart = None
        if comparison.control is not None and control is not None:
            (apart,) = self._pairs(made, [comparison.control], [control])
            made = [each for each in made if each is not apart.candidate]
        return View(report=self.report, contenders=tuple(made), pairs=pairs, control=apart)

    @staticmethod
    def _pairs(
        made: Sequence[Contender],
        contrasts: Sequence[Contrast],
        places: Sequence[tuple[int, int]],
    ) -> tuple[Pair, ...]:
        candidates = [made[b] for _, b in places]
        labels = words.apart(
            [each.label for each in candidates], [each.subject for each in candidates]
        )
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

    def _alone(self) -> None:
        side = self.sides[0]
        self.found.append((side.who, side, compare.times(side)))

    def _places(self, contrast: Contrast) -> tuple[int, int]:
        """Return where baseline and candidate of a contrast stand among the contenders."""
        first = self._place(contrast.baseline, tuple(row.baseline for row in contrast.rows), -1)
        again = tuple(row.candidate for row in contrast.rows)
        return first, self._place(contrast.candidate, again, first)

    def _place(self, who: Subject, times: tuple[Times, ...], but: int) -> int:
        """Find a contender, or add it; `but` is its own baseline, with which it may be equal."""
        for place, (subject, _, _) in enumerate(self.found):
            if subject == who and place != but:
                return place
        taken = [side for _, side, _ in self.found]
        side = next((each for each in self.sides if each.who == who and each not in taken), None)
        self.found.append((who, side, times))
        return len(self.found) - 1


def _seconds(run: Run, architectures: tuple[str, ...]) -> float:
    return geometric_mean([run.sample(name).study_epoch_seconds for name in architectures])
