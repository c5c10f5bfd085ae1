"""Watches a build: output into a log, progress onto the screen, errors kept for the message."""

import fcntl
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from tfbuild.engine import bazel, events, servers
from tfbuild.engine.course import Follower
from tfbuild.engine.excerpt import Excerpt
from tfbuild.errors import EngineError, SaveError
from tfbuild.progress import BuildProgress, Course

if TYPE_CHECKING:
    from tfbuild.record import Actions

_KEPT_LINES = 4000


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
        self.excerpt = Excerpt()
        """The lines that tell what went wrong first."""
        self._progress = progress
        self._on_finished = on_finished
        self._clock = clock
        self._follower = Follower(clock)
        self._number = 0
        self._complaints = servers.Complaints()
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

    @property
    def course(self) -> Course:
        """Where the build stands."""
        return self._follower.course()

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
        self._progress.course(self.course)

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
        self.excerpt.take(line)
        self._follower.line(line)
        note = self._complaints.line(line)
        if note is not None:
            self._progress.note(note)
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
