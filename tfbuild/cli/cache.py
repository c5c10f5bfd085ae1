"""`tfbuild cache`: what is kept for later, and how to be rid of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfbuild.cache import Inventory, Item, Removal

_DAYS = 30
# A hundred years: there are no dates for much more.
_MOST_DAYS = 36500
Json_ = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Attach the command."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Show what tfbuild keeps for later, or remove what is no longer used.\n\n"
        "Example: tfbuild cache show",
    )
    group.command()(show)
    group.command()(prune)
    app.add_typer(group, name="cache")


def show(json_: Json_ = False) -> None:
    """Show images, volumes, containers and folders: what they are, their size, when last used.

    Docker and Podman are asked if they are there. The day of the last use is
    that of the engine or of the file system, whoever tells the later one.

    Example: tfbuild cache show --json
    """
    from tfbuild import artifact, cache

    found = cache.survey()
    _tell_unasked(found)
    if json_:
        typer.echo(artifact.to_json(found), nl=False)
        return
    if not found.items:
        console.say("Nothing is kept.")
        return
    _print(_gathered(found.items))
    console.results().print(f"total {_size(found.total)}", highlight=False)


def prune(
    older_than: Annotated[
        int,
        typer.Option(
            "--older-than",
            envvar="TFBUILD_OLDER_THAN",
            min=0,
            max=_MOST_DAYS,
            metavar="DAYS",
            help="What was used within so many days stays.",
        ),
    ] = _DAYS,
    everything: Annotated[
        bool, typer.Option("--all", help="Remove all that is not in use, downloads included.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed; remove nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json_: Json_ = False,
) -> None:
    """Remove what has not been used for a while: only what tfbuild has made and labelled.

    Nothing that a build at work uses, and never a wheel. Downloads and data sets
    stay unless --all is given. A toolchain that is built again starts with an
    empty cache, so the next compile for it takes its hours again.

    Example: tfbuild cache prune --older-than 60 --dry-run
    """
    from datetime import timedelta

    from tfbuild import cache
    from tfbuild.cache.survey import stores

    places = stores()
    found = cache.survey(places)
    _tell_unasked(found)
    going = cache.chosen(found.items, timedelta(days=older_than), everything=everything)
    if going and not dry_run:
        if not json_:
            _print(going)
        _ask(going, yes=yes)
        done = cache.remove(going, places)
    else:
        done = []
        if not json_:
            _print(going)
    if json_:
        _print_json(going, done)
    else:
        _tell(going, done, dry_run=dry_run)
    if any(one.error for one in done):
        raise typer.Exit(5)


def _ask(going: "Sequence[Item]", *, yes: bool) -> None:
    import sys

    from tfbuild.errors import UsageError

    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"{len(going)} things would be removed, and nobody is there to ask.",
            why="Standard input is no terminal. Nothing was removed.",
            do="Say --yes, or look first: tfbuild cache prune --dry-run",
        )
    question = f"Remove {_things(going)}, {_size(_sum(going))}?"
    if not typer.confirm(question, err=True):
        console.say("Nothing was removed.")
        raise typer.Exit(0)


def _tell(going: "Sequence[Item]", done: "Sequence[Removal]", *, dry_run: bool) -> None:
    if not going:
        console.say("Nothing to remove.")
    elif dry_run:
        console.say(f"Would remove {_things(going)}: {_size(_sum(going))}. Nothing was removed.")
    else:
        gone = [one.item for one in done if not one.error]
        console.say(f"Removed {_things(gone)}: {_size(_sum(gone))}.")
        for one in done:
            if one.error:
                console.say(f"warning: {one.item.name} stays: {one.error}")


def _print_json(going: "Sequence[Item]", done: "Sequence[Removal]") -> None:
    import msgspec

    from tfbuild import artifact

    document = {
        "schema": "tfbuild.prune/1",
        "chosen": msgspec.to_builtins(going),
        "removed": [one.item.identity for one in done if not one.error],
        "kept": {one.item.identity: one.error for one in done if one.error},
        "size": _sum(going),
    }
    typer.echo(artifact.dict_to_json(document), nl=False)


def _print(items: "Sequence[Item]") -> None:
    from rich.table import Table
    from rich.text import Text

    if not items:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("what", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("last used", no_wrap=True)
    for item in items:
        where = "" if item.place == "here" else f"{item.place} "
        note = "; ".join(part for part in (item.what, item.busy, item.orphaned) if part)
        table.add_row(
            f"{where}{item.kind.value}",
            Text(f"{item.name}\n  {note}" if note else item.name),
            _size(item.size),
            f"{item.used.astimezone():%Y-%m-%d}",
        )
    console.results().print(table)


def _gathered(items: "Sequence[Item]") -> "list[Item]":
    """Return the items with those of which there are many, and small, as one for each folder."""
    from dataclasses import replace

    from tfbuild.cache import Kind

    few = [item for item in items if item.kind not in {Kind.LOG, Kind.JOURNAL, Kind.INSPECTION}]
    for kind in (Kind.LOG, Kind.JOURNAL, Kind.INSPECTION):
        many = [item for item in items if item.kind is kind]
        if many:
            folder = many[0].name.partition("/")[0]
            used = max(item.used for item in many)
            whole = replace(many[0], name=f"{folder}/ ({len(many)})", size=_sum(many), used=used)
            few.append(replace(whole, what="", busy="", orphaned=""))
    return few


def _tell_unasked(found: "Inventory") -> None:
    for sentence in found.unasked:
        console.say(f"note: not asked: {sentence}")


def _things(items: "Sequence[Item]") -> str:
    return "1 thing" if len(items) == 1 else f"{len(items)} things"


def _sum(items: "Sequence[Item]") -> int:
    return sum(item.size for item in items)


def _size(size: int) -> str:
    """Return "1.5 GB"; units of 1000, as disks and Docker have them."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:  # noqa: PLR2004
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
