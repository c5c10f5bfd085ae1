"""What a room tells while it works. Rooms report; the command line decides what is shown."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Course:
    """Where a build of hours stands. None means that it is not known, or not yet."""

    phase: str
    """What Bazel does: "Analysing"."""
    seconds: float
    """Since the compile began."""
    done: int = 0
    """Actions."""
    total: int | None = None
    """Actions known so far."""
    cached: int | None = None
    """Actions that a cache has answered."""
    running: int | None = None
    left: float | None = None
    """Estimated seconds to the end."""
    now: str = ""
    """The action that has been running for longest."""


class Progress(Protocol):
    """Receives the course of long work."""

    def phase(self, text: str, total: int | None = None) -> None:
        """A new phase begins; `total` is its number of steps where that is known."""

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """`done` steps of the phase are finished; `text` names what goes on now."""

    def note(self, text: str) -> None:
        """A sentence for the user that stays on the screen."""


class BuildProgress(Progress, Protocol):
    """Receives the course of a build too."""

    def course(self, course: Course) -> None:
        """Where the build stands, told whenever something happens."""


class Silent:
    """Shows nothing."""

    def phase(self, text: str, total: int | None = None) -> None:
        """Ignore."""

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """Ignore."""

    def course(self, course: Course) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""
