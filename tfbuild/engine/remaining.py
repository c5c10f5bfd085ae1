"""Estimates when a build ends, from the pace of its last minutes; says nothing when that is idle.

Bazel learns how many actions there are while it works, answers from a cache a hundred times faster
than it compiles, and ends with few long links. In none of these times does a pace tell the end.
"""

from collections import deque
from dataclasses import dataclass

WINDOW = 900.0
"""Seconds that the pace is taken from, at most."""
AT_LEAST = 120.0
"""Seconds that it takes before there is a pace."""
_ACTIONS = 30
_EVERY = 5.0
_SETTLED = 60.0
_GROWTH = 0.01
_FEW = 10
_HITS = 0.1


@dataclass(frozen=True, kw_only=True)
class _Point:
    seconds: float
    done: int
    total: int
    cached: int


class Remaining:
    """Keeps where the build stood in the last minutes."""

    def __init__(self) -> None:
        self._points: deque[_Point] = deque()

    def note(self, seconds: float, done: int, total: int, cached: int | None) -> None:
        """Take where the build stands, `seconds` after its start."""
        point = _Point(seconds=seconds, done=done, total=total, cached=cached or 0)
        if self._points and seconds - self._points[-1].seconds < _EVERY:
            return
        self._points.append(point)
        while seconds - self._points[0].seconds > WINDOW:
            self._points.popleft()

    def seconds(self, now: float, done: int, total: int, running: int | None) -> float | None:
        """Return the seconds to the end, None where no honest answer is known.

        Args:
            now: seconds after the start.
            done: finished actions.
            total: actions known so far.
            running: actions at work.
        """
        first = next((point for point in self._points if not self._is_hits(point)), None)
        if first is None or not self._is_settled(now, total):
            return None
        span, finished = now - first.seconds, done - first.done
        left = total - done
        if span < AT_LEAST or finished < _ACTIONS or left < max(_FEW, 2 * (running or 1)):
            return None
        return left * span / finished

    def _is_hits(self, point: _Point) -> bool:
        """Return whether more than a little of what was done since then came from a cache."""
        last = self._points[-1]
        return last.cached - point.cached > _HITS * (last.done - point.done)

    def _is_settled(self, now: float, total: int) -> bool:
        """Return whether no more actions than one in a hundred were found lately."""
        before = [point.total for point in self._points if now - point.seconds >= _SETTLED]
        return bool(before) and total - before[-1] <= _GROWTH * total
