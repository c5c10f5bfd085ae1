"""What a room tells while it works. Rooms report; the command line decides what is shown."""

from typing import Protocol


class Progress(Protocol):
    """Receives the course of long work."""

    def phase(self, text: str, total: int | None = None) -> None:
        """A new phase begins; `total` is its number of steps where that is known."""

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """`done` steps of the phase are finished; `text` names what goes on now."""

    def note(self, text: str) -> None:
        """A sentence for the user that stays on the screen."""


class Silent:
    """Shows nothing."""

    def phase(self, text: str, total: int | None = None) -> None:
        """Ignore."""

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""
