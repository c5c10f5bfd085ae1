"""Saved results as sides of a comparison."""

from collections.abc import Iterator
from pathlib import Path

from tfbuild import artifact
from tfbuild.bench.suite import ARCHITECTURES, Side, Suite
from tfbuild.errors import UsageError


def side(path: Path) -> Side:
    """Return the one environment of a session made by `tfbuild bench`.

    Raises:
        UsageError: the file is no suite, or holds several environments.
    """
    suite = _load(path)
    if len(suite.subjects) != 1:
        names = ", ".join(each.spec for each in suite.subjects)
        raise UsageError(
            f"{path} holds {len(suite.subjects)} environments: {names}.",
            why="One side of a comparison is one environment.",
            do=f"Show them against each other: tfbuild compare {path}",
        )
    return Side(suite=suite, subject=0)


def sides(path: Path) -> tuple[Side, ...]:
    """Return all environments of one session, the baseline first.

    Raises:
        UsageError: the file is no suite, or holds a single environment.
    """
    suite = _load(path)
    if len(suite.subjects) == 1:
        raise UsageError(
            f"{path} holds {suite.subjects[0].spec} alone.",
            why="A comparison has a baseline and at least one candidate.",
            do=f"Name a candidate too: tfbuild compare {path} compiled",
        )
    return tuple(Side(suite=suite, subject=each) for each in range(len(suite.subjects)))


def _load(path: Path) -> Suite:
    if path.name.endswith(".comparison.json"):
        raise UsageError(
            f"{path} is a comparison, not what was measured.",
            do="Name the file with the samples, which ends in .suite.json",
        )
    suite = artifact.load(Suite, path)
    if wrong := next(_wrong(suite), None):
        raise UsageError(f"{path} is damaged.", why=wrong)
    return suite


def _wrong(suite: Suite) -> Iterator[str]:
    """Yield what no session of ours writes, and what no comparison could use."""
    names = suite.plan.architectures
    if not suite.subjects or not names or set(names) - set(ARCHITECTURES):
        yield "It names no environment, or no architecture that is known."
    rounds: dict[int, list[int]] = {}
    for run in suite.runs:
        rounds.setdefault(run.round, []).append(run.subject)
        if sorted(each.architecture for each in run.samples) != sorted(names):
            yield f"A process of round {run.round} has not trained what was planned."
        if not all(each.is_timed for each in run.samples):
            yield f"A sample of round {run.round} holds no time, or one that is not positive."
    if any(sorted(each) != list(range(len(suite.subjects))) for each in rounds.values()):
        yield "A round does not hold each environment once."
