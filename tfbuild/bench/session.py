"""The contenders of one session, and the processes that are started for them."""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import machine
from tfbuild.bench import variables, worker
from tfbuild.bench.failure import IllegalInstructionError
from tfbuild.bench.schedule import Round
from tfbuild.bench.setting import Setting, words
from tfbuild.bench.suite import Peak, Plan, Run, Subject
from tfbuild.errors import BenchError, HostError, TfbuildError
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


def names(contenders: Sequence[Contender]) -> tuple[str, ...]:
    """Return what to call each: as the user wrote it, and what of its setting others lack."""
    told = [(_size(each.setting), *words(each.setting)) for each in contenders]
    common = set(told[0]).intersection(*told) if told else set()
    found = []
    for each, setting in zip(contenders, told, strict=True):
        own = ["again"] * each.is_control + [word for word in setting if word not in common]
        found.append(", ".join([each.environment.spec, *own]))
    return tuple(found)


def _size(setting: Setting) -> str:
    count = len(setting.cpus)
    return "1 CPU" if count == 1 else f"{count} CPUs"


@dataclass(frozen=True, kw_only=True)
class Session:
    """What all processes of a session have in common."""

    contenders: Sequence[Contender]
    plan: Plan
    chosen: tuple[dict[str, str], ...]
    """Of each contender: the variables that its processes are given."""
    data_folder: Path | None
    progress: Progress
    program: Path | None = None
    """What runs inside the environments; the one that ships with tfbuild if None."""

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """What to call each contender, for progress and errors."""
        return names(self.contenders)

    def meet(self) -> tuple[Subject, ...]:
        """Start each contender once, untimed.

        A wheel that this CPU cannot run is refused before anything is trained, and no first
        process pays alone for reading the libraries from disk.
        """
        self.progress.phase("Starting each environment once", len(self.contenders))
        subjects = []
        for number, each in enumerate(self.contenders):
            self.progress.step(number, text=self.names[number])
            answer = self._ask(number, self._request(number, seed=self.plan.seed))
            subjects.append(_subject(each, answer.software))
        return tuple(subjects)

    def run(self, each: Round, planned: int) -> tuple[Run, ...]:
        """Run one round; `planned` is how many there will be, as far as that is known now."""
        runs = []
        count = len(each.architectures)
        total = max(planned, each.number + 1) * len(self.contenders) * count
        for position, subject in enumerate(each.subjects):
            before, started_at = machine.load(), datetime.now(UTC)
            trained = (each.number * len(each.subjects) + position) * count
            answer = self._ask(subject, self._training(subject, each), trained, total)
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
                    startup_seconds=answer.startup_seconds,
                )
            )
        return tuple(runs)

    def peaks(self) -> tuple[tuple[Peak | None, ...], tuple[str, ...]]:
        """Measure what each contender's libraries reach, in a process of its own; and notes.

        Batch and XLA make no difference to that, so contenders that differ in these alone share
        one measurement. A process that fails costs its peak and nothing else.
        """
        self.progress.phase("Measuring what this machine can do at most", len(self.contenders))
        known: dict[str, Peak | None] = {}
        notes: dict[str, None] = {}
        found = []
        for number, each in enumerate(self.contenders):
            self.progress.step(number, text=self.names[number])
            key = repr((each.environment.python, replace(each.setting, batch=None, xla=False)))
            if key not in known:
                try:
                    request = self._request(number, seed=self.plan.seed, peak=True)
                    known[key] = self._ask(number, request).peak
                except (BenchError, HostError) as error:
                    known[key] = None
                    notes[
                        f"The peak of {self.names[number]} could not be measured: {error.what}"
                    ] = None
            found.append(known[key])
        return tuple(found), tuple(notes)

    def _training(self, subject: int, each: Round) -> worker.Request:
        return self._request(subject, each.architectures, seed=each.seed, layers=each.number == 0)

    def _request(
        self,
        subject: int,
        architectures: tuple[str, ...] = (),
        *,
        seed: int,
        layers: bool = False,
        peak: bool = False,
    ) -> worker.Request:
        return worker.Request(
            architectures=architectures,
            plan=self.plan,
            setting=self.contenders[subject].setting,
            seed=seed,
            data_folder=self.data_folder,
            layers=layers,
            peak=peak,
        )

    def _ask(
        self, subject: int, request: worker.Request, trained: int = 0, total: int | None = None
    ) -> worker.Answer:
        contender = self.contenders[subject]
        started = 0

        def on_start(architecture: str) -> None:
            nonlocal started
            self.progress.step(trained + started, total, f"{self.names[subject]}, {architecture}")
            started += 1

        try:
            return worker.ask(
                contender.environment.python,
                request,
                name=self.names[subject],
                chosen=self.chosen[subject],
                on_start=on_start,
                script=self.program,
            )
        except IllegalInstructionError as error:
            raise self._illegal(subject, request, error) from error

    def _illegal(
        self, subject: int, request: worker.Request, error: IllegalInstructionError
    ) -> TfbuildError:
        from tfbuild import illegal

        contender = self.contenders[subject]
        death = illegal.Death(
            name=self.names[subject],
            doing=error.doing,
            python=contender.environment.python,
            script=worker.program(self.program),
            request=request.to_json(),
            variables=variables.environment(self.chosen[subject], os.environ),
            timeout=self.plan.timeout,
        )
        return illegal.explain(death, self.progress)


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
