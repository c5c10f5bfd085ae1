"""`tfbuild history`: what was measured before, and whether it has become slower."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import schema_option, slower_option

if TYPE_CHECKING:
    from tfbuild.history import Against, Check, Entry, Store
    from tfbuild.history.store import Contents
    from tfbuild.history.trend import Trends

HistoryDir_ = Annotated[
    Path,
    typer.Option(
        envvar="TFBUILD_HISTORY_DIR",
        help="Folder of the results that were added.",
    ),
]
Json_ = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Attach the command."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(show)
    group.command()(add)
    group.command()(check)
    app.add_typer(group, name="history")


def _trends() -> "type[Trends]":
    from tfbuild.history.trend import Trends

    return Trends


def _check() -> "type[Check]":
    from tfbuild.history import Check

    return Check


def show(
    context: typer.Context,
    history_dir: HistoryDir_ = Path("history"),
    json_: Json_ = False,
    json_schema: Annotated[bool, schema_option.option(_trends)] = False,  # noqa: ARG001 - ends early
) -> None:
    """Show each wheel, setting and architecture over time; machines stay apart.

    The change is that since the session before: less than 1 is slower. Where both
    sessions measured the same baseline, it is that of the ratios to it, so that
    what happened to the machine does not count.

    Example: tfbuild history add results/*.suite.json; tfbuild history
    """
    if context.invoked_subcommand is not None:
        _no_options_before(context)
        return
    from tfbuild import artifact
    from tfbuild.cli import console, history_shown
    from tfbuild.history.trend import trends

    found = _read(_store(history_dir))
    lines = trends(found.entries)
    if json_:
        sys.stdout.write(artifact.to_json(lines))
        return
    if not found.entries:
        console.say(f"Nothing is in {history_dir}. Add results: tfbuild history add RESULT...")
        return
    history_shown.lines(lines, console.results())


def add(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT...", help="Files that end in .suite.json, of any machine."),
    ],
    history_dir: HistoryDir_ = Path("history"),
) -> None:
    """Keep results: all of them, or none if one is not fit. Those that are there stay as they are.

    Results of other machines may be added too. They are shown apart, and never
    compared with those of this one.

    Example: tfbuild history add results/*.suite.json
    """
    from tfbuild.cli import console

    for each in _store(history_dir).add(results):
        state = "added" if each.is_new else "was there"
        typer.echo(console.plain(f"{each.entry.id}  {state}  {each.path}"))


def check(  # noqa: PLR0917 - a command has as many parameters as it has options
    result: Annotated[
        Path | None,
        typer.Argument(
            help="A file that ends in .suite.json; it need not have been added.",
            show_default="the newest",
        ),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="previous|best|ID",
            help="The session before, the fastest one, or the one whose hash begins so.",
        ),
    ] = "previous",
    fail_if_slower: slower_option.FailIfSlower_ = None,
    strict: slower_option.Strict_ = False,
    history_dir: HistoryDir_ = Path("history"),
    json_: Json_ = False,
    json_schema: Annotated[bool, schema_option.option(_check)] = False,  # noqa: ARG001 - ends early
) -> None:
    """Compare a result with an earlier one of the same machine, wheels and settings.

    Ends with 12 if --fail-if-slower is given and a whole interval lies beyond it.
    What stays open ends with 0, and is said. On GitHub it is annotated.

    Example: tfbuild history check --fail-if-slower 3%
    """
    from tfbuild import artifact, slower
    from tfbuild import history as rooms
    from tfbuild.cli import console, history_shown

    most = slower_option.limit(fail_if_slower)
    store = _store(history_dir)
    others = _read(store).entries
    newest = _newest(result, store, others)
    found = rooms.check(
        newest, others, slower.LIMIT if most is None else most, _against(against, store)
    )
    if json_:
        sys.stdout.write(artifact.to_json(found))
        sys.stdout.flush()
    else:
        history_shown.checked(found, others, console.results())
    if most is not None:
        slower_option.act(f"tfbuild history, {newest.id}", found.judged, most, is_strict=strict)


def _no_options_before(context: typer.Context) -> None:
    """Refuse options that the command after them would not see."""
    from tfbuild.errors import UsageError

    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            word = f"--{name.strip('_').replace('_', '-')}"
            raise UsageError(
                f"{word} stands before {context.invoked_subcommand}.",
                do=f"Write: tfbuild history {context.invoked_subcommand} ... {word}",
            )


def _store(folder: Path) -> "Store":
    from tfbuild.history import Store

    return Store(folder=folder)


def _read(store: "Store") -> "Contents":
    from tfbuild.cli import console

    found = store.read()
    for path, why in found.damaged:
        console.say(f"Passed over {path}: {why}")
    return found


def _newest(result: Path | None, store: "Store", entries: "tuple[Entry, ...]") -> "Entry":
    from tfbuild.errors import NothingToDoError
    from tfbuild.history.store import read

    if result is not None:
        return read(result)
    if not entries:
        raise NothingToDoError(
            f"Nothing is in {store.folder}.", do="Add results: tfbuild history add RESULT..."
        )
    return entries[-1]


def _against(word: str, store: "Store") -> "Against | Entry":
    from tfbuild.history import Against

    return Against(word) if word in {each.value for each in Against} else store.find(word)
