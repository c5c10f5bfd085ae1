"""Watches a build: output into a log, progress onto the screen, errors kept for the message."""

import fcntl
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from tfbuild.engine import bazel, events, trouble
from tfbuild.engine.base import Exit, Facts
from tfbuild.engine.course import Follower
from tfbuild.errors import BuildError, EngineError, SaveError
from tfbuild.progress import BuildProgress

if TYPE_CHECKING:
    from tfbuild.record import Actions

_SHOWN_ERRORS = 12
_KEPT_LINES = 4000
# Killed (by a person, or by the kernel without a trace) and ended politely.
_KILLED = frozenset({137, 143, -9, -15})


OnFinished = Callable[[Sequence[events.Action]], None]
"""Receives actions that have ended well, in the order in which they ended."""


class Watch:
    """The output of a build: into the log, onto the screen as progress, the end kept for errors."""

    def __init__(
        self,
        log: Path,
        progress: BuildProgress,
        *,
        secrets: frozenset[str] = frozenset(),
        on_finished: OnFinished | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.log = log
        self.actions: Actions | None = None
        """Bazel's closing count."""
        self.finished: list[events.Action] = []
        """Actions that have ended well, run or answered by a cache."""
        self.stored: int | None = None
        """Results that are new in the disk cache; None where that is not told."""
        self.failed: list[events.Failed] = []
        self.exit_name = ""
        """Bazel's own name for how it ended."""
        self.last: deque[str] = deque(maxlen=_KEPT_LINES)
        self.errors: list[str] = []
        self._progress = progress
        self._on_finished = on_finished
        self._clock = clock
        self._follower = Follower(clock)
        self._number = 0
        self._secrets = sorted(secrets, key=len, reverse=True)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.log.open("a", encoding="utf-8")
        except OSError as error:
            raise _unwritable(self.log, error) from error
        self._lock(self._file)
        self._file.truncate(0)
        return self

    def _lock(self, file: TextIO) -> None:
        """Keep another build of this recipe away: it would empty the log of the first."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise EngineError(
                "This very recipe is being compiled already.",
                why=f"Another process writes {self.log}",
                do="Wait for it; a build that shares its cache can start afterwards.",
            ) from error

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def phase(self, text: str) -> None:
        """Begin a part of the build."""
        self._follower = Follower(self._clock)
        self._progress.phase(text)

    def line(self, text: str) -> None:
        """Take one line of output: of the log, or an event."""
        line, event = events.split(self._public(bazel.plain(text)))
        if event is not None:
            self._event(event)
        if event is None or line:
            self._log(line)
        self._progress.course(self._follower.course())

    def _event(self, event: events.Event) -> None:
        if event.number is not None:
            if event.number <= self._number:
                # Told again after a stream of output broke.
                return
            self._number = event.number
        self._follower.event(event)
        self.finished += event.actions
        if event.actions and self._on_finished is not None:
            self._on_finished(event.actions)
        if event.failed is not None:
            self.failed.append(event.failed)
        self.stored = self.stored if event.stored is None else event.stored
        self.exit_name = event.exit_name or self.exit_name
        if event.actions_counted is not None:
            self._count(event.actions_counted)

    def _count(self, actions: "Actions") -> None:
        self.actions = actions
        self._follower.counted(actions)

    def _log(self, line: str) -> None:
        self._write(line)
        self.last.append(line)
        if len(self.errors) < _SHOWN_ERRORS and bazel.is_error(line):
            self.errors.append(line)
        self._follower.line(line)
        actions = bazel.summary(line)
        if actions is not None:
            self._count(actions)

    def _public(self, line: str) -> str:
        for secret in self._secrets:
            line = line.replace(secret, "[hidden]")
        return line

    def _write(self, line: str) -> None:
        if self._file is None:
            return
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            raise _unwritable(self.log, error) from error


def _unwritable(log: Path, error: OSError) -> SaveError:
    return SaveError(
        f"Cannot write the log {log}.",
        why=error.strerror or str(error),
        do="Free some space there, or move the cache with XDG_CACHE_HOME.",
    )


def failure(end: Exit, run: Watch, facts: Facts) -> BuildError | EngineError:
    """Return the error for a build script that failed: what is to blame, and where to read on."""
    log = f"The whole output is in {run.log}"
    told = run.errors or [line for line in run.last if line.strip()][-_SHOWN_ERRORS:]
    first = "\n".join(bazel.errors(told, _SHOWN_ERRORS) or told)
    if end.out_of_memory or bazel.out_of_memory(run.last):
        return BuildError(
            "The compile ran out of memory, and the kernel killed a part of it.",
            why=f"{facts} has {facts.memory / 2**30:.0f} GiB for {facts.cpus} CPUs; each parallel "
            f"action of TensorFlow may need 2 GiB.\n{first}",
            do=f"Run again with fewer: --jobs {max(1, facts.cpus // 2)}. What is done is kept.\n"
            + log,
        )
    fetches = [line for line in run.last if _is_fetch(line)]
    if line := trouble.distrusted(line for line in run.last if "ERROR" in line or "Error" in line):
        return trouble.certificate_error(line)
    unreachable = trouble.unreachable(fetches)
    if unreachable and (run.actions is None or run.actions.executed == 0):
        return EngineError(
            "Bazel cannot reach a server that the release's sources come from.",
            why=unreachable[:400],
            do=f"Check the network of containers. {log}",
        )
    if end.code in _KILLED and not run.errors:
        return BuildError(
            "The compile was killed from outside.",
            why=f"The build script ended with {end.code}.",
            do=f"Run the same command again: what is done is kept. {log}",
        )
    return BuildError(f"The compile failed with {end.code}.", why=first, do=log)


def _is_fetch(line: str) -> bool:
    return line.startswith("ERROR") and ("ownload" in line or "fetch" in line)
