"""The tables of `tfbuild history`, made to be read at 80 columns."""

from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.cli import more_tables
from tfbuild.cli.tables import NARROW, interval, ratio, seconds
from tfbuild.slower import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from tfbuild.history import Check, Entry, Finding
    from tfbuild.history.trend import Line, Trends

_STYLES = {Outcome.SLOWER: "red", Outcome.FINE: "green", Outcome.INCONCLUSIVE: "yellow"}
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_POINTS = 16
_LEAST_SPAN = 0.02
"""Smaller changes than this share shall not fill the height of a spark line."""


def lines(found: "Trends", out: "Console") -> None:
    """Print all lines: machines, below them wheels, below them architectures."""
    for number, machine in enumerate(found.machines):
        if number:
            out.print()
        sessions = "1 session" if machine.sessions == 1 else f"{machine.sessions} sessions"
        _say(out, f"Machine {machine.key}: {machine.description} ({sessions})")
        own = [line for line in found.lines if line.machine == machine.key]
        for _, group in groupby(own, key=lambda line: (line.wheel, line.setting, line.scale)):
            _wheel(list(group), out)
    out.print()
    _say(
        out,
        "Change: the session before over the newest, with its 95 % interval; below 1 is slower. "
        "Over the baseline where both sessions have the same (*), else as the clock had it, with "
        "whatever happened to the machine. Trend: the oldest first, higher is faster.",
    )


def checked(found: "Check", others: "Sequence[Entry]", out: "Console") -> None:
    """Print what a result was compared with, and what came out."""
    when = {each.sha256: f"{each.id}, {each.started_at:%Y-%m-%d %H:%M}" for each in others}
    _say(out, f"Machine: {found.machine}")
    for finding in found.findings:
        out.print()
        _finding(finding, when, out)
    if found.elsewhere:
        many = found.elsewhere > 1
        _say(out, f"{found.elsewhere} result{'s' * many} of other machines were left out.")
    if found.judged:
        confidence = found.judged[0].speedup.confidence
        _say(
            out,
            f"Below 1 is slower. Intervals of {confidence:.1%}: 95 % hold for all of them "
            "together. Slower, or fine: the whole interval lies on one side of a loss of "
            f"{found.limit * 100:.3g} %.",
        )


def spark(values: "Sequence[float]") -> str:
    """Return a line of blocks, the last 16 values at most."""
    last = list(values)[-_MOST_POINTS:]
    low, high = min(last), max(last)
    middle, span = (low + high) / 2, max(high - low, _LEAST_SPAN * high)
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(((each - middle) / span + 0.5) * top)] for each in last)


def _wheel(group: "Sequence[Line]", out: "Console") -> None:
    first = group[0]
    out.print()
    against = f", against {first.baseline}" if first.baseline else ""
    _say(out, f"{first.wheel}: {first.setting}, scale {first.scale}{against}")
    table = _table("architecture")
    can_spark = (out.encoding or "").lower().startswith("utf")
    headings = ("sessions", "s", "of base", "change", "95 %")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    if can_spark:
        table.add_column("trend", no_wrap=True)
    for line in group:
        newest = line.points[-1]
        mark = "*" if line.change_over_baseline else ""
        table.add_row(
            Text(line.architecture),
            str(len(line.points)),
            seconds(newest.seconds),
            "-" if newest.speedup is None else ratio(newest.speedup),
            "-" if line.change is None else f"{ratio(line.change.ratio)}{mark}",
            "-" if line.change is None else interval(line.change),
            *([spark(line.speeds)] if can_spark else []),
        )
    _whole(table, out)


def _finding(finding: "Finding", when: "dict[str, str]", out: "Console") -> None:
    _say(out, f"{finding.now} ({finding.setting})")
    if finding.reference is None:
        _say(out, "  Nothing of this kind was measured on this machine before.")
        return
    known = when.get(finding.reference, finding.reference[:8])
    over = (
        f"each over {finding.baseline} of its session"
        if finding.baseline
        else "as the clock had it: no common baseline, so a change of the machine counts too"
    )
    _say(out, f"  against {finding.then} of {known}; {over}")
    table = _table("")
    for heading in ("speedup", "interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in finding.judged:
        table.add_row(
            Text(f"  {each.name}"),
            ratio(each.speedup.ratio),
            interval(each.speedup),
            Text(each.outcome.value, style=_STYLES[each.outcome]),
        )
    _whole(table, out)
    _changes(finding.changes, out)


def _changes(changes: "Iterable[str]", out: "Console") -> None:
    for each in changes:
        _say(out, f"  Changed: {each}")


def _table(heading: str) -> Table:
    table = more_tables.plain()
    table.add_column(heading, no_wrap=True)
    return table


def _whole(table: Table, out: "Console") -> None:
    width, out.width = out.width, max(out.width, NARROW)
    try:
        out.print(table)
    finally:
        out.width = width


def _say(out: "Console", text: str) -> None:
    out.print(Text(text))
