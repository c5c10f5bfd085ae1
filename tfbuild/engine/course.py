"""Follows a compile through the build script's events and Bazel's own lines."""

import re
import time
from collections.abc import Callable

from tfbuild.engine import bazel
from tfbuild.engine.events import Event
from tfbuild.engine.remaining import Remaining
from tfbuild.progress import Course
from tfbuild.record import Actions

# What Bazel says, and what it does then.
_PHASES = (
    ("Starting local Bazel server", "Starting Bazel"),
    ("Loading:", "Loading"),
    ("Analyzing:", "Analysing"),
    ("INFO: Analyzed", "Compiling"),
)
_SCRIPTS = {"packaging": "Packaging"}
_RUNNING = re.compile(r"\((?:[\d,]+ actions?, )?([\d,]+)(?: actions?)? running\)")
_IDLE = re.compile(r"\[(?:Prepa|Sched|Scann)\w*\]")
_STEP = re.compile(r"^step (\d+)/(\d+) ?: ?(.*)", re.IGNORECASE)
_LONGEST = 120
COMPILING = "Compiling"


class Follower:
    """What is known of the build so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._phase = ""
        self._total = 0
        self._told = self._programs = 0
        """Finished actions as events count them; those of them that run a program."""
        self._untold = 0
        """Actions that Bazel counts as done and tells no event of: nothing of them was to do."""
        self._fetched = 0
        self._cached: int | None = None
        self._running: int | None = None
        self._now = ""
        self._remaining = Remaining()

    def line(self, line: str) -> None:
        """Take a line of the log."""
        progress, step = bazel.progress(line), _STEP.match(line)
        if progress:
            self._phase = COMPILING
            done, self._total, text = progress
            self._untold = max(0, done - self._told)
            self._running, self._now = running(text)
        elif step and not self._phase:
            self._untold, self._total = int(step[1]) - 1, int(step[2])
            self._now = step[3][:_LONGEST]
        else:
            for start, phase in _PHASES:
                if line.startswith(start):
                    if not self._phase:
                        self._untold = self._total = 0  # of the image's steps
                    self._phase = phase
                    self._now = line.partition(":")[2].strip() if phase != COMPILING else ""

    def event(self, event: Event) -> None:
        """Take an event, in the order in which they were told."""
        if event.phase:
            self._phase = _SCRIPTS.get(event.phase, event.phase)
            self._running, self._now = None, ""
        self._told = event.done or self._told
        self._fetched = event.fetched or self._fetched
        self._programs += sum(not action.is_internal for action in event.actions)
        if event.stored is not None:
            self._cached = max(0, self._programs - event.stored)

    def counted(self, actions: Actions) -> None:
        """Take Bazel's closing count; nothing is left then."""
        self._cached, self._running, self._now = actions.cached, None, ""

    def course(self) -> Course:
        """Return where the build stands."""
        seconds = self._clock() - self._start
        # Bazel's line is some seconds old, and there may be events since; or it came before them.
        total = max(self._total, self._told) or None
        done = min(self._untold + self._told, total or 0)
        left = None
        if self._phase == COMPILING and total:
            self._remaining.note(seconds, done, total, self._cached)
            left = self._remaining.seconds(seconds, done, total, self._running)
        loading = self._phase in {"Loading", "Analysing"} and self._fetched
        return Course(
            phase=self._phase,
            seconds=seconds,
            done=done,
            total=total,
            cached=self._cached if total else None,
            running=self._running,
            left=left,
            now=f"{self._fetched} files downloaded; {self._now}" if loading else self._now,
        )


def running(text: str) -> tuple[int | None, str]:
    """Read "Compiling a.cc; 3s local ... (4 actions, 3 running)": how many run, and the oldest."""
    oldest = text.partition(" ... (")[0].partition(";")[0].strip()
    shown = _IDLE.sub("", oldest).strip()
    found = _RUNNING.search(text)
    if found:
        return int(found[1].replace(",", "")), shown
    # One action alone is told without a count.
    return (0 if _IDLE.match(oldest) or not oldest or " ... (" in text else 1), shown
