"""Runs the rounds: fresh processes, baseline and candidates interleaved in random order.

Why so: what differs between two processes of the same wheel (memory layout, page cache, the
neighbours on the machine) is the noise that a claim must beat, and what drifts over minutes
cancels only between processes that run close together.
"""

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import __version__, artifact, machine, signals
from tfbuild.bench import variables, worker
from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import Plan, Run, Stopped, Subject, Suite
from tfbuild.machine import Machine
from tfbuild.progress import Progress

if TYPE_CHECKING:
    from tfbuild.spec import Environment


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An environment in a setting: what gets one fresh process in each round."""

    environment: "Environment"
    setting: Setting
    is_control: bool = False
    """The first contender once more."""

    @property
    def name(self) -> str:
        """What the user called it."""
        return f"{self.environment.spec}, again" if self.is_control else self.environment.spec


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of the schedule."""

    number: int
    seed: int
    subjects: tuple[int, ...]
    """Order of the processes."""
    architectures: tuple[str, ...]
    """Order within each process: the same in all of a round, so that a carry-over cancels."""


def schedule(plan: Plan, subjects: int) -> Iterator[Round]:
    """Yield the rounds in their random orders; the plan's seed decides them all.

    Every second round turns the order of environments around: what comes first in a round has no
    advantage over the session.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - an order to repeat, not a secret
    order: tuple[int, ...] = ()
    for number in range(plan.rounds):
        order = order[::-1] if number % 2 else tuple(rng.sample(range(subjects), subjects))
        yield Round(
            number=number,
            seed=plan.seed + number,
            subjects=order,
            architectures=tuple(rng.sample(plan.architectures, len(plan.architectures))),
        )


def measure(
    contenders: Sequence[Contender],
    plan: Plan,
    *,
    here: Machine,
    data_folder: Path | None,
    path: Path,
    progress: Progress,
    notes: Sequence[str] = (),
    script: Path | None = None,
) -> Suite:
    """Run the whole plan and return all samples.

    After each round everything so far is in `path`; an interrupt or a failure leaves the finished
    rounds there, and says so.

    Args:
        contenders: what to measure; at least one.
        plan: what to do.
        here: facts of this machine, recorded with the samples.
        data_folder: where the workers find real data.
        path: the JSON file to write.
        progress: is told each start of a training.
        notes: what a reader of the result must know besides.
        script: the worker script, for tests.

    Raises:
        HostError: this CPU cannot run one of the environments.
        BenchError: a process failed.
        SaveError: the file cannot be written.
    """
    session = _Session(
        contenders=contenders,
        plan=plan,
        chosen=tuple(variables.settings(each.setting, os.environ) for each in contenders),
        data_folder=data_folder,
        progress=progress,
        script=script,
    )
    suite = Suite(
        tfbuild=__version__,
        started_at=datetime.now(UTC),
        finished_at=None,
        plan=plan,
        machine=here,
        settings=session.chosen,
        subjects=session.meet(),
        runs=(),
        notes=tuple(notes),
    )
    # A place that cannot be written is found out now, not after the first round.
    artifact.save(suite, path)
    try:
        progress.phase("Training", plan.rounds * len(contenders) * len(plan.architectures))
        with signals.stoppable():
            for each in schedule(plan, len(contenders)):
                grown = replace(suite, runs=suite.runs + session.run(each))
                artifact.save(grown, path)
                suite = grown
        suite = replace(suite, finished_at=datetime.now(UTC), stopped=Stopped.ROUNDS)
        artifact.save(suite, path)
    except BaseException:
        _leave(path, progress)
        raise
    return suite


def _leave(path: Path, progress: Progress) -> None:
    # The file counts: an interrupt may come just after a round was saved.
    suite = artifact.load(Suite, path)
    if suite.rounds:
        progress.note(f"{suite.rounds} of {suite.plan.rounds} rounds are kept in {path}")
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class _Session:
    contenders: Sequence[Contender]
    plan: Plan
    chosen: tuple[dict[str, str], ...]
    data_folder: Path | None
    progress: Progress
    script: Path | None

    def meet(self) -> tuple[Subject, ...]:
        """Start each environment once, untimed.

        A wheel that this CPU cannot run is refused before anything is trained, and no first
        process pays alone for reading the libraries from disk.
        """
        self.progress.phase("Starting each environment once", len(self.contenders))
        subjects = []
        for number, each in enumerate(self.contenders):
            self.progress.step(number, text=each.name)
            software = self._ask(number, (), self.plan.seed, 0).software
            subjects.append(_subject(each, software))
        return tuple(subjects)

    def run(self, each: Round) -> tuple[Run, ...]:
        """Run one round."""
        runs = []
        for position, subject in enumerate(each.subjects):
            before, started_at = machine.load(), datetime.now(UTC)
            trained = (each.number * len(each.subjects) + position) * len(each.architectures)
            answer = self._ask(subject, each.architectures, each.seed, trained)
            runs.append(
                Run(
                    subject=subject,
                    round=each.number,
                    position=position,
                    seed=each.seed,
                    started_at=started_at,
                    seconds=answer.seconds,
                    cpu_seconds=answer.cpu_seconds,
                    involuntary_switches=answer.involuntary_switches,
                    peak_rss_bytes=answer.peak_rss_bytes,
                    before=before,
                    after=machine.load(),
                    samples=answer.samples,
                )
            )
        return tuple(runs)

    def _ask(
        self, subject: int, architectures: tuple[str, ...], seed: int, trained: int
    ) -> worker.Answer:
        contender = self.contenders[subject]
        started = 0

        def on_start(architecture: str) -> None:
            nonlocal started
            self.progress.step(trained + started, text=f"{contender.name}, {architecture}")
            started += 1

        return worker.ask(
            contender.environment.python,
            worker.Request(
                architectures=architectures,
                plan=self.plan,
                setting=contender.setting,
                seed=seed,
                data_folder=self.data_folder,
            ),
            name=contender.name,
            chosen=self.chosen[subject],
            on_start=on_start,
            script=self.script,
        )


def _subject(contender: Contender, software: worker.Software) -> Subject:
    environment = contender.environment
    return Subject(
        spec=environment.spec,
        description=environment.description,
        distribution=environment.distribution,
        version=environment.version,
        tensorflow=software.tensorflow,
        python=software.python,
        keras=software.keras,
        numpy=software.numpy,
        onednn=software.onednn,
        intra_threads=software.intra_threads,
        inter_threads=software.inter_threads,
        cpu_features_built=software.cpu_features_built,
        wheel_sha256=environment.wheel_sha256,
        packages=environment.packages,
        setting=contender.setting,
        is_control=contender.is_control,
    )
