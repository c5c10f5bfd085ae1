"""A build matrix: targets x releases x Pythons, compiled one after the other with shared caches."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar, Literal

from tfbuild import artifact, process, signals
from tfbuild.errors import UsageError
from tfbuild.record import BuiltWheel, record_path

Outcome = Literal["to do", "built", "there", "failed", "left out", "stopped", "not begun"]
_PARTS = 3


@dataclass(frozen=True, kw_only=True)
class Job:
    """One wheel of the matrix."""

    tensorflow: str
    python: str
    target: str

    def __str__(self) -> str:
        return f"{self.target} {self.tensorflow} Python {self.python}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A job and what became of it."""

    job: Job
    outcome: Outcome
    architecture: str = ""
    recipe_digest: str = ""
    command: tuple[str, ...] = ()
    """The command line that compiles it."""
    why: str = ""
    """Why it failed or was left out."""
    seconds: float | None = None
    executed: int | None = None
    """Actions that Bazel really ran."""
    cached: int | None = None
    wheel: str = ""
    """File name."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All jobs, in the order of the work."""

    SCHEMA: ClassVar[str] = "tfbuild.matrix"
    VERSION: ClassVar[int] = 1

    rows: tuple[Row, ...]

    @property
    def failed(self) -> tuple[Row, ...]:
        """The jobs that did not become a wheel."""
        return tuple(row for row in self.rows if row.outcome == "failed")

    def only(self, *outcomes: Outcome) -> tuple[Row, ...]:
        """Return the jobs that ended in one of these ways."""
        return tuple(row for row in self.rows if row.outcome in outcomes)


def jobs(
    targets: Sequence[str],
    releases: Sequence[tuple[str, str]],
    pythons: Sequence[str],
    excluded: Sequence[str] = (),
) -> list[Job]:
    """Return the product, without what is excluded, each once, in the order of the work.

    Args:
        targets: names, in the order in which they shall be built.
        releases: each with the Python that serves where `pythons` is empty.
        pythons: "3.12".
        excluded: "TARGET:RELEASE" or "TARGET:RELEASE:PYTHON"; each part may hold * and ?.

    Raises:
        UsageError: an exclusion cannot be read, or excludes nothing.
    """
    made = dict.fromkeys(
        Job(target=target, tensorflow=release, python=python)
        for release, default in releases
        for python in (pythons or [default])
        for target in targets
    )
    kept = list(made)
    for pattern in excluded:
        left = [job for job in kept if not _matches(job, pattern)]
        if not any(_matches(job, pattern) for job in made):
            raise UsageError(
                f"--exclude: {pattern!r} excludes nothing.",
                do="Write TARGET:RELEASE or TARGET:RELEASE:PYTHON, as in haswell:2.8* or *:*:3.13",
            )
        kept = left
    return kept


def _matches(job: Job, pattern: str) -> bool:
    parts = pattern.split(":")
    wanted = [*parts, *["*"] * (_PARTS - len(parts))]
    had = (job.target, job.tensorflow, job.python)
    return len(parts) <= _PARTS and all(map(fnmatchcase, had, wanted))


def with_wheels(rows: Iterable[Row], output_dir: Path) -> list[Row]:
    """Mark the jobs whose wheel is there: by the same recipe, with the recorded hash."""
    there = _records(output_dir)
    return [
        _with_record(row, there[row.recipe_digest], "there")
        if row.outcome == "to do" and row.recipe_digest in there
        else row
        for row in rows
    ]


def run(
    rows: Sequence[Row],
    output_dir: Path,
    on_row: Callable[[Row, int], None],
    on_line: Callable[[str], None],
    on_change: Callable[[list[Row]], None],
) -> list[Row]:
    """Compile what is to do, one after the other; a failure does not stop the rest.

    Args:
        rows: the jobs; only those that are to do are run.
        output_dir: where the wheels go.
        on_row: is told each job before it begins, and its number from 1.
        on_line: receives the output of the commands.
        on_change: is told all rows after each job, so that an interrupt loses none.

    Returns:
        All rows with what became of them.
    """
    done = list(rows)
    todo = [index for index, row in enumerate(rows) if row.outcome == "to do"]
    with signals.stoppable():
        for number, index in enumerate(todo, start=1):
            on_row(rows[index], number)
            try:
                done[index] = _run(rows[index], output_dir, on_line)
            except KeyboardInterrupt:
                done[index] = replace(rows[index], outcome="stopped", why="Run it again: goes on.")
                raise
            finally:
                on_change(done)
    return done


def _run(row: Row, output_dir: Path, on_line: Callable[[str], None]) -> Row:
    start = time.monotonic()
    words = (sys.executable, "-m", "tfbuild", *row.command[1:])
    lines: list[str] = []

    def take(line: str) -> None:
        lines.append(line)
        on_line(line)

    ended = process.stream(words, take, check=False)
    seconds = round(time.monotonic() - start, 3)
    record = _records(output_dir).get(row.recipe_digest)
    if ended.ok and record is not None:
        return replace(_with_record(row, record, "built"), seconds=seconds)
    why = _reason(lines) or f"It ended with {ended.exit_code}."
    return replace(row, outcome="failed", why=why, seconds=seconds)


def _reason(lines: Sequence[str]) -> str:
    """Return the first sentence of the error that a command has printed last."""
    mark = "tfbuild: error: "
    found = [line.partition(mark)[2] for line in lines if line.startswith(mark)]
    return found[-1] if found else ""


def _with_record(row: Row, record: BuiltWheel, outcome: Outcome) -> Row:
    actions = record.actions
    return replace(
        row,
        outcome=outcome,
        wheel=record.file,
        seconds=record.seconds,
        executed=actions.executed if actions else None,
        cached=actions.cached if actions else None,
    )


def _records(folder: Path) -> dict[str, BuiltWheel]:
    """Return recipe's digest -> record, of each wheel that is whole and stood its checks."""
    found = {}
    for path in sorted(folder.glob("*.whl")):
        try:
            record = artifact.load(BuiltWheel, record_path(path))
            is_good = all(check.status != "failed" for check in record.checks)
            if is_good and record.file == path.name and artifact.sha256(path) == record.sha256:
                found[record.recipe_digest] = record
        except (UsageError, OSError):
            continue
    return found
