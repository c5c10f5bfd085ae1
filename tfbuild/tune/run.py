"""Runs a search to its end: steps, confirmation, advice, all of it saved as it comes."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tfbuild import __version__, artifact, bench, signals
from tfbuild.bench import resuming, workload
from tfbuild.bench.manager import Around
from tfbuild.bench.setting import Setting, words
from tfbuild.bench.suite import Plan, Suite
from tfbuild.compare import Contrast, of_suite
from tfbuild.errors import NothingToDoError, UsageError
from tfbuild.machine import topology
from tfbuild.progress import Progress
from tfbuild.stats import Verdict
from tfbuild.tune import advice, candidates, search
from tfbuild.tune.candidates import BATCH, Ground
from tfbuild.tune.model import Step, Trial, Tuning
from tfbuild.tune.search import Search

if TYPE_CHECKING:
    from tfbuild.machine.topology import Topology
    from tfbuild.spec import Environment

SEARCHING = 0.6
"""Share of the time allowed after which no new dimension is begun: the rest is to confirm."""
_PATIENCE = 20
"""A candidate's process may take so many times as long as the longest one before."""
_LEAST_TIMEOUT = 60.0
_SEEDS_APART = 1_000
_NUMBER = re.compile(r"\.(\d{1,6})-[a-z-]+\.suite\.json$")


@dataclass(frozen=True, kw_only=True)
class Task:
    """A search before it runs."""

    environment: "Environment"
    default: Setting
    dimensions: tuple[str, ...]
    plan: Plan
    """Of the confirmation; a search takes fewer rounds, with other seeds."""
    around: Around
    """Where and how; its path is that of the search, and sessions lie beside it."""
    max_seconds: float | None = None
    known: Tuning | None = None
    """What an interrupted search has left."""
    topology: "Topology | None" = None
    """The CPUs that may be used; those of this process if None."""


def tune(task: Task, progress: Progress) -> Tuning:
    """Search, confirm and advise. After each step everything so far is in the file.

    Args:
        task: what to search.
        progress: is told each start of a training, and what each step chose.

    Raises:
        HostError, BenchError: the default setting cannot be measured.
        NothingToDoError, UsageError: the search cannot go on here.
        SaveError: a file cannot be written.
    """
    if task.known is not None:
        check(task.known, task)
    run = _Run(task=task, progress=progress)
    try:
        with signals.stoppable():
            return run.whole()
    except BaseException:
        if run.found.steps:
            progress.note(
                f"{len(run.found.steps)} steps are kept in {task.around.path}; go on with: "
                f"tfbuild tune --resume {task.around.path}"
            )
        raise


@dataclass(kw_only=True)
class _Run:
    """One search in work."""

    task: Task
    progress: Progress
    found: Tuning = field(init=False)
    began: float = field(default_factory=time.monotonic)
    sessions: int = 0
    timeout: float | None = None
    onednn: bool | None = None

    def __post_init__(self) -> None:
        task = self.task
        self.timeout = task.plan.timeout
        self.sessions = _counted(task.known)
        self.found = Tuning(
            tfbuild=__version__,
            started_at=datetime.now(UTC) if task.known is None else task.known.started_at,
            finished_at=None,
            machine=task.around.here,
            plan=task.plan,
            spec=task.environment.spec,
            description=task.environment.description,
            distribution=task.environment.distribution,
            version=task.environment.version,
            wheel_sha256=task.environment.wheel_sha256,
            dimensions=task.dimensions,
            default=task.default,
            notes=task.around.notes,
            command=task.around.command,
        )

    def whole(self) -> Tuning:
        if self.task.known is None:  # else the file has steps that are still to be taken over
            self._keep(self.found)
        self._search()
        best = self.found.steps[-1].chosen if self.found.steps else self.task.default
        self._keep(replace(self.found, best=best))
        self._confirm(best)
        if BATCH in self.task.dimensions:
            self._batch(best if self.found.is_worth_it else self.task.default)
        self._keep(replace(self.found, finished_at=datetime.now(UTC)))
        return self.found

    def _search(self) -> None:
        names = [name for name in self.task.dimensions if name != BATCH]
        known = () if self.task.known is None else self.task.known.steps
        asked = Search(
            dimensions=names,
            candidates=self._candidates,
            measure=self._measure,
            noise=self.task.plan.noise,
            is_time_up=self._is_time_to_confirm,
            known=known,
        )
        for step in search.steps(asked, self.task.default):
            found = replace(self.found, steps=(*self.found.steps, step))
            if step in known:  # the file has it, and perhaps more
                self.found = found
            else:
                self._keep(found)
            self.progress.note(told(step))
        if self._is_time_to_confirm():
            done = {step.dimension for step in self.found.steps}
            left = (name for name in names if name not in done)
            base = self.found.steps[-1].chosen if self.found.steps else self.task.default
            missed = tuple(name for name in left if self._candidates(name, base))
            self._keep(replace(self.found, left_out=missed))

    def _confirm(self, best: Setting) -> None:
        if best == self.task.default:
            return
        contrast = self._fresh(self.task.default, best, "confirmation")
        is_worth_it = contrast.overall_verdict is Verdict.FASTER
        lines = advice.lines(self.task.default, best) if is_worth_it else ()
        self._keep(replace(self.found, confirmed=contrast, advice=lines))

    def _batch(self, base: Setting) -> None:
        """Search and confirm the size of batches apart: another size learns something else."""
        options = candidates.candidates(BATCH, base, self._ground())
        asked = Search(
            dimensions=[BATCH],
            candidates=self._candidates,
            measure=self._measure,
            noise=self.task.plan.noise,
        )
        step = search.one(asked, BATCH, base, options)
        self._keep(replace(self.found, steps=(*self.found.steps, step)))
        self.progress.note(told(step))
        if step.chosen == base:
            return
        contrast = self._fresh(base, step.chosen, "batch-confirmation")
        is_worth_it = contrast.overall_verdict is Verdict.FASTER
        lines = advice.lines(base, replace(base, batch=step.chosen.batch)) if is_worth_it else ()
        own = [line for line in lines if line.kind == "code"]
        self._keep(replace(self.found, batch=contrast, batch_advice=tuple(own)))

    def _fresh(self, base: Setting, chosen: Setting, purpose: str) -> Contrast:
        suite, name = self._measure([base, chosen], rounds=self.task.plan.rounds, purpose=purpose)
        self.found = replace(self.found, samples=(*self.found.samples, name))
        return of_suite(suite).contrasts[0]

    def _candidates(self, dimension: str, base: Setting) -> tuple[Setting, ...]:
        return candidates.candidates(dimension, base, self._ground())

    def _ground(self) -> Ground:
        return Ground(
            topology=self.task.topology or topology.read(),
            has_openmp=self.task.environment.distribution.startswith("intel"),
            onednn=self.onednn,
        )

    def _measure(
        self, settings: Sequence[Setting], *, rounds: int, purpose: str
    ) -> tuple[Suite, str]:
        self.sessions += 1
        own = self.task.around.path
        stem = own.name.removesuffix(".json").removesuffix(".tuning")
        path = own.with_name(f"{stem}.{self.sessions:02d}-{purpose}.suite.json")
        plan = replace(
            self.task.plan,
            rounds=rounds,
            precision=None,
            seed=self.task.plan.seed + _SEEDS_APART * self.sessions,
            timeout=self.timeout,
            max_seconds=self._left(is_search=not purpose.endswith("confirmation")),
        )
        environment = self.task.environment
        suite = bench.measure(
            [bench.Contender(environment=environment, setting=each) for each in settings],
            plan,
            replace(self.task.around, path=path, resume_command=(), has_peaks=False),
            self.progress,
        )
        self._learn(suite)
        if len(settings) == 1:  # only to see whether it runs
            path.unlink(missing_ok=True)
            return suite, ""
        return suite, path.name

    def _learn(self, suite: Suite) -> None:
        """Take from a session what the next one can use."""
        if suite.subjects[0].setting.onednn is None:
            self.onednn = suite.subjects[0].onednn
        longest = max([run.seconds for run in suite.of(0)], default=0.0)
        patience = max(_LEAST_TIMEOUT, _PATIENCE * longest)
        if self.timeout is None or patience < self.timeout:
            self.timeout = patience if longest else self.timeout

    def _left(self, *, is_search: bool) -> float | None:
        if self.task.max_seconds is None:
            return None
        share = SEARCHING if is_search else 1.0
        return max(1.0, share * self.task.max_seconds - (time.monotonic() - self.began))

    def _is_time_to_confirm(self) -> bool:
        most = self.task.max_seconds
        return most is not None and time.monotonic() - self.began > SEARCHING * most

    def _keep(self, found: Tuning) -> None:
        self.found = found
        artifact.save(found, self.task.around.path)


def check(known: Tuning, task: Task) -> None:
    """Refuse to go on with a search where it would mix what does not belong together.

    Raises:
        NothingToDoError: it is finished.
        UsageError: this is another machine, the script has changed, or it is another wheel by now.
    """
    path, now = task.around.path, task.environment
    if known.finished_at is not None:
        raise NothingToDoError(f"{path} is finished: {len(known.steps)} steps.")
    resuming.same_machine(known.machine, task.around.here, path)
    workload.check(known.plan.script)
    before = (known.distribution, known.version, known.wheel_sha256)
    if before != (now.distribution, now.version, now.wheel_sha256):
        raise UsageError(
            f"{path} was begun with {known.distribution} {known.version}.",
            why=f"{known.spec} is {now.distribution} {now.version} by now, or another build of it.",
            do="Search anew.",
        )


def _counted(known: Tuning | None) -> int:
    """Return the highest number in a file's name, so that none is overwritten."""
    names = [name for step in known.steps for name in step.samples] if known else []
    return max([int(found[1]) for found in map(_NUMBER.search, names) if found], default=0)


def told(step: Step) -> str:
    """Return a step in one line: what was tried, and what is kept."""
    tried = ", ".join(f"{changed(step.base, each)} {_ratio(each)}" for each in step.trials)
    kept = "kept as it was" if step.chosen == step.base else f"now {_kept(step)}"
    return f"{step.dimension}: {tried}; {kept}"


def changed(base: Setting, trial: Trial) -> str:
    """Return in words what a trial's setting changes of its base."""
    mine = [each for each in words(trial.setting) if each not in words(base)]
    if trial.setting.cpus != base.cpus:
        mine.insert(0, f"CPUs {topology.written(trial.setting.cpus)}")
    if not mine:
        gone = [each for each in words(base) if each not in words(trial.setting)]
        mine = [f"without {each}" for each in gone]
    return ", ".join(mine)


def _kept(step: Step) -> str:
    return next(
        (changed(step.base, each) for each in step.trials if each.setting == step.chosen), ""
    )


def _ratio(trial: Trial) -> str:
    return "failed" if trial.ratio is None else f"{trial.ratio:.2f}x"
