"""From samples to claims: who is faster, by how much, how sure, and against 2017.

Works on saved suites alone; it neither knows nor cares how they were measured. All times are
seconds for one epoch of the study (`Sample.study_epoch_seconds`), so that the scale of the
measurement and the figures of 2017 meet in one unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tfbuild import concerns, stats, sweep
from tfbuild.bench import contrasts
from tfbuild.bench.suite import Plan, Scale, Side, Subject, Suite
from tfbuild.concerns import Concern, bias, costs
from tfbuild.errors import UsageError
from tfbuild.prices import Price, together
from tfbuild.stats import Estimate, Verdict
from tfbuild.sweep import Curve
from tfbuild.times import Times, times

__all__ = ["Comparison", "Contrast", "Row", "Times", "check", "compare", "of_suite", "times"]

OVERALL = "geometric mean"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One architecture, baseline against candidate."""

    architecture: str
    baseline: Times
    candidate: Times
    speedup: Estimate
    """With Student's interval, which decides."""
    verdict: Verdict
    bootstrap: Estimate | None = None
    """The same with the BCa bootstrap's interval; None for unpaired samples and few pairs."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """One candidate against its baseline: in a sweep, the baseline in the same setting."""

    baseline: Subject
    candidate: Subject
    rows: tuple[Row, ...]
    overall: Estimate
    """Geometric mean over the architectures; its interval is over the rounds."""
    overall_verdict: Verdict
    concerns: tuple[Concern, ...]
    overall_bootstrap: Estimate | None = None

    @property
    def estimates(self) -> dict[str, Estimate]:
        """All of them by the name of what they are of; the mean of a single one is that one."""
        rows = {each.architecture: each.speedup for each in self.rows}
        return rows | {OVERALL: self.overall} if len(rows) > 1 else rows


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A baseline and what was set against it."""

    SCHEMA: ClassVar[str] = "tfbuild.comparison"
    VERSION: ClassVar[int] = 2

    baseline: Subject
    scale: Scale
    noise: float
    contrasts: tuple[Contrast, ...]
    notes: tuple[str, ...] = ()
    """Those of the sessions: which wheel stands in for another."""
    samples: tuple[str, ...] = ()
    """Names of the files that hold the samples."""
    control: Contrast | None = None
    """The baseline against itself: whatever it shows beyond its interval is the machine's bias."""
    curves: tuple[Curve, ...] = ()
    """Of a sweep over vCPUs."""


def compare(
    baseline: Side,
    candidates: Sequence[Side],
    *,
    noise: float = stats.NOISE,
    samples: Sequence[str] = (),
    prices: Sequence[Price] = (),
) -> Comparison:
    """Compare each candidate with the baseline.

    Sides of one suite are paired by round. Sides of different suites share no rounds: the
    interval is then Welch's, which knows nothing of what changed between the sessions.

    Args:
        baseline: one contender.
        candidates: the others.
        noise: share below which a difference counts as none.
        samples: names of the files that hold the suites.
        prices: of CPU machines, at most one for each size, all in one currency.

    Raises:
        UsageError: scales or architectures differ, or two sides are the same.
        UsageError: prices of several providers, regions, kinds or currencies.
        NothingToDoError: a side has no finished round.
    """
    sides = (baseline, *candidates)
    together(prices)
    terms = _Terms(noise=noise, prices=prices)
    return Comparison(
        baseline=baseline.who,
        scale=baseline.suite.plan.scale,
        noise=noise,
        contrasts=tuple(_contrast(baseline, each, terms) for each in candidates),
        notes=tuple(dict.fromkeys(note for side in sides for note in side.suite.notes)),
        samples=tuple(samples),
    )


def of_suite(
    suite: Suite,
    *,
    noise: float | None = None,
    samples: Sequence[str] = (),
    prices: Sequence[Price] = (),
) -> Comparison:
    """Compare all that one session measured, each contender with its baseline.

    Which is whose baseline says `contrasts.pairs`: environments meet in the same setting, or one
    environment in several settings its first. The control stands apart, and what it shows is told
    of every contrast. A session of a single contender has no contrasts.

    Args:
        suite: with at least one finished round.
        noise: share below which a difference counts as none; the plan's if None.
        samples: names of the files that hold the suite.
        prices: of CPU machines, at most one for each size, all in one currency.

    Raises:
        UsageError: prices of several providers, regions, kinds or currencies.
        NothingToDoError: no round is finished.
    """
    together(prices)
    terms = _Terms(noise=suite.plan.noise if noise is None else noise, prices=prices)
    sides = tuple(Side(suite=suite, subject=each) for each in range(len(suite.subjects)))
    again = contrasts.control(suite.subjects)
    control = None if again is None else _contrast(sides[again[0]], sides[again[1]], terms)
    biased = () if control is None else tuple(bias.about(control.estimates, terms.noise))
    found = (_contrast(sides[a], sides[b], terms) for a, b in contrasts.pairs(suite.subjects))
    return Comparison(
        baseline=sides[0].who,
        scale=suite.plan.scale,
        noise=terms.noise,
        contrasts=tuple(replace(each, concerns=(*biased, *each.concerns)) for each in found),
        notes=suite.notes,
        samples=tuple(samples),
        control=control,
        curves=sweep.curves(sides, prices),
    )


@dataclass(frozen=True, kw_only=True)
class _Terms:
    noise: float
    prices: Sequence[Price]


def _contrast(baseline: Side, candidate: Side, terms: _Terms) -> Contrast:
    if baseline == candidate:
        raise UsageError(
            f"{baseline.who.spec} is compared with the very same samples.",
            why="Every ratio would be 1, and that says nothing of the noise.",
            do=f"Measure it twice: tfbuild compare {baseline.who.spec} {baseline.who.spec}",
        )
    check(baseline.who.spec, baseline.suite.plan, candidate.who.spec, candidate.suite.plan)
    rates = _Rates(
        is_paired=baseline.suite == candidate.suite,
        level=max(baseline.suite.level, candidate.suite.level),
    )
    by_name = {each.architecture: each for each in times(candidate, terms.prices)}
    rows = []
    for old in times(baseline, terms.prices):
        name = old.architecture
        speedup, bootstrap = rates.of(baseline.seconds(name), candidate.seconds(name))
        rows.append(
            Row(
                architecture=name,
                baseline=old,
                candidate=by_name[name],
                speedup=speedup,
                verdict=stats.verdict(speedup, terms.noise),
                bootstrap=bootstrap,
            )
        )
    overall, bootstrap = rates.of(_over_architectures(baseline), _over_architectures(candidate))
    return Contrast(
        baseline=baseline.who,
        candidate=candidate.who,
        rows=tuple(rows),
        overall=overall,
        overall_verdict=stats.verdict(overall, terms.noise),
        concerns=(
            *concerns.about(baseline, candidate, is_paired=rates.is_paired),
            *costs.about_sides([baseline, candidate], terms.prices),
        ),
        overall_bootstrap=bootstrap,
    )


@dataclass(frozen=True, kw_only=True)
class _Rates:
    is_paired: bool
    level: float
    """Of the session that had to be surer, where it looked at its samples several times."""

    def of(
        self, baseline: Sequence[float], candidate: Sequence[float]
    ) -> tuple[Estimate, Estimate | None]:
        """Return the speedup with Student's interval and with the bootstrap's."""
        if not self.is_paired:
            return stats.unpaired(baseline, candidate, self.level), None
        return (
            stats.paired(baseline, candidate, self.level),
            stats.bootstrap(baseline, candidate, self.level),
        )


def _over_architectures(side: Side) -> list[float]:
    """One number a round: the geometric mean of the architectures' seconds."""
    columns = [side.seconds(name) for name in side.suite.plan.architectures]
    return [stats.geometric_mean(values) for values in zip(*columns, strict=True)]


def check(baseline: str, a: Plan, candidate: str, b: Plan) -> None:
    """Refuse plans whose times do not compare.

    Raises:
        UsageError: scales or architectures differ.
    """
    if a.scale != b.scale:
        raise UsageError(
            f"{baseline} was measured at scale {a.scale}, {candidate} at {b.scale}.",
            why="Shorter epochs pay more for starting and ending each, so they do not compare.",
            do="Measure both at the same --scale.",
        )
    if set(a.architectures) != set(b.architectures):
        raise UsageError(
            f"{baseline} and {candidate} train different architectures.",
            why=f"{', '.join(a.architectures)} against {', '.join(b.architectures)}.",
            do="Measure both with the same --architectures.",
        )
    if _work(a) != _work(b):
        raise UsageError(
            f"{baseline} and {candidate} train different scripts.",
            why="Their names are the same; their text or their arguments are not.",
            do="Measure both with the same --workload.",
        )


def _work(plan: Plan) -> tuple[str, tuple[str, ...]] | None:
    script = plan.script
    return None if script is None else (script.sha256, script.arguments)
