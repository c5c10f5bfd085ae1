"""Runs the rounds: fresh processes, all contenders interleaved in random order.

Why so: what differs between two processes of the same wheel (memory layout, page cache, the
neighbours on the machine) is the noise that a claim must beat, and what drifts over minutes
cancels only between processes that run close together.
"""

import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from tfbuild import __version__, artifact, signals, stopping
from tfbuild.bench import contrasts, lock, resuming, variables, workload
from tfbuild.bench.schedule import schedule
from tfbuild.bench.session import Contender, Session
from tfbuild.bench.suite import Plan, Suite
from tfbuild.errors import UsageError
from tfbuild.machine import Machine
from tfbuild.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Around:
    """What a session needs to know besides its plan, and what is to be recorded with it."""

    here: Machine
    """Facts of this machine."""
    data_folder: Path | None
    """Where the workers find real data."""
    path: Path
    """The JSON file to write."""
    notes: tuple[str, ...] = ()
    """What a reader of the result must know besides."""
    command: tuple[str, ...] = ()
    """The words that repeat the measurement."""
    resume_command: tuple[str, ...] = ()
    """The words that go on after an interrupt."""
    has_peaks: bool = False
    """Whether what the machine can do at most is measured after the rounds."""
    worker: Path | None = None
    """The worker script, for tests."""


def measure(
    contenders: Sequence[Contender], plan: Plan, around: Around, progress: Progress
) -> Suite:
    """Run rounds until the rule for stopping or the plan says that it is enough.

    After each round everything so far is in the file; an interrupt or a failure leaves the finished
    rounds there, and says so.

    Args:
        contenders: what to measure; at least one.
        plan: what to do.
        around: machine, data, and where to write.
        progress: is told each start of a training.

    Raises:
        HostError: this CPU cannot run one of the environments.
        BenchError: a process failed.
        SaveError: the file cannot be written.
    """
    session = _session(contenders, plan, around, progress)
    suite = Suite(
        tfbuild=__version__,
        started_at=datetime.now(UTC),
        finished_at=None,
        plan=plan,
        machine=around.here,
        settings=session.chosen,
        subjects=session.meet(),
        runs=(),
        notes=around.notes,
        command=around.command,
    )
    # A place that cannot be written is found out now, not after the first round.
    artifact.save(suite, around.path)
    with lock.alone(around.path):
        return _finish(session, suite, around)


def resume(
    suite: Suite, contenders: Sequence[Contender], around: Around, progress: Progress
) -> Suite:
    """Go on with a session that was interrupted: same plan, same seed, same order.

    Args:
        suite: what it has left in the file of `around`.
        contenders: the same again, in the same order.
        around: as for `measure`; notes and command stay those of the session.
        progress: is told each start of a training.

    Raises:
        NothingToDoError: the session is finished.
        UsageError: machine, environments or script are not the same any more.
        HostError, BenchError, SaveError: as `measure`.
    """
    resuming.check(suite, around.here, around.path)
    # What the variables were then, whatever the user has set since.
    session = replace(_session(contenders, suite.plan, around, progress), chosen=suite.settings)
    with lock.alone(around.path):
        resuming.same(suite, session.meet(), around.path)
        if suite.rounds:
            suite = replace(suite, notes=(*suite.notes, resuming.note(suite, around.here)))
        artifact.save(suite, around.path)
        return _finish(session, suite, around)


def _session(
    contenders: Sequence[Contender], plan: Plan, around: Around, progress: Progress
) -> Session:
    return Session(
        contenders=contenders,
        plan=plan,
        chosen=tuple(
            variables.settings(each.setting, os.environ, has_script=plan.script is not None)
            for each in contenders
        ),
        data_folder=around.data_folder,
        progress=progress,
        program=around.worker,
    )


def _finish(session: Session, suite: Suite, around: Around) -> Suite:
    try:
        with signals.stoppable():
            suite = _rounds(session, suite, around.path)
            if around.has_peaks and not suite.peaks:
                peaks, notes = session.peaks()
                suite = replace(suite, peaks=peaks, notes=(*suite.notes, *notes))
        suite = replace(suite, finished_at=datetime.now(UTC), stopped=decide(suite).stop)
        artifact.save(suite, around.path)
    except BaseException:
        _leave(around, session.progress)
        raise
    return suite


def _rounds(session: Session, suite: Suite, path: Path) -> Suite:
    """Run the rounds that are missing, and save after each."""
    decision = decide(suite)
    trainings = len(session.contenders) * len(session.plan.architectures)
    session.progress.phase("Training", decision.planned * trainings)
    for each in islice(schedule(session.plan, len(session.contenders)), suite.rounds, None):
        if decision.stop is not None:
            break
        workload.check(session.plan.script)
        runs = session.run(each, decision.planned)
        resuming.same_data(suite, runs)
        suite = replace(suite, runs=suite.runs + runs)
        decision = decide(suite)
        suite = replace(suite, looks=decision.looks, level=decision.level)
        artifact.save(suite, path)
    return suite


def decide(suite: Suite) -> "stopping.Decision":
    """Return what the rule for stopping says of the finished rounds."""
    ratios = [
        [
            math.log(before / after)
            for before, after in zip(
                suite.seconds(baseline, name), suite.seconds(candidate, name), strict=True
            )
        ]
        for baseline, candidate in contrasts.pairs(suite.subjects)
        for name in suite.plan.architectures
    ]
    return stopping.after(suite.plan, ratios, round_seconds(suite))


def round_seconds(suite: Suite) -> list[float]:
    """Return how long each finished round took."""
    totals = [0.0] * suite.rounds
    for run in suite.runs:
        totals[run.round] += run.seconds
    return totals


def _leave(around: Around, progress: Progress) -> None:
    # The file counts: an interrupt may come just after a round was saved.
    with signals.held():
        try:
            suite = artifact.load(Suite, around.path)
        except UsageError:
            return  # somebody took the file away; the error that ended the session matters more
        if not suite.rounds:
            around.path.unlink(missing_ok=True)
            return
        most = "at most " if suite.plan.precision is not None else ""
        kept = f"{suite.rounds} of {most}{suite.plan.rounds} rounds are kept in {around.path}"
        again = f"; go on with: {shlex.join(around.resume_command)}"
        progress.note(kept + (again if around.resume_command else ""))
