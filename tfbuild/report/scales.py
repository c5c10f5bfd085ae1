"""From values to places, and which values are written at an axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_WIDE = 3.0
"""Up to this ratio of its ends, a logarithmic axis has evenly spaced labels."""
_FEW = 3
"""A logarithmic axis is hard to read with fewer labels."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """A logarithmic axis from `low` to `high`, both positive; `start` and `end` are places."""

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0

    def __call__(self, value: float) -> float:
        """Return the place of a value; one beyond an end stays at that end."""
        value = min(max(value, self.low), self.high)
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        """Return round values for the labels, 1 among them where it is on the axis."""
        if self.high / self.low <= _WIDE:
            step = _step(self.low, self.high, most)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return tuple(round(number * step, 9) for number in range(first, last + 1))
        for digits in ((1, 2, 5), (1, 3), (1,)):
            found = self._decades(digits, 1)
            if len(found) <= most:
                return found
        return next(
            found
            for every in range(2, 1000)
            if len(found := self._decades((1,), every)) <= max(most, _FEW)
        )

    def _decades(self, digits: Sequence[int], every: int) -> tuple[float, ...]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        found = (
            digit * 10.0**power
            for power in range(first, last + 1)
            if power % every == 0
            for digit in digits
        )
        edge = 1 + 1e-9
        return tuple(each for each in found if self.low / edge <= each <= self.high * edge)


@dataclass(frozen=True, kw_only=True)
class Linear:
    """An even axis from 0 to `high`."""

    high: float
    start: float = 0.0
    end: float = 1.0

    def __call__(self, value: float) -> float:
        """Return the place of a value; one beyond an end stays at that end."""
        return self.start + min(max(value / self.high, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int = 5) -> tuple[float, ...]:
        """Return round values from 0 on."""
        step = nice(self.high / most)
        return tuple(round(n * step, 12) for n in range(math.floor(self.high / step + 1e-9) + 1))


def nice(value: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is not less than the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def around(values: Sequence[float], *, least: float = 1.1, margin: float = 0.06) -> Log:
    """Return a logarithmic axis that holds all values, and some room at both ends.

    Args:
        values: positive.
        least: the axis spans at least this ratio.
        margin: room at each end, as a share of the axis.
    """
    low, high = math.log(min(values)), math.log(max(values))
    missing = max(0.0, math.log(least) - (high - low)) / 2
    room = (high - low + 2 * missing) * margin
    return Log(low=math.exp(low - missing - room), high=math.exp(high + missing + room))


def _step(low: float, high: float, most: int) -> float:
    fitting = (step for step in _STEPS if (high - low) / step <= most)
    return next(fitting, nice((high - low) / most))
