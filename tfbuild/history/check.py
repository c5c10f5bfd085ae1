"""Whether the newest result is slower than an earlier one, by what both measured.

Two sessions are days apart, and what happened to the machine meanwhile looks like a slower wheel.
Where both have measured one and the same baseline, each time is taken over the baseline's of its
round, and the machine cancels: a ratio of ratios. Else the times themselves are set side by side,
and it is said that they know nothing of the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from tfbuild import slower
from tfbuild.history.model import Entry, Measured
from tfbuild.history.pair import Against, Pair, chosen
from tfbuild.slower import Judged, Outcome


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One contender of the newest result against the same of an earlier one."""

    wheel: str
    setting: str
    now: str
    """"tensorflow-cpu 2.14.1", as `then`."""
    then: str | None
    """None: nothing of this kind was measured before."""
    reference: str | None
    """Hash of the earlier result."""
    baseline: str | None
    """What both sessions measured beside it; None: times are compared as they are."""
    judged: tuple[Judged, ...] = ()
    """Of each architecture and their geometric mean: then over now, so less than 1 is slower."""
    changes: tuple[str, ...] = ()
    """What else is not as it was: "kernel 6.1.0-1 is now 6.1.0-2"."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A result against the history."""

    SCHEMA: ClassVar[str] = "tfbuild.check"
    VERSION: ClassVar[int] = 1

    sha256: str
    machine: str
    limit: float
    findings: tuple[Finding, ...]
    elsewhere: int
    """Results of other machines, which are never compared."""

    @property
    def judged(self) -> tuple[Judged, ...]:
        """All ratios, with the contender in their names where there are several."""
        several = len(self.findings) > 1
        return tuple(
            Judged(
                name=f"{each.name} of {finding.wheel}" if several else each.name,
                speedup=each.speedup,
                outcome=each.outcome,
            )
            for finding in self.findings
            for each in finding.judged
        )

    @property
    def outcome(self) -> Outcome:
        """The worst of all."""
        found = {each.outcome for each in self.judged}
        for worst in (Outcome.SLOWER, Outcome.INCONCLUSIVE):
            if worst in found:
                return worst
        return Outcome.FINE


def check(
    newest: Entry,
    others: Sequence[Entry],
    limit: float = slower.LIMIT,
    against: Against | Entry = Against.PREVIOUS,
) -> Check:
    """Compare a result with what the history knows of the same machine, wheels and settings.

    Args:
        newest: the result in question.
        others: the history, the oldest first; later ones, itself and other machines are left out.
        limit: the slowdown that is let through.
        against: the result before, the fastest one, or a certain one.
    """
    alike = [each for each in others if each.place.key == newest.place.key]
    before = [each for each in alike if _when(each) < _when(newest)]
    if isinstance(against, Entry):
        before = [each for each in alike if each.sha256 == against.sha256 != newest.sha256]
    pairs = [chosen(now, newest, before, against) for now in newest.candidates]
    level = max([newest.level, *(pair.old.level for pair in pairs if pair)])
    # All ratios of the check share the chance that one of them misleads.
    count = max(1, sum(len(pair.names) for pair in pairs if pair))
    return Check(
        sha256=newest.sha256,
        machine=newest.place.description,
        limit=limit,
        findings=tuple(
            _finding(now, pair, slower.together(level, count), limit)
            for now, pair in zip(newest.candidates, pairs, strict=True)
        ),
        elsewhere=len(others) - len(alike),
    )


def _when(entry: Entry) -> tuple[datetime, str]:
    return entry.started_at, entry.sha256


def _finding(now: Measured, pair: Pair | None, confidence: float, limit: float) -> Finding:
    if pair is None:
        return Finding(
            wheel=now.wheel,
            setting=now.setting,
            now=now.name,
            then=None,
            reference=None,
            baseline=None,
        )
    return Finding(
        wheel=now.wheel,
        setting=now.setting,
        now=now.name,
        then=pair.then.name,
        reference=pair.old.sha256,
        baseline=None if pair.baseline is None else pair.baseline.name,
        judged=tuple(
            Judged(name=name, speedup=each, outcome=slower.outcome(each, limit))
            for name, each in pair.speedups(confidence).items()
        ),
        changes=tuple(pair.changes()),
    )
