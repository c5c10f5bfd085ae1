"""The check list: what was looked at, what was found, how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from tfbuild.progress import BuildProgress, Course

Outcome = Literal["passed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One check that did not fail; one that fails ends the rehearsal with an error."""

    name: str
    outcome: Outcome
    seconds: float
    detail: str
    """What was found, or why it was skipped."""


class Skipped(Exception):  # noqa: N818 - no error: the check does not apply here
    """A check that cannot be made on this machine; the text says why."""


class Finding:
    """Takes what a check found, while it runs."""

    def __init__(self) -> None:
        self.detail = ""


class CheckList:
    """Collects steps in their order."""

    def __init__(self, progress: BuildProgress) -> None:
        self.steps: list[Step] = []
        self.progress = progress

    @contextmanager
    def step(self, name: str) -> Iterator[Finding]:
        """Time a check. `Skipped` within the block is noted; other errors pass through."""
        finding, outcome, start = Finding(), "passed", time.monotonic()
        self.progress.phase(name[0].upper() + name[1:])
        try:
            yield finding
        except Skipped as reason:
            outcome, finding.detail = "skipped", str(reason)
        self.add(name, finding.detail, time.monotonic() - start, skipped=outcome == "skipped")

    def add(self, name: str, detail: str, seconds: float, *, skipped: bool = False) -> None:
        """Note a step."""
        self.steps.append(
            Step(
                name=name,
                outcome="skipped" if skipped else "passed",
                seconds=round(seconds, 2),
                detail=detail,
            )
        )


class Stopwatch:
    """A Progress that passes everything on and takes the time of each phase."""

    def __init__(self, progress: BuildProgress) -> None:
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._phase = ""
        self._start = time.monotonic()

    def phase(self, text: str, total: int | None = None) -> None:
        """Begin a phase, which ends the one before."""
        self._end()
        self._phase = text
        self._progress.phase(text, total)

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """Pass on."""
        self._progress.step(done, total, text)

    def course(self, course: Course) -> None:
        """Pass on."""
        self._progress.course(course)

    def note(self, text: str) -> None:
        """Pass on."""
        self._progress.note(text)

    def times(self) -> dict[str, float]:
        """Return the seconds of every phase; ends the last one."""
        self._end()
        return self._seconds

    def _end(self) -> None:
        now = time.monotonic()
        if self._phase:
            self._seconds[self._phase] = now - self._start
        self._phase, self._start = "", now
