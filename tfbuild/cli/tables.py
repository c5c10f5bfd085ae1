"""The tables of `bench` and `compare`: made to be read at 80 columns, in one piece from 96 on."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.cli import bars, more_tables, notes
from tfbuild.cli.bars import Bar
from tfbuild.report import who, words
from tfbuild.stats import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from tfbuild.bench.suite import Side, Subject, Suite
    from tfbuild.compare import Comparison, Contrast, Times
    from tfbuild.concerns import Concern
    from tfbuild.stats import Estimate

MOST_TABLES = 4
"""Of more candidates than this, only the means are shown."""
WIDE = 96
NARROW = 80
STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.INCONCLUSIVE: "yellow"}


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


def compared(comparison: "Comparison", out: "Console", suites: Sequence["Suite"] = ()) -> None:
    """Print a comparison: who is who, a table for each candidate, and what to know of it.

    Args:
        comparison: with at least one contrast.
        out: where it goes.
        suites: the sessions that it is made of; with them, start-up and first steps show too.
    """
    known = who.cast(comparison.baseline, comparison.contrasts)
    letters = [letter(number) for number in range(len(known.subjects))]
    settings = words.differing(known.subjects)
    for sign, subject, more in zip(letters, known.subjects, settings, strict=True):
        # The name has what oneDNN really did; the setting, what was asked for.
        others = [one for one in more if subject.onednn is None or "oneDNN" not in one]
        out.print(Text(", ".join((f"{sign}  {named(subject)}", *others))))
    pairs = [(letters[a], letters[b]) for a, b in known.places]
    if len(pairs) > MOST_TABLES:
        _summary(comparison, pairs, out)
    else:
        for contrast, pair in zip(comparison.contrasts, pairs, strict=True):
            _one(comparison, contrast, pair, out)
    _print(more_tables.sizes(comparison.curves), out)
    _print(_apart(who.sides(known.subjects, suites), letters), out)
    out.print()
    has_tables = len(pairs) <= MOST_TABLES
    roof = notes.roof(notes.all_times(comparison)) if has_tables else ()
    ends = (line for suite in suites for line in notes.ended(suite))
    for line in (*notes.compared(comparison, pairs), *roof, *ends):
        out.print(Text(line))


def letter(number: int) -> str:
    """Return "A" for 0, "Z" for 25, "AA" for 26."""
    rest, last = divmod(number, 26)
    return (letter(rest - 1) if rest else "") + chr(ord("A") + last)


def _apart(sides: Sequence["Side | None"], letters: Sequence[str]) -> Iterator[Table]:
    known = [(side, sign) for side, sign in zip(sides, letters, strict=True) if side is not None]
    if known:
        yield from more_tables.apart([side for side, _ in known], [sign for _, sign in known])


def _one(
    comparison: "Comparison", contrast: "Contrast", letters: tuple[str, str], out: "Console"
) -> None:
    control = comparison.control
    if control is not None and control.baseline != contrast.baseline:
        control = None
    # A user's own script was no part of the study.
    is_known = any(row.candidate.k80_2017 is not None for row in contrast.rows)
    is_wide = out.width >= WIDE and is_known
    _print([_contrast(contrast, letters, control, with_2017=is_wide)], out)
    _bars([(row.architecture, row.speedup, row.verdict) for row in contrast.rows], out)
    if is_known and not is_wide:
        _print([_of_2017([row.candidate for row in contrast.rows], letters[1])], out)
    both = ([row.baseline for row in contrast.rows], [row.candidate for row in contrast.rows])
    lettered = list(zip(letters, both, strict=True))
    _print(more_tables.costs(lettered), out)
    _print(more_tables.roofline(lettered), out)


def _summary(comparison: "Comparison", pairs: Sequence[tuple[str, str]], out: "Console") -> None:
    """Print one row for each of many candidates: that of the mean."""
    table = more_tables.plain()
    table.add_column("geometric mean\nover all", no_wrap=True)
    for heading in ("speed-\nup", "95 %\ninterval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("\nverdict", no_wrap=True)
    rows = [
        (f"{new} against {old}", each.overall, each.overall_verdict)
        for (old, new), each in zip(pairs, comparison.contrasts, strict=True)
    ]
    for label, found, verdict in rows:
        table.add_row(label, ratio(found.ratio), interval(found), _verdict(verdict))
    _print([table], out)
    _bars(rows, out)


def _bars(rows: "Sequence[tuple[str, Estimate, Verdict]]", out: "Console") -> None:
    shown = [
        Bar(label=label, ratio=found.ratio, style=STYLES.get(verdict, ""))
        for label, found, verdict in rows
    ]
    out.print()
    for line in bars.drawn(shown, max(out.width, NARROW), bars.signs(out.encoding)):
        out.print(line, no_wrap=True, overflow="ignore", crop=False)


def _print(tables: Iterable[Table], out: "Console") -> None:
    """Print tables, each below an empty line."""
    for table in tables:
        out.print()
        _whole(table, out)


def measured(
    side: "Side", times: Sequence["Times"], concerns: Iterable["Concern"], out: "Console"
) -> None:
    """Print what one environment needed."""
    plan, count = side.suite.plan, len(side.runs)
    is_known = any(each.k80_2017 is not None for each in times)
    out.print(Text(named(side.who)))
    out.print()
    _whole(_of_2017(times, "", with_2017=is_known), out)
    for more in (more_tables.costs, more_tables.roofline):
        _print(more([("now", times)]), out)
    _print(more_tables.apart([side], ["now"]), out)
    out.print()
    several = f"Geometric mean of {count} rounds, and their standard deviation"
    rounds = "One round" if count == 1 else several
    scaled = notes.scaled(plan.scale, is_known=is_known)
    out.print(Text(f"{scaled} {rounds}; {side.who.setting.intra_threads} threads."))
    known = [notes.YEAR_2017] if is_known else []
    prices = [f"Price: {words.price(each)}" for each in more_tables.prices(times)]
    more_notes = (*notes.noted(concerns), *notes.roof(times), *notes.ended(side.suite))
    for line in (*known, notes.data(times), *prices, *more_notes):
        out.print(Text(line))


def files(paths: Iterable["Path"], out: "Console") -> None:
    """Print where the results lie; a long path stays in one line, so that it can be copied."""
    for path in paths:
        out.print(Text(f"Saved: {path}"), soft_wrap=True)


def named(subject: "Subject") -> str:
    """Return "tensorflow-cpu 2.8.4, Python 3.10.14, Keras 2.8.0 (pip)"."""
    package = f"{subject.distribution} {subject.version}"
    spec = "" if subject.spec in {package, package.replace(" ", "==")} else f" ({subject.spec})"
    onednn = "" if subject.onednn is None else f", oneDNN {'on' if subject.onednn else 'off'}"
    return f"{package}, Python {subject.python}, Keras {subject.keras}{onednn}{spec}"


def _whole(table: Table, out: "Console") -> None:
    """Print a table with every digit: where the terminal is narrower, it wraps the lines."""
    width = out.width
    out.width = max(width, NARROW)
    try:
        out.print(table)
    finally:
        out.width = width


def _contrast(
    contrast: "Contrast", letters: tuple[str, str], control: "Contrast | None", *, with_2017: bool
) -> Table:
    table = more_tables.plain()
    table.add_column("\narchitecture", no_wrap=True)
    old, new = letters
    for heading in (f"{old}\ns", f"{new}\ns", "speed-\nup", "95 %\ninterval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("\nverdict", no_wrap=True)
    if with_2017:
        _add_2017_columns(table, new)
    for row in contrast.rows:
        cells = [row.architecture, seconds(row.baseline.seconds), seconds(row.candidate.seconds)]
        cells += [ratio(row.speedup.ratio), interval(row.speedup)]
        more = _cells_2017(row.candidate) if with_2017 else []
        table.add_row(*cells, _verdict(row.verdict), *more)
    _add_overall(table, "geometric mean", contrast)
    if control is not None:
        _add_overall(table, f"control: {old} again", control)
    return table


def _add_overall(table: Table, label: str, contrast: "Contrast") -> None:
    found = contrast.overall
    cells = [ratio(found.ratio), interval(found)]
    table.add_row(label, "", "", *cells, _verdict(contrast.overall_verdict))


def _of_2017(times: Iterable["Times"], letter: str, *, with_2017: bool = True) -> Table:
    table = more_tables.plain()
    table.add_column("\narchitecture", no_wrap=True)
    table.add_column(f"{letter or 'now'}\ns", justify="right", no_wrap=True)
    if not letter:
        table.add_column("\nspread", justify="right", no_wrap=True)
    if with_2017:
        _add_2017_columns(table, letter or "now")
    for each in times:
        spread = [] if letter else ["-" if each.spread is None else f"{each.spread:.0%}"]
        then = _cells_2017(each) if with_2017 else []
        table.add_row(each.architecture, seconds(each.seconds), *spread, *then)
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
