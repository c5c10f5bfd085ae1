"""One conversation with `benchmarks/checker.py`: a fresh process inside an environment.

It never raises for what the process does: how it ended is part of what it told.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from tfbuild import process, resources
from tfbuild.bench import variables as bench_variables
from tfbuild.bench import worker
from tfbuild.bench.setting import with_threads
from tfbuild.process import Completed, ProcessError
from tfbuild.verify.running import Running

T = TypeVar("T")

SEED = 20210601
THREADS = 1
"""One thread adds up in one order, so the same wheel gives the same bits each time."""


@dataclass(frozen=True, kw_only=True)
class Software(worker.Software):
    """The `environment` event: what the libraries in the process say of themselves."""

    compiler: str = ""
    """As the C++ code was told: "Clang 18.1.8"."""
    source: str = ""
    """git's description of the source: "v2.8.3-90-g1b8f5c396f0"."""
    build_info: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one process is asked to do."""

    tasks: tuple[str, ...]
    folder: Path | None = None
    """Where it writes arrays."""

    def to_json(self) -> str:
        """Return the request as the script reads it."""
        folder = None if self.folder is None else str(self.folder)
        request = {"tasks": self.tasks, "seed": SEED, "threads": THREADS, "folder": folder}
        return json.dumps(request)


@dataclass(kw_only=True)
class Told(Generic[T]):
    """All that one process said, and how it ended."""

    software: Software | None = None
    """None: it did not get past the import."""
    results: dict[str, T] = field(default_factory=dict)
    """By what was done: an architecture, a case."""
    doing: str = ""
    """What it had begun and not finished; "" outside all."""
    error: str = ""
    """What it said of its failure, or what of it could not be understood."""
    is_done: bool = False
    ended: Completed | None = None
    seconds: float | None = None
    """The time limit, where it was reached."""

    @property
    def ok(self) -> bool:
        """Whether it did all that it was asked."""
        return self.is_done and not self.error and self.ended is not None and self.ended.ok


def talk(
    python: Path,
    request: Request,
    kind: type[T],
    running: Running,
    on_start: Callable[[str], None],
) -> Told[T]:
    """Start a process, hand it the request, and return what it told.

    Args:
        python: the environment's interpreter.
        request: what to do.
        kind: a dataclass with the fields of each result.
        running: time limit and script.
        on_start: called with each piece of work when it begins.
    """
    told: Told[T] = Told()
    try:
        told.ended = process.stream(
            [python, script(running)],
            lambda line: _hear(told, line, kind, on_start),
            env=variables(),
            timeout=running.timeout,
            input_text=request.to_json(),
            merge=False,
            check=False,
        )
    except ProcessError as error:
        told.ended = error.completed
        told.error = "" if error.completed else str(error)
        told.seconds = running.timeout if error.completed else None
    return told


def counted(running: Running) -> Callable[[str], None]:
    """Return what tells the progress of each piece of work that begins, and how many are done."""
    done = count()
    return lambda what: running.progress.step(next(done), text=what)


def script(running: Running) -> Path:
    """Return what runs inside the environment."""
    return running.script or resources.folder("benchmarks") / "checker.py"


def variables() -> dict[str, str]:
    """Return the environment variables of such a process; no setting of the user's counts."""
    chosen = bench_variables.settings(with_threads(THREADS), {})
    return bench_variables.environment(chosen, os.environ)


def _hear(told: Told[T], line: str, kind: type[T], on_start: Callable[[str], None]) -> None:
    try:
        event = json.loads(line)
        name, what = event["event"], str(event.get("what", ""))
        if name == "environment":
            told.software = msgspec.convert(event, Software)
        elif name == "start":
            told.doing = what
            on_start(what)
        elif name == "result":
            told.results[what] = msgspec.convert(event, kind)
            told.doing = ""
        elif name == "error":
            told.error = str(event["message"])
        elif name == "done":
            told.is_done = True
    except (ValueError, KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        told.error = told.error or f"It said something unexpected ({error}): {line[:200]}"
