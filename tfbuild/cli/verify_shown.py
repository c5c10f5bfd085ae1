"""Shows a verification: a line for each check, then what to know of those that did not pass."""

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tfbuild.verify.model import Check, Verification

STYLES = {"passed": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}


def show(found: "Verification") -> None:
    """Print a verification to stdout."""
    out = console.results()
    out.print(Text(found.wheel, "bold", overflow="fold"))
    asked = f"checked for {found.target}" if found.target else "names no target"
    digest = f"sha256 {found.sha256[:16]}" if found.sha256 else "installed"
    out.print(Text(f"{asked}, {digest}"))
    out.print()
    show_checks(found.checks, out)


def show_checks(checks: "Sequence[Check]", out: "Console") -> None:
    """Print checks, those with more to say again with all of it."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("check", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("found", overflow="fold")
    for check in checks:
        table.add_row(check.name, Text(check.status, STYLES[check.status]), Text(check.found))
    out.print(table)
    for check in checks:
        if check.status in {"failed", "warning"}:
            out.print()
            _show_more(check, out)


def _show_more(check: "Check", out: "Console") -> None:
    out.print(Text.assemble((f"{check.status}: {check.name}", STYLES[check.status])))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for title, text in (("why:", check.why), ("do:", check.do)):
        if text:
            grid.add_row(f"  {title}", Text(text))
    for line in check.details:
        # Names of files and functions are anybody's, and whole, so that they can be searched for.
        out.print(Text(f"  {line}"), soft_wrap=True)
    if grid.row_count:
        out.print(grid)
