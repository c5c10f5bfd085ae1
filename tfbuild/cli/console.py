"""What commands share for showing things: results on stdout, everything else on stderr."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfbuild.progress import Progress, Silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichBar
    from rich.progress import TaskID

_PLAIN_SECONDS = 30.0


def results() -> "Console":
    """Return the console for results (stdout). Rich honours NO_COLOR and a closed terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def messages() -> "Console":
    """Return the console for everything that is not a result (stderr)."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Write one line for the user to stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def error(what: str, why: str = "", do: str = "") -> None:
    """Write an error to stderr: what happened, and below it why and what to do."""
    below = "".join(f"  {line}\n" for part in (why, do) for line in part.splitlines())
    sys.stderr.write(f"tfbuild: error: {what}\n{below}")
    sys.stderr.flush()


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Show long work on stderr: a bar at a terminal, plain lines elsewhere, nothing if quiet."""
    if quiet:
        yield Silent()
    elif sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb":
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield _Lines()


class _Bar:
    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # Two refreshes a second: more would take processor time from what is measured.
        self._bar: RichBar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=messages(),
            refresh_per_second=2,
            transient=True,
        )
        self._bar.start()
        self._task: TaskID | None = None
        self._name = ""

    def phase(self, text: str, total: int | None = None) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._name = text
        self._task = self._bar.add_task(text, total=total)

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        if self._task is None:
            return
        name = f"{self._name}: {text}" if text else self._name
        self._bar.update(self._task, completed=done, description=name[:60])
        if total is not None:
            self._bar.update(self._task, total=total)

    def note(self, text: str) -> None:
        self._bar.console.print(text, markup=False)

    def close(self) -> None:
        self._bar.stop()


class _Lines:
    def __init__(self) -> None:
        self._name = ""
        self._last = time.monotonic()

    def phase(self, text: str, total: int | None = None) -> None:
        self._name = text
        self._last = time.monotonic()
        say(f"{text}{f' ({total})' if total else ''}")

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        if time.monotonic() - self._last < _PLAIN_SECONDS:
            return
        self._last = time.monotonic()
        of = f"/{total}" if total else ""
        say(f"{self._name}: {done}{of} {text}".rstrip())

    def note(self, text: str) -> None:
        say(text)
