"""The table of the 2017 study in a terminal of 80 columns."""

from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.cli import more_tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from tfbuild.prices import Price
    from tfbuild.study import Row, Study

NAME = "2017.study"
NARROW = 80
_DIGITS = 4


def show(chosen: "Sequence[Price]", folder: "Path", *, as_json: bool) -> None:
    """Print the study, and keep it in a folder as JSON and CSV.

    Args:
        chosen: prices for the CPUs in place of the study's; none: the study's.
        folder: takes the two files.
        as_json: print one JSON document, and nothing else.
    """
    import sys
    from datetime import UTC, datetime

    from tfbuild import artifact, study
    from tfbuild.cli import console, tables
    from tfbuild.concerns import costs

    table = study.table(chosen or None)
    for each in costs.about(chosen, datetime.now(UTC).date(), (8, 16, 32, 64)):
        console.say(f"Note, {each.kind}: {each.what} {each.do}")
    if as_json:
        sys.stdout.write(artifact.to_json(table))
        sys.stdout.flush()
    else:
        _print(table, console.results())
    paths = [folder / f"{NAME}.json", folder / f"{NAME}.csv"]
    artifact.save(table, paths[0])
    artifact.write_text(paths[1], study.to_csv(table))
    if not as_json:
        tables.files(paths, console.results())


def _print(study: "Study", out: "Console") -> None:
    width, out.width = out.width, max(out.width, NARROW)
    try:
        out.print(_table(study))
    finally:
        out.width = width
    out.print()
    out.print(Text("2017: seconds of a whole run, and its cost. To K80: over the K80's figure."))
    for note in study.notes:
        out.print(Text(note))
    out.print(Text(f"Source: {study.source}"))


def _table(study: "Study") -> Table:
    table = more_tables.plain()
    table.add_column("\narchitecture", no_wrap=True)
    table.add_column("\nmachine", no_wrap=True)
    currencies = sorted({row.currency for row in study.rows if row.currency is not None})
    unit = currencies[0] if len(currencies) == 1 else ""
    for heading in ("time\ns", "to\nK80", f"cost\n{unit}", "to\nK80"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, (architecture, rows) in enumerate(groupby(study.rows, _architecture)):
        if number:
            table.add_row()
        for place, row in enumerate(rows):
            name = "" if place else architecture
            table.add_row(name, _machine(row), *_figures(row, with_unit=not unit))
    return table


def _architecture(row: "Row") -> str:
    return row.architecture


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
    text = f"{value:#.{_DIGITS}g}"
    return (f"{value:.0f}" if "e" in text else text).rstrip(".")
