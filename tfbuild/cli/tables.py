"""The tables of `bench` and `compare`: made to be read at 80 columns, in one piece from 96 on."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.stats import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from tfbuild.bench.suite import Side, Subject
    from tfbuild.compare import Comparison, Contrast, Times
    from tfbuild.concerns import Concern
    from tfbuild.stats import Estimate

WIDE = 96
NARROW = 80
STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.INCONCLUSIVE: "yellow"}
YEAR_2017 = (
    "2017 columns: a K80, and 8 vCPU with the pip wheel and with a compiled one; the last column "
    "is this time over the K80's. One run each, TensorFlow 1.2, other machines: context, no more."
)


def seconds(value: float) -> str:
    """Return the number with three significant digits."""
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if value >= limit:
            return f"{value:.{digits}f}"
    return f"{value:.3f}"


def ratio(value: float) -> str:
    """Return "1.52x"."""
    return f"{value:.2f}x"


def interval(estimate: "Estimate") -> str:
    """Return "1.41-1.63", or a dash where one pair gives none."""
    if estimate.low is None or estimate.high is None:
        return "-"
    return f"{_bound(estimate.low)}-{_bound(estimate.high)}"


def _bound(value: float) -> str:
    """Return at most five characters: two rounds can put an end of the interval anywhere."""
    for limit, digits in ((10, 2), (100, 1), (1000, 0)):
        if value < limit:
            return f"{value:.{digits}f}"
    return ">999"


def compared(comparison: "Comparison", out: "Console") -> None:
    """Print a comparison: who is who, a table for each candidate, and what to know of it."""
    letters = [chr(ord("A") + n) for n in range(len(comparison.contrasts) + 1)]
    whos = (comparison.baseline, *(each.candidate for each in comparison.contrasts))
    for letter, who in zip(letters, whos, strict=True):
        out.print(Text(f"{letter}  {named(who)}"))
    for letter, contrast in zip(letters[1:], comparison.contrasts, strict=True):
        out.print()
        tables = [_contrast(contrast, letter, with_2017=True)]
        if out.width < WIDE:
            tables = [_contrast(contrast, letter, with_2017=False)]
            tables.append(_of_2017([row.candidate for row in contrast.rows], letter))
        for place, table in enumerate(tables):
            if place:
                out.print()
            _whole(table, out)
    out.print()
    for line in _compared_notes(comparison, letters):
        out.print(Text(line))


def measured(
    side: "Side", times: Sequence["Times"], concerns: Iterable["Concern"], out: "Console"
) -> None:
    """Print what one environment needed."""
    plan, count = side.suite.plan, len(side.runs)
    out.print(Text(named(side.who)))
    out.print()
    _whole(_of_2017(times, ""), out)
    out.print()
    several = f"Geometric mean of {count} rounds, and their standard deviation"
    rounds = "One round" if count == 1 else several
    out.print(Text(f"{_scaled(plan.scale)} {rounds}; {side.who.setting.intra_threads} threads."))
    for line in (YEAR_2017, _data(times), *_noted(concerns)):
        out.print(Text(line))


def files(paths: Iterable["Path"], out: "Console") -> None:
    """Print where the results lie; a long path stays in one line, so that it can be copied."""
    for path in paths:
        out.print(Text(f"Saved: {path}"), soft_wrap=True)


def named(who: "Subject") -> str:
    """Return "tensorflow-cpu 2.8.4, Python 3.10.14, Keras 2.8.0 (pip)"."""
    package = f"{who.distribution} {who.version}"
    spec = "" if who.spec in {package, package.replace(" ", "==")} else f" ({who.spec})"
    onednn = "" if who.onednn is None else f", oneDNN {'on' if who.onednn else 'off'}"
    return f"{package}, Python {who.python}, Keras {who.keras}{onednn}{spec}"


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")


def _whole(table: Table, out: "Console") -> None:
    """Print a table with every digit: where the terminal is narrower, it wraps the lines."""
    width = out.width
    out.width = max(width, NARROW)
    try:
        out.print(table)
    finally:
        out.width = width


def _contrast(contrast: "Contrast", letter: str, *, with_2017: bool) -> Table:
    table = _table()
    table.add_column("\narchitecture", no_wrap=True)
    for heading in ("A\ns", f"{letter}\ns", "speed-\nup", "95 %\ninterval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("\nverdict", no_wrap=True)
    if with_2017:
        _add_2017_columns(table, letter)
    for row in contrast.rows:
        cells = [row.architecture, seconds(row.baseline.seconds), seconds(row.candidate.seconds)]
        cells += [ratio(row.speedup.ratio), interval(row.speedup)]
        more = _cells_2017(row.candidate) if with_2017 else []
        table.add_row(*cells, _verdict(row.verdict), *more)
    mean = [ratio(contrast.overall.ratio), interval(contrast.overall)]
    table.add_row("geometric mean", "", "", *mean, _verdict(contrast.overall_verdict))
    return table


def _of_2017(times: Iterable["Times"], letter: str) -> Table:
    table = _table()
    table.add_column("\narchitecture", no_wrap=True)
    table.add_column(f"{letter or 'now'}\ns", justify="right", no_wrap=True)
    if not letter:
        table.add_column("\nspread", justify="right", no_wrap=True)
    _add_2017_columns(table, letter or "now")
    for each in times:
        spread = [] if letter else ["-" if each.spread is None else f"{each.spread:.0%}"]
        table.add_row(each.architecture, seconds(each.seconds), *spread, *_cells_2017(each))
    return table


def _add_2017_columns(table: Table, letter: str) -> None:
    for heading in ("2017\nK80", "2017\npip", "2017\ncomp.", f"{letter} to\nK80"):
        table.add_column(heading, justify="right", no_wrap=True)


def _cells_2017(times: "Times") -> list[str]:
    then = (times.k80_2017, times.cpu_pip_2017, times.cpu_compiled_2017)
    of_k80 = "-" if times.of_k80 is None else ratio(times.of_k80)
    return [*("-" if each is None else seconds(each) for each in then), of_k80]


def _verdict(verdict: Verdict) -> Text:
    return Text(verdict.value, style=STYLES.get(verdict, ""))


def _compared_notes(comparison: "Comparison", letters: Sequence[str]) -> Iterator[str]:
    first = comparison.contrasts[0].overall
    rounds = "one round" if first.pairs == 1 else f"{first.pairs} rounds"
    yield _scaled(comparison.scale)
    yield (
        f"Speedup: A's time over the other's, geometric mean of {rounds} of fresh processes, "
        f"{comparison.baseline.intra_threads} threads. Faster or slower: the whole interval lies "
        f"beyond {comparison.noise:.0%}."
    )
    yield YEAR_2017
    for letter, contrast in zip(letters[1:], comparison.contrasts, strict=True):
        if letter == letters[1]:
            yield _data([row.candidate for row in contrast.rows])
        yield from _noted(contrast.concerns, letter if len(comparison.contrasts) > 1 else "")


def _noted(concerns: Iterable["Concern"], letter: str = "") -> Iterator[str]:
    before = f"{letter}: " if letter else ""
    for concern in concerns:
        yield f"Note, {before}{concern.kind}: {concern.what} {concern.do}"


def _scaled(scale: str) -> str:
    if scale == "full":
        return "Seconds for one epoch of the 2017 study."
    # What an epoch costs once, to begin and to end it, is multiplied too.
    return (
        "Seconds for one epoch of the 2017 study, scaled from the time per sample "
        f"(scale {scale}); short epochs make them a little long, on both sides alike."
    )


def _data(times: Sequence["Times"]) -> str:
    kinds: dict[str, list[str]] = {}
    for each in times:
        kinds.setdefault(each.data, []).append(each.architecture)
    if len(kinds) == 1:
        return f"Data: {next(iter(kinds))} for all."
    parts = (f"{kind} for {', '.join(names)}" for kind, names in kinds.items())
    return f"Data: {'; '.join(parts)}."
