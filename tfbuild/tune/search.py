"""Chooses the fastest setting, one dimension after the other.

Within a dimension, all candidates and the best setting so far run in the same paired rounds. One
round drops what is hopeless: a single thread on a large machine would cost more than all others.
What is left gets more rounds, and only these choose. A second pass looks again at dimensions that
were searched before another one changed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import Suite
from tfbuild.compare import of_suite
from tfbuild.errors import BenchError, HostError, TfbuildError, UsageError
from tfbuild.tune.model import Step, Trial

ROUNDS = 3
"""Of the candidates that are left."""
HOPELESS = 0.8
"""Speed in one round, as a share of the best one's, below which a candidate is dropped."""
PASSES = 2
_CANNOT = (BenchError, HostError, UsageError)
"""What a setting may do to a process: it fails, or something is not installed."""


class Measure(Protocol):
    """Measures one environment in several settings, the first of which is the baseline."""

    def __call__(
        self, settings: Sequence[Setting], *, rounds: int, purpose: str
    ) -> tuple[Suite, str]:
        """Return the samples, and the name of the file that holds them ("" for none).

        Raises:
            BenchError, HostError, UsageError: a setting cannot be measured.
        """


@dataclass(frozen=True, kw_only=True)
class Search:
    """What a search goes by."""

    dimensions: Sequence[str]
    candidates: Callable[[str, Setting], Sequence[Setting]]
    measure: Measure
    noise: float
    """A candidate has to be faster by more than this to be taken."""
    is_time_up: Callable[[], bool] = lambda: False
    known: Sequence[Step] = ()
    """Steps of an earlier, interrupted search: they are taken over as long as they fit."""


def steps(search: Search, default: Setting) -> Iterator[Step]:
    """Yield each step when it is done; it ends early where the time is up."""
    base, seen, known = default, dict[str, Setting](), list(search.known)
    failed: set[str] = set()
    for _ in range(PASSES):
        for dimension in search.dimensions:
            # Only against another base is there anything new to see.
            if seen.get(dimension) == base:
                continue
            offered = search.candidates(dimension, base)
            candidates = [each for each in offered if _difference(base, each) not in failed]
            if candidates:
                if known and (known[0].dimension, known[0].base) == (dimension, base):
                    step = known.pop(0)
                elif search.is_time_up():
                    return
                else:
                    known.clear()
                    step = one(search, dimension, base, candidates)
                yield step
                failed.update(
                    _difference(base, each.setting) for each in step.trials if each.failure
                )
                base = step.chosen
            seen[dimension] = base


def one(search: Search, dimension: str, base: Setting, candidates: Sequence[Setting]) -> Step:
    """Search one dimension."""
    run = _Step(search=search, dimension=dimension, base=base)
    # One alone is not worth a round of its own.
    worth = run.round_of_all(candidates) if len(candidates) > 1 else list(candidates)
    left = run.again(worth)
    best = max(left, key=lambda trial: trial.ratio or 0.0, default=None)
    is_faster = best is not None and (best.ratio or 0.0) > 1 + search.noise
    return Step(
        dimension=dimension,
        base=base,
        trials=tuple(run.trials[each] for each in candidates),
        chosen=best.setting if best is not None and is_faster else base,
        samples=tuple(run.samples),
    )


class _Step:
    """One dimension in work."""

    def __init__(self, *, search: Search, dimension: str, base: Setting) -> None:
        self.search, self.dimension, self.base = search, dimension, base
        self.trials: dict[Setting, Trial] = {}
        self.samples: list[str] = []

    def round_of_all(self, candidates: Sequence[Setting]) -> list[Setting]:
        """Run all once and return those that are worth more rounds."""
        found = self._measured(candidates, rounds=1)
        best = max([1.0, *(trial.ratio or 0.0 for trial in found)])
        return [trial.setting for trial in found if (trial.ratio or 0.0) >= HOPELESS * best]

    def again(self, settings: Sequence[Setting]) -> list[Trial]:
        """Run those that are left some more; the first round has no say any more."""
        return self._measured(settings, rounds=ROUNDS) if settings else []

    def _measured(self, settings: Sequence[Setting], *, rounds: int) -> list[Trial]:
        try:
            suite = self._suite([self.base, *settings], rounds)
        except _CANNOT:
            settings = self._working(settings)
            if not settings:
                return []
            suite = self._suite([self.base, *settings], rounds)
        contrasts = of_suite(suite).contrasts
        found = [
            Trial(setting=setting, ratio=each.overall.ratio, rounds=each.overall.pairs)
            for setting, each in zip(settings, contrasts, strict=True)
        ]
        self.trials.update({trial.setting: trial for trial in found})
        return found

    def _working(self, settings: Sequence[Setting]) -> list[Setting]:
        """Return the candidates that can be measured; each alone, to see which one failed."""
        working: list[Setting] = []
        first: TfbuildError | None = None
        for setting in settings:
            try:
                self._suite([setting], 1)
            except _CANNOT as error:
                first = first or error
                self.trials[setting] = Trial(
                    setting=setting, ratio=None, rounds=0, failure=_reason(error)
                )
            else:
                working.append(setting)
        if first is None or not working:
            # Perhaps no candidate's fault: then this fails as well, and ends the search.
            self._suite([self.base], 1)
        return working

    def _suite(self, settings: Sequence[Setting], rounds: int) -> Suite:
        suite, name = self.search.measure(settings, rounds=rounds, purpose=self.dimension)
        if name:
            self.samples.append(name)
        return suite


def _difference(base: Setting, other: Setting) -> str:
    """Return what another setting changes: what has failed once is not tried again."""
    names = [each.name for each in fields(Setting)]
    return repr([(n, getattr(other, n)) for n in names if getattr(other, n) != getattr(base, n)])


def _reason(error: TfbuildError) -> str:
    return (next(iter(error.why.splitlines()), "") or error.what)[:300]
