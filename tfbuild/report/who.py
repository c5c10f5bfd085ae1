"""Who is who in a comparison: each contender once, though it stands in several contrasts."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild.bench.suite import Side, Subject, Suite
from tfbuild.compare import Comparison, Contrast


@dataclass(frozen=True, kw_only=True)
class Cast:
    """All contenders of a comparison."""

    subjects: tuple[Subject, ...]
    """The baseline first, then as they are met."""
    places: tuple[tuple[int, int], ...]
    """Of each contrast: where its baseline and its candidate stand among `subjects`."""


def cast(baseline: Subject, contrasts: Sequence[Contrast]) -> Cast:
    """Return who is compared.

    A subject met again is the same contender, except where it is compared with its like: an A/A
    comparison has two.
    """
    found = [baseline]
    places = []
    for each in contrasts:
        first = _place(found, each.baseline, None)
        places.append((first, _place(found, each.candidate, first)))
    return Cast(subjects=tuple(found), places=tuple(places))


def of_comparison(comparison: Comparison) -> Cast:
    """Return who is compared, the control at the end; its contrast is the last, too."""
    control = () if comparison.control is None else (comparison.control,)
    return cast(comparison.baseline, (*comparison.contrasts, *control))


def sides(subjects: Sequence[Subject], suites: Sequence[Suite]) -> tuple[Side | None, ...]:
    """Return where each was measured; None where no suite has it. Like ones are taken in order."""
    free = [Side(suite=suite, subject=n) for suite in suites for n in range(len(suite.subjects))]
    found = []
    for who in subjects:
        side = next((each for each in free if each.who == who), None)
        if side is not None:
            free.remove(side)
        found.append(side)
    return tuple(found)


def _place(found: list[Subject], who: Subject, but: int | None) -> int:
    for place, each in enumerate(found):
        if each == who and place != but:
            return place
    found.append(who)
    return len(found) - 1
