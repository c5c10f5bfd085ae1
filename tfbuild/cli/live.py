"""Tells long work in words: a plain line now and then, and the facts below a bar."""

import time
from collections.abc import Callable

from tfbuild.cli import console
from tfbuild.progress import Course

PLAIN_SECONDS = 30.0
"""Between two plain lines."""
_FINE = 90.0
_HOUR = 3600.0


def duration(seconds: float) -> str:
    """Return "40 s", "12 min" or "1 h 20 min"."""
    return f"{seconds:.0f} s" if seconds < _FINE else _minutes(seconds)


def left(seconds: float) -> str:
    """Return an estimate as exact as it deserves: minutes below an hour, then five of them."""
    step = 60.0 if seconds < _HOUR else 300.0
    return f"about {_minutes(max(60.0, round(seconds / step) * step))} left"


def facts(course: Course) -> list[str]:
    """Return what is known beside count and time, a few words each."""
    told = []
    if course.cached is not None:
        told.append(f"{course.cached:,} from the cache")
    if course.running is not None:
        told.append(f"{course.running} running")
    if course.left is not None:
        told.append(left(course.left))
    return told


class Lines:
    """A plain line each half minute, and one for each phase."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._name = ""
        self._last = clock()

    def phase(self, text: str, total: int | None = None) -> None:
        """Say it."""
        self._name = text
        self._last = self._clock()
        console.say(f"{text}{f' ({total})' if total else ''}")

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """Say it, unless the last line is too young."""
        if self._is_time():
            of = f"/{total}" if total else ""
            console.say(f"{self._name}: {done}{of} {text}".rstrip())

    def course(self, course: Course) -> None:
        """Say it, unless the last line is too young."""
        if self._is_time():
            of = f"{course.done:,} of {course.total:,} actions" if course.total else ""
            parts = (duration(course.seconds), of, *facts(course))
            told = ", ".join(part for part in parts if part)
            now = f"; {course.now}" if course.now else ""
            console.say(f"{course.phase or self._name}: {told}{now}")

    def note(self, text: str) -> None:
        """Say it."""
        console.say(text)

    def _is_time(self) -> bool:
        now = self._clock()
        if now - self._last < PLAIN_SECONDS:
            return False
        self._last = now
        return True


def _minutes(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
