"""From samples to claims: who is faster, by how much, how sure, and against 2017.

Works on saved suites alone; it neither knows nor cares how they were measured. All times are
seconds for one epoch of the study (`Sample.study_epoch_seconds`), so that the scale of the
measurement and the figures of 2017 meet in one unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tfbuild import concerns, reference, stats
from tfbuild.bench import contrasts
from tfbuild.bench.suite import Plan, Scale, Side, Subject, Suite
from tfbuild.concerns import Concern, bias
from tfbuild.cost import Cost
from tfbuild.errors import NothingToDoError, UsageError
from tfbuild.roofline import Achieved
from tfbuild.stats import Estimate, Verdict
from tfbuild.sweep import Curve

OVERALL = "geometric mean"


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds for one epoch of the study, now and in 2017."""

    architecture: str
    seconds: float
    """Geometric mean over the rounds."""
    spread: float | None
    """Standard deviation of the logarithm: 0.03 is about 3 % from round to round; None for one."""
    k80_2017: float | None
    """None for a user's script, as the two below."""
    cpu_pip_2017: float | None
    """8 vCPU, the prebuilt wheel."""
    cpu_compiled_2017: float | None
    """8 vCPU, compiled with AVX2 and FMA."""
    data: str
    cost: Cost | None = None
    """Of the study's run at a given price."""
    achieved: Achieved | None = None

    @property
    def of_k80(self) -> float | None:
        """How many times as long as the K80 it takes: less than 1 is faster than the K80."""
        return None if self.k80_2017 is None else self.seconds / self.k80_2017


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
        """All of them by the name of what they are of."""
        return {each.architecture: each.speedup for each in self.rows} | {OVERALL: self.overall}


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


def times(side: Side) -> tuple[Times, ...]:
    """Return the times of one environment, in the order of the plan.

    Raises:
        NothingToDoError: no round of its session is finished.
    """
    if not side.runs:
        raise NothingToDoError(f"No round of {side.who.spec} is finished.")
    return tuple(
        Times(
            architecture=name,
            seconds=stats.geometric_mean(side.seconds(name)),
            spread=stats.spread(side.seconds(name)),
            k80_2017=_then(name, reference.GPU),
            cpu_pip_2017=_then(name, reference.CPU_PIP),
            cpu_compiled_2017=_then(name, reference.CPU_COMPILED),
            data=side.data(name),
        )
        for name in side.suite.plan.architectures
    )


def _then(architecture: str, platform: str) -> float | None:
    found = reference.runs().get((architecture, platform))
    return None if found is None else found.epoch_seconds


def compare(
    baseline: Side,
    candidates: Sequence[Side],
    *,
    noise: float = stats.NOISE,
    samples: Sequence[str] = (),
) -> Comparison:
    """Compare each candidate with the baseline.

    Sides of one suite are paired by round. Sides of different suites share no rounds: the
    interval is then Welch's, which knows nothing of what changed between the sessions.

    Raises:
        UsageError: scales or architectures differ, or two sides are the same.
        NothingToDoError: a side has no finished round.
    """
    sides = (baseline, *candidates)
    return Comparison(
        baseline=baseline.who,
        scale=baseline.suite.plan.scale,
        noise=noise,
        contrasts=tuple(_contrast(baseline, each, noise) for each in candidates),
        notes=tuple(dict.fromkeys(note for side in sides for note in side.suite.notes)),
        samples=tuple(samples),
    )


def of_suite(
    suite: Suite, *, noise: float | None = None, samples: Sequence[str] = ()
) -> Comparison:
    """Compare all that one session measured, each contender with its baseline.

    Which is whose baseline says `contrasts.pairs`: environments meet in the same setting, or one
    environment in several settings its first. The control stands apart, and what it shows is told
    of every contrast. A session of a single contender has no contrasts.

    Args:
        suite: with at least one finished round.
        noise: share below which a difference counts as none; the plan's if None.
        samples: names of the files that hold the suite.

    Raises:
        NothingToDoError: no round is finished.
    """
    noise = suite.plan.noise if noise is None else noise
    sides = tuple(Side(suite=suite, subject=each) for each in range(len(suite.subjects)))
    again = contrasts.control(suite.subjects)
    control = None if again is None else _contrast(sides[again[0]], sides[again[1]], noise)
    biased = () if control is None else tuple(bias.about(control.estimates, noise))
    found = (_contrast(sides[a], sides[b], noise) for a, b in contrasts.pairs(suite.subjects))
    return Comparison(
        baseline=sides[0].who,
        scale=suite.plan.scale,
        noise=noise,
        contrasts=tuple(replace(each, concerns=(*biased, *each.concerns)) for each in found),
        notes=suite.notes,
        samples=tuple(samples),
        control=control,
    )


def _contrast(baseline: Side, candidate: Side, noise: float) -> Contrast:
    if baseline == candidate:
        raise UsageError(
            f"{baseline.who.spec} is compared with the very same samples.",
            why="Every ratio would be 1, and that says nothing of the noise.",
            do=f"Measure it twice: tfbuild compare {baseline.who.spec} {baseline.who.spec}",
        )
    check(baseline.who.spec, baseline.suite.plan, candidate.who.spec, candidate.suite.plan)
    is_paired = baseline.suite == candidate.suite
    estimate = stats.paired if is_paired else stats.unpaired
    level = max(baseline.suite.level, candidate.suite.level)
    then, now = times(baseline), times(candidate)
    by_name = {each.architecture: each for each in now}
    rows = []
    for old in then:
        name = old.architecture
        speedup = estimate(baseline.seconds(name), candidate.seconds(name), level)
        rows.append(
            Row(
                architecture=name,
                baseline=old,
                candidate=by_name[name],
                speedup=speedup,
                verdict=stats.verdict(speedup, noise),
            )
        )
    overall = estimate(_over_architectures(baseline), _over_architectures(candidate), level)
    return Contrast(
        baseline=baseline.who,
        candidate=candidate.who,
        rows=tuple(rows),
        overall=overall,
        overall_verdict=stats.verdict(overall, noise),
        concerns=tuple(concerns.about(baseline, candidate, is_paired=is_paired)),
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
