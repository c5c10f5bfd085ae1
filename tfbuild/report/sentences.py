"""What a report says in words: the answer first, then what it rests on."""

from collections.abc import Iterator
from dataclasses import dataclass

from tfbuild import concerns
from tfbuild.concerns import Concern
from tfbuild.report import words
from tfbuild.report.view import Pair, View
from tfbuild.stats import Verdict, geometric_mean


@dataclass(frozen=True, kw_only=True)
class Warned:
    """A concern, and which candidates it is about."""

    concern: Concern
    who: tuple[str, ...]
    """Empty where it is about all that is shown."""


def headline(view: View) -> str:
    """Return the answer."""
    noise = view.report.comparison.noise
    if not view.pairs:
        return _alone(view)
    rounds = words.rounds(view.rounds)
    if len(view.pairs) == 1:
        return f"{_claim(view.pairs[0], noise)}, {rounds}."
    # A larger ratio that is not sure is no answer where a smaller one is.
    sure = [each for each in view.pairs if each.contrast.overall_verdict is Verdict.FASTER]
    if sure:
        best = max(sure, key=lambda pair: pair.contrast.overall.ratio)
        return f"The best of {len(view.pairs)}: {_claim(best, noise)}, {rounds}."
    than = view.pairs[0].baseline.label if _one_baseline(view) else "its baseline"
    return (
        f"None of {len(view.pairs)} candidates is clearly faster than {than} on this machine, "
        f"{rounds}."
    )


def _claim(pair: Pair, noise: float) -> str:
    found = pair.contrast
    return words.claim(
        pair.candidate.label, pair.baseline.label, found.overall, found.overall_verdict, noise
    )


def _one_baseline(view: View) -> bool:
    return all(pair.baseline is view.pairs[0].baseline for pair in view.pairs)


def _alone(view: View) -> str:
    who = view.contenders[0]
    ratios = [each.of_k80 for each in who.times if each.of_k80 is not None]
    rounds = words.rounds(view.rounds)
    if not ratios:
        first = who.times[0]
        return (
            f"{who.label} needs {words.number(first.seconds)} s for one epoch of "
            f"{words.title(first.architecture)} on this machine, {rounds}."
        )
    mean = " in the geometric mean" if len(ratios) > 1 else ""
    return (
        f"{who.label} needs {words.times_as(geometric_mean(ratios))} times as long as the K80 of "
        f"2017{mean} on this machine, {rounds}."
    )


def basis(view: View) -> str:
    """Return what the answer rests on."""
    count = len(view.architectures)
    what = words.title(view.architectures[0]) if count == 1 else f"{count} architectures"
    scale = view.report.comparison.scale
    data = sorted({times.data for who in view.contenders for times in who.times})
    verdicts = (
        "" if len(view.pairs) != 1 or count == 1 else f" Of {count}, {_counted(view.pairs[0])}."
    )
    return (
        f"Training of {what} of the 2017 study at scale {scale}, {' and '.join(data)} data, each "
        f"round in a fresh process.{verdicts}"
        if view.contenders[0].times[0].k80_2017 is not None
        else f"Training of {what}, each round in a fresh process.{verdicts}"
    )


def _counted(pair: Pair) -> str:
    counts: dict[str, int] = {}
    for row in pair.contrast.rows:
        counts[row.verdict.value] = counts.get(row.verdict.value, 0) + 1
    said = {
        "faster": "faster",
        "slower": "slower",
        "equivalent": "the same",
        "inconclusive": "unclear",
    }
    return ", ".join(f"{counts[kind]} {said[kind]}" for kind in said if kind in counts)


def warnings(view: View) -> tuple[Warned, ...]:
    """Return every concern once."""
    found: dict[Concern, list[str]] = {}
    for concern, who in _concerns(view):
        found.setdefault(concern, []).append(who)
    count = len(view.pairs)
    return tuple(
        Warned(concern=concern, who=() if len(who) >= count else tuple(who))
        for concern, who in found.items()
    )


def _concerns(view: View) -> Iterator[tuple[Concern, str]]:
    for pair in view.pairs:
        for concern in pair.contrast.concerns:
            yield concern, pair.candidate.label
    side = view.contenders[0].side
    if not view.pairs and side is not None:
        for concern in concerns.about_one(side):
            yield concern, ""
