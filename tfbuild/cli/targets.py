"""`tfbuild targets`: every CPU that can be compiled for."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfbuild.cli import console

if TYPE_CHECKING:
    from tfbuild.host import Host
    from tfbuild.target import Target


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="targets")(targets)


def targets(
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show every target: its flags, what it needs, and whether this host builds and runs it.

    Any x86-64 machine compiles for any x86-64 target, newer ones included: only
    the wheel's own code is compiled for the target, the tools that run during the
    build are not.

    Example: tfbuild targets
    """
    from tfbuild import target

    host, unread = _host()
    best = target.recommend(host) if host else None
    rows = [_row(one, host, best) for one in target.all_targets()]
    if json_:
        _print_json(rows, host)
    else:
        _print_table(rows)
    if unread:
        console.say(f"warning: {unread}")


def _host() -> "tuple[Host | None, str]":
    """Return this host, or why it cannot be read: the targets are worth a look all the same."""
    from tfbuild import host
    from tfbuild.errors import HostError

    try:
        return host.detect(), ""
    except HostError as error:
        return None, f"{error.what} Whether this host builds and runs the targets is not shown."


def _row(target: "Target", host: "Host | None", best: "Target | None") -> dict[str, Any]:
    why_not_build = target.why_not_build(host) if host else None
    why_not_run = target.why_not(host) if host else None
    return {
        "name": target.name,
        "description": target.description,
        "architecture": target.architecture,
        "label": target.label,
        "flags": list(target.flags),
        "vector_width": target.vector_width,
        "requires": sorted(target.requires),
        "base": target.base or None,
        "adds": sorted(target.adds),
        "gcc": target.gcc or None,
        "clang": target.clang or None,
        "recommended": target is best,
        "builds": why_not_build is None if host else None,
        "why_not_build": why_not_build,
        "runs": why_not_run is None if host else None,
        "why_not_run": why_not_run,
    }


def _print_json(rows: list[dict[str, Any]], host: "Host | None") -> None:
    from tfbuild import artifact

    document = {
        "schema": "tfbuild.targets/1",
        "host": artifact.to_dict(host) if host else None,
        "targets": rows,
    }
    typer.echo(artifact.dict_to_json(document), nl=False)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=False)
    for title in ("target", "builds", "runs"):
        table.add_column(title, no_wrap=True)
    table.add_column("CPU; flags; needs", overflow="fold")
    for row in rows:
        table.add_row(
            f"{row['name']}{' *' if row['recommended'] else ''}",
            _yes(row["builds"]),
            _yes(row["runs"]),
            Text("\n".join(_about(row))),
        )
    screen = console.results()
    screen.print(table)
    if any(row["recommended"] for row in rows):
        screen.print("* recommended for this CPU: tfbuild wheel --target native")


def _about(row: dict[str, Any]) -> list[str]:
    """Return what fills the last column: description, flags, needs, and why this host cannot."""
    needs = " ".join([f"{row['base']} +" if row["base"] else "", *row["adds"]]).strip(" +")
    lines = [row["description"], " ".join(row["flags"]), f"needs {needs}"]
    if reason := row["why_not_build"] or row["why_not_run"]:
        lines.append(reason)
    return lines


def _yes(answer: bool | None) -> str:
    return "?" if answer is None else "yes" if answer else "no"
