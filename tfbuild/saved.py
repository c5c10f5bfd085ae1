"""Saved results as sides of a comparison."""

from pathlib import Path

from tfbuild import artifact
from tfbuild.bench.suite import Side, Suite
from tfbuild.errors import UsageError


def side(path: Path) -> Side:
    """Return the one environment of a session made by `tfbuild bench`.

    Raises:
        UsageError: the file is no suite, or holds several environments.
    """
    suite = artifact.load(Suite, path)
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
    suite = artifact.load(Suite, path)
    if len(suite.subjects) == 1:
        raise UsageError(
            f"{path} holds {suite.subjects[0].spec} alone.",
            why="A comparison has a baseline and at least one candidate.",
            do=f"Name a candidate too: tfbuild compare {path} compiled",
        )
    return tuple(Side(suite=suite, subject=each) for each in range(len(suite.subjects)))
