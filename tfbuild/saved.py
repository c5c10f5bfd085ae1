"""Saved results as sides of a comparison. They come from strangers and are believed in nothing."""

import math
from collections.abc import Iterator
from pathlib import Path

from tfbuild import artifact
from tfbuild.bench.suite import ARCHITECTURES, Plan, Run, Side, Suite
from tfbuild.errors import UsageError

_MOST_BYTES = 256_000_000
"""A session of a whole night has less than a tenth of it."""
_LEAST_LEVEL = 0.5
_LONGEST = 1e9
"""Seconds; no timer takes ten times as many."""


def side(path: Path) -> Side:
    """Return the one contender of a session made by `tfbuild bench`.

    Raises:
        UsageError: the file is no suite, or holds several contenders.
    """
    suite = load(path)
    who = [number for number, each in enumerate(suite.subjects) if not each.is_control]
    if len(who) != 1:
        names = ", ".join(dict.fromkeys(suite.subjects[number].spec for number in who))
        raise UsageError(
            f"{path} holds {len(who)} contenders: {names}.",
            why="One side of a comparison is one environment in one setting.",
            do=f"Show them against each other: tfbuild compare {path}",
        )
    return Side(suite=suite, subject=who[0])


def sides(path: Path) -> tuple[Side, ...]:
    """Return all contenders of one session, the baseline first and the control left out.

    Raises:
        UsageError: the file is no suite, or holds a single contender.
    """
    suite = load(path)
    who = [number for number, each in enumerate(suite.subjects) if not each.is_control]
    if len(who) == 1:
        raise UsageError(
            f"{path} holds {suite.subjects[0].spec} alone.",
            why="A comparison has a baseline and at least one candidate.",
            do=f"Name a candidate too: tfbuild compare {path} compiled",
        )
    return tuple(Side(suite=suite, subject=each) for each in who)


def load(path: Path) -> Suite:
    """Return a saved session, finished or not, once it is clear that it can be reckoned with.

    Raises:
        UsageError: the file is no suite, too large, of another version, or damaged.
    """
    return read(path)[1]


def read(path: Path) -> tuple[bytes, Suite]:
    """Return what is in the file, and the session that this is; errors as `load`."""
    if path.name.endswith(".comparison.json"):
        raise UsageError(
            f"{path} is a comparison, not what was measured.",
            do="Name the file with the samples, which ends in .suite.json",
        )
    look(path)
    data = artifact.read(path)
    suite = artifact.from_json(Suite, data, source=str(path))
    if wrong := next(_wrong(suite), None):
        raise UsageError(f"{path} is damaged.", why=wrong)
    return data, suite


def look(path: Path) -> None:
    """Refuse what is no file, empty or too large, before anything is read.

    Raises:
        UsageError: it is one of these.
    """
    try:
        # A pipe or a device may never end.
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
    if size is None:
        raise UsageError(f"{path} does not exist, or is no file.")
    if size == 0:
        raise UsageError(
            f"{path} is empty.",
            why="Its session ended before the first environment was started.",
            do="Measure anew; the file may be deleted.",
        )
    if size > _MOST_BYTES:
        raise UsageError(f"{path} is too large for a result: {size / 1e6:.0f} MB.")


def _wrong(suite: Suite) -> Iterator[str]:
    """Yield what no session of ours writes, and what no comparison could use."""
    yield from wrong_plan(suite.plan)
    yield from _wrong_subjects(suite)
    rounds: dict[int, list[int]] = {}
    for run in suite.runs:
        rounds.setdefault(run.round, []).append(run.subject)
        yield from _wrong_run(run, suite.plan)
    if any(sorted(each) != list(range(len(suite.subjects))) for each in rounds.values()):
        yield "A round does not hold each contender once."
    if sorted(rounds) != list(range(len(rounds))):
        yield "Its rounds are not counted from 0 without a gap."
    if len(rounds) > suite.plan.rounds:
        yield "It has more rounds than were planned."


def wrong_plan(plan: Plan) -> Iterator[str]:
    """Yield what cannot be in a plan."""
    names, script = plan.architectures, plan.script
    known = ARCHITECTURES if script is None else (script.name,)
    if not names or set(names) - set(known) or len(set(names)) < len(names):
        yield "It names no architecture, one that is not known, or one twice."
    if plan.rounds < 1 or plan.seed < 0:
        yield "Its number of rounds or its seed is not possible."
    if not 0 <= plan.noise <= 1:
        yield "Its noise threshold is no share."
    limits = (plan.precision, plan.max_seconds, plan.timeout)
    is_too_long = plan.timeout is not None and plan.timeout > _LONGEST
    if is_too_long or any(each is not None and not 0 <= each < math.inf for each in limits):
        yield "A limit of its plan is not possible."


def _wrong_subjects(suite: Suite) -> Iterator[str]:
    count = len(suite.subjects)
    if not count:
        yield "It names no environment."
    if len(suite.settings) != count or len(suite.peaks) not in {0, count}:
        yield "Not all of its contenders have settings, or peaks."
    controls = [number for number, each in enumerate(suite.subjects) if each.is_control]
    if len(controls) > 1 or 0 in controls:
        yield "It has more than one control, or nothing that the control repeats."
    if not _LEAST_LEVEL <= suite.level < 1:
        yield "The level of its intervals is no probability, or too low for any claim."


def _wrong_run(run: Run, plan: Plan) -> Iterator[str]:
    if sorted(each.architecture for each in run.samples) != sorted(plan.architectures):
        yield f"A process of round {run.round} has not trained what was planned."
    if not all(each.is_timed for each in run.samples):
        yield f"A sample of round {run.round} holds no time, or one that is not positive."
    if not 0 <= run.seconds < math.inf:
        yield f"A process of round {run.round} took no time."
