"""The table of the 2017 study in a terminal of 80 columns."""

from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tfbuild.concerns import Concern
    from tfbuild.study import Row, Study

NARROW = 80
_TERMINALS_MOST = 4
"""Digits that are shown, as many as the study's own sentences never need."""


def shown(study: "Study", concerns: "Sequence[Concern]", out: "Console") -> None:
    """Print the rows, a block for each architecture, and what to know of them."""
    width, out.width = out.width, max(out.width, NARROW)
    try:
        out.print(_table(study))
    finally:
        out.width = width
    out.print()
    out.print(Text("2017: seconds of a whole run, and its cost. To K80: over the K80's figure."))
    for note in study.notes:
        out.print(Text(note))
    for each in concerns:
        out.print(Text(f"Note, {each.kind}: {each.what} {each.do}"))
    out.print(Text(f"Source: {study.source}"))


def _table(study: "Study") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("\narchitecture", no_wrap=True)
    table.add_column("\nmachine", no_wrap=True)
    currencies = sorted({row.currency for row in study.rows if row.currency is not None})
    unit = currencies[0] if len(currencies) == 1 else ""
    for heading in ("time\ns", "to\nK80", f"cost\n{unit}", "to\nK80"):
        table.add_column(heading, justify="right", no_wrap=True)
    for architecture, rows in groupby(study.rows, key=lambda row: row.architecture):
        for place, row in enumerate(rows):
            name = "" if place else architecture
            table.add_row(name, _machine(row), *_figures(row, with_unit=not unit))
        table.add_section()
    return table


def _machine(row: "Row") -> str:
    return "K80" if row.device == "gpu" else f"{row.vcpus} vCPU, {row.build}"


def _figures(row: "Row", *, with_unit: bool) -> tuple[str, str, str, str]:
    amount = _digits(row.amount)
    if with_unit and row.currency is not None:
        amount = f"{amount} {row.currency}"
    of_k80 = "-" if row.amount_of_k80 is None else f"{_digits(row.amount_of_k80)}x"
    return _digits(row.seconds), f"{_digits(row.seconds_of_k80)}x", amount, of_k80


def _digits(value: float | None) -> str:
    """Return four significant digits, never as a power of ten."""
    if value is None:
        return "-"
    text = f"{value:#.{_TERMINALS_MOST}g}"
    return (f"{value:.0f}" if "e" in text else text).rstrip(".")
