"""What stands below the tables of `bench` and `compare`: how to read them, and what to doubt."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tfbuild.bench.suite import Stopped
from tfbuild.cli import more_tables
from tfbuild.report import words

if TYPE_CHECKING:
    from tfbuild.bench.suite import Suite
    from tfbuild.compare import Comparison, Times
    from tfbuild.concerns import Concern

YEAR_2017 = (
    "2017 columns: a K80, and 8 vCPU with the pip wheel and with a compiled one; the last column "
    "is this time over the K80's. One run each, TensorFlow 1.2, other machines: context, no more."
)


def compared(comparison: "Comparison", pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines below a comparison; `pairs` are the letters of each contrast."""
    first = comparison.contrasts[0]
    rounds = "one round" if first.overall.pairs == 1 else f"{first.overall.pairs} rounds"
    old = "A's" if len({old for old, _ in pairs}) == 1 else "the first one's"
    is_known = any(row.candidate.k80_2017 is not None for row in first.rows)
    yield scaled(comparison.scale, is_known=is_known)
    yield (
        f"Speedup: {old} time over the other's, geometric mean of {rounds} of fresh processes"
        f"{_threads(comparison)}. Faster or slower: the whole interval lies beyond "
        f"{comparison.noise:.0%}."
    )
    if is_known:
        yield YEAR_2017
    yield data([row.candidate for row in first.rows])
    for price in more_tables.prices(all_times(comparison)):
        yield f"Price: {words.price(price)}"
    about: dict[Concern, list[str]] = {}
    for (_, new), contrast in zip(pairs, comparison.contrasts, strict=True):
        for concern in contrast.concerns:
            about.setdefault(concern, []).append(new)
    for concern, letters in about.items():
        yield from noted([concern], ", ".join(letters) if len(pairs) > 1 else "")


def ended(suite: "Suite") -> Iterator[str]:
    """Yield why a session with an open end ran no further round."""
    plan, stopped = suite.plan, suite.stopped
    if stopped is None or (plan.precision is None and plan.max_seconds is None):
        return
    done = f"Ended after {words.rounds(suite.rounds)}"
    yield {
        Stopped.TIME: f"{done}: another would have ended after --max-time.",
        Stopped.VERDICT: f"{done}: every verdict was clear.",
        Stopped.PRECISION: f"{done}: every ratio is known within --precision.",
        Stopped.ROUNDS: f"{done}: the most that were allowed (--max-rounds).",
    }[stopped]


def roof(times: Iterable["Times"]) -> Iterator[str]:
    """Yield what is missing of the roofline, or odd in it."""
    known = list(times)
    fractions = more_tables.fractions(known)
    if not fractions and any(each.achieved is not None for each in known):
        yield "The machine's peak was not measured, so no share of it is given: --roofline."
    if any(each > 1 for each in fractions):
        yield (
            "A share above 100%: the peak was measured while the machine was busier than in "
            "training, or the model stays in the caches. Shares are too high here."
        )


def all_times(comparison: "Comparison") -> "Iterator[Times]":
    """Yield the times of both sides of every contrast."""
    for contrast in comparison.contrasts:
        for row in contrast.rows:
            yield from (row.baseline, row.candidate)


def _threads(comparison: "Comparison") -> str:
    """Return how many all had, if all had as many."""
    whos = [each for one in comparison.contrasts for each in (one.baseline, one.candidate)]
    counts = {each.intra_threads for each in whos}
    return f", {counts.pop()} threads" if len(counts) == 1 else ""


def noted(concerns: Iterable["Concern"], letter: str = "") -> Iterator[str]:
    """Yield a line for each concern, with the letter of whom it is about."""
    before = f"{letter}: " if letter else ""
    for concern in concerns:
        yield f"Note, {before}{concern.kind}: {concern.what} {concern.do}"


def scaled(scale: str, *, is_known: bool) -> str:
    """Say what the seconds are; "known" is what the study trained."""
    if not is_known:
        return "Seconds for one epoch."
    if scale == "full":
        return "Seconds for one epoch of the 2017 study."
    # What an epoch costs once, to begin and to end it, is multiplied too.
    return (
        "Seconds for one epoch of the 2017 study, scaled from the time per sample "
        f"(scale {scale}); short epochs make them a little long, on both sides alike."
    )


def data(times: Sequence["Times"]) -> str:
    """Say what the models learnt from."""
    kinds: dict[str, list[str]] = {}
    for each in times:
        kinds.setdefault(each.data, []).append(each.architecture)
    if len(kinds) == 1:
        return f"Data: {next(iter(kinds))} for all."
    parts = (f"{kind} for {', '.join(names)}" for kind, names in kinds.items())
    return f"Data: {'; '.join(parts)}."
