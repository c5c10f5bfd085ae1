"""One contender in two sessions, and how much faster it is in the later one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tfbuild import stats
from tfbuild.history.model import Entry, Measured
from tfbuild.stats import Estimate

MEAN = "geometric mean"


class Against(StrEnum):
    """Which earlier result is the reference."""

    PREVIOUS = "previous"
    BEST = "best"


@dataclass(frozen=True)
class Pair:
    """The same wheel in the same setting, then and now."""

    then: Measured
    old: Entry
    """The session of `then`."""
    now: Measured
    new: Entry

    @cached_property
    def architectures(self) -> tuple[str, ...]:
        """Those that both have trained with the same data."""
        return tuple(
            name
            for name in self.now.seconds
            if name in self.then.seconds and self.then.data[name] == self.now.data[name]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What `speedups` tells of."""
        return (*self.architectures, *([MEAN] if len(self.architectures) > 1 else []))

    @cached_property
    def baseline(self) -> Measured | None:
        """What both sessions measured beside it, one and the same; None if nothing."""
        old, new = baseline(self.then, self.old), baseline(self.now, self.new)
        return new if old and new and old.same == new.same else None

    def speedups(self, confidence: float) -> dict[str, Estimate]:
        """Return then over now, for each architecture and their geometric mean.

        Over the baseline of the same round where both have one: the rounds of a session are then
        independent numbers without the machine in them, and Welch's interval is that of the
        difference of the two sessions.
        """
        then = [self._over_baseline(self.then, self.old, name) for name in self.architectures]
        now = [self._over_baseline(self.now, self.new, name) for name in self.architectures]
        if len(self.architectures) > 1:
            then.append(_mean(then))
            now.append(_mean(now))
        return {
            name: stats.unpaired(a, b, confidence)
            for name, a, b in zip(self.names, then, now, strict=True)
        }

    def changes(self) -> Iterator[str]:
        """Yield what else is not as it was."""
        places = ("kernel", "libc", "microcode", "driver", "governor", "turbo")
        wheels = ("version", "tensorflow", "python", "keras", "numpy")
        yield from _change("tfbuild", self.old.tfbuild, self.new.tfbuild)
        for name in places:
            yield from _change(name, getattr(self.old.place, name), getattr(self.new.place, name))
        for name in wheels:
            yield from _change(name, getattr(self.then, name), getattr(self.now, name))
        before, after = baseline(self.then, self.old), baseline(self.now, self.new)
        if self.baseline and before and after:
            ratios = [
                stats.geometric_mean(after.seconds[name])
                / stats.geometric_mean(before.seconds[name])
                for name in self.architectures
            ]
            ratio = stats.geometric_mean(ratios)
            if abs(ratio - 1) > stats.NOISE:
                yield f"{after.name}, the same baseline, takes {ratio:.2f}x as long: the machine"

    def _over_baseline(self, one: Measured, entry: Entry, name: str) -> list[float]:
        own, other = one.seconds[name], baseline(one, entry)
        if self.baseline is None or other is None:
            return list(own)
        return [a / b for a, b in zip(own, other.seconds[name], strict=True)]


def baseline(one: Measured, entry: Entry) -> Measured | None:
    """Return what a contender was set against in its session."""
    return None if one.baseline is None else entry.measured[one.baseline]


def chosen(
    now: Measured, new: Entry, earlier: Sequence[Entry], against: Against | Entry
) -> Pair | None:
    """Return the contender with its reference, None if nothing of its kind was measured earlier.

    The fastest is looked for among those that share its baseline, if any does.
    """
    pairs = [pair for entry in earlier for pair in _alike(now, new, entry)]
    if not pairs or against is not Against.BEST:
        return pairs[-1] if pairs else None
    comparable = [pair for pair in pairs if pair.baseline is not None] or pairs
    return min(comparable, key=_gain)


def _gain(pair: Pair) -> float:
    """Return how much faster it is now; the faster the reference, the less."""
    return pair.speedups(stats.CONFIDENCE)[pair.names[-1]].ratio


def _alike(now: Measured, new: Entry, entry: Entry) -> Iterator[Pair]:
    for then in entry.measured:
        if (then.wheel, then.setting, entry.scale) == (now.wheel, now.setting, new.scale):
            pair = Pair(then, entry, now, new)
            if pair.architectures:
                yield pair


def _mean(columns: Sequence[Sequence[float]]) -> list[float]:
    """One number a round."""
    return [stats.geometric_mean(values) for values in zip(*columns, strict=True)]


def _change(name: str, then: object, now: object) -> Iterator[str]:
    if then != now:
        yield f"{name} {then} is now {now}"
