"""`tfbuild doctor`: what works here, and what would be in a build's way."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tfbuild.cli import console, offline_options, ready, setup_options
from tfbuild.cli import recipe_options as options
from tfbuild.cli import remote_options as servers
from tfbuild.cli.wheel import wheel

if TYPE_CHECKING:
    from tfbuild.preflight import Report

_RECIPE = frozenset(inspect.signature(options.make).parameters)
_SETUP = frozenset(inspect.signature(setup_options.make).parameters) - {"engine"}
_REMOTE = {f"remote_{name}": name for name in inspect.signature(servers.remote).parameters}
_BESIDE = ("output_dir", "replace", "engine", "offline", "json_")
_COLOURS = {"ok": "green", "warning": "yellow", "failure": "red"}


def register(app: typer.Typer) -> None:
    """Attach the command, with the options of `wheel` that it looks at."""
    command: Any = doctor
    command.__signature__ = inspect.Signature(
        [
            parameter
            for name, parameter in inspect.signature(wheel).parameters.items()
            if name in {*_RECIPE, *_SETUP, *_REMOTE, *_BESIDE}
        ]
    )
    command.__annotations__ = {
        name: parameter.annotation for name, parameter in command.__signature__.parameters.items()
    }
    app.command(name="doctor")(command)


def doctor(**given: Any) -> None:  # noqa: ANN401 - the options of `wheel`
    """Show what works on this machine, and what would be in the way of a build.

    Takes the options of `tfbuild wheel`, and tells with what exit code it would
    refuse to start. Changes nothing.

    Example: tfbuild doctor --target skylake --jobs 8
    """
    from tfbuild import artifact, preflight
    from tfbuild.engine.choose import check_name

    output_dir, replace, engine, folder, json_ = (given[name] for name in _BESIDE)
    check_name(engine)
    setup = setup_options.make(engine=engine, **_part(given, _SETUP))
    remote = servers.remote(**{name: given[long] for long, name in _REMOTE.items()})
    copy = offline_options.opened(folder, remote, engine)
    recipe, refusals = ready.attempt(**_part(given, _RECIPE))
    setup, refusals = ready.fitted(copy, recipe, refusals, setup)
    question = preflight.Question(
        engine=engine,
        output_dir=Path(output_dir),
        recipe=recipe,
        refusals=refusals,
        jobs=given["jobs"],
        replace=replace,
        setup=setup,
        remote=remote,
    )
    report = preflight.check(question, whole_machine=True)
    if json_:
        typer.echo(artifact.to_json(report), nl=False)
    else:
        _show(report)
    error = report.error()
    if error is not None:
        raise typer.Exit(error.exit_code)


def _part(given: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}


def _show(report: "Report") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in report.findings:
        told = "\n".join(part for part in (finding.what, finding.why, finding.do) if part)
        state = Text(finding.state, style=_COLOURS[finding.state])
        table.add_row(finding.about, state, Text(told))
    console.results().print(table)
    bad = len(report.failures)
    if bad:
        console.say(f"{bad} {'things are' if bad > 1 else 'thing is'} in the way of this build.")
    else:
        console.say("Nothing is in the way. Next: tfbuild rehearse")
