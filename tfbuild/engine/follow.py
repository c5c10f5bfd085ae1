"""Follows the log of a container on a machine that is not always reached."""

from collections.abc import Iterable

from tfbuild.engine.base import OnLine


class Follow:
    """Hands over each line once, however often the log is read from its start.

    Lines are counted rather than dated: the clock of the engine's machine is another one.
    """

    def __init__(self, on_line: OnLine) -> None:
        self._on_line = on_line
        self._count = 0
        self._last = ""

    def read(self, lines: Iterable[str]) -> None:
        """Take the log from its start, as far as it comes."""
        for number, line in enumerate(lines, start=1):
            if number < self._count or (number == self._count and line == self._last):
                continue
            # Where the connection broke in the middle of a line, the whole of it comes now.
            self._count, self._last = number, line
            self._on_line(line)
