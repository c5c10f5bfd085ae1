"""`tfbuild matrix`: many wheels, one after the other, or as jobs for other systems."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfbuild.cli import console

if TYPE_CHECKING:
    from tfbuild.matrix import Job, Matrix, Row

_OURS = {
    "target": "--target",
    "tensorflow": "--tensorflow",
    "python": "--python",
    "output_dir": "--output-dir",
    "dry_run": "--dry-run",
    "json_": "--json",
}


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(
        name="matrix", context_settings={"ignore_unknown_options": False, "allow_extra_args": True}
    )(matrix)


# The parameters are named unlike those of `wheel`: its settings are single values.
def matrix(  # noqa: PLR0917 - a command has as many parameters as it has options
    ctx: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="TARGET", help="CPU; may be given several times."),
    ] = None,
    releases: Annotated[
        list[str] | None,
        typer.Option(
            "--tensorflow", metavar="RELEASE", help="Release; may be given several times."
        ),
    ] = None,
    pythons: Annotated[
        list[str] | None,
        typer.Option(
            "--python",
            metavar="3.X",
            help="Python; may be given several times. Default: one for each release, as for "
            "tfbuild wheel.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="TARGET:RELEASE[:PYTHON]",
            help="Leave these out; * and ? stand for any characters. May be given several times.",
        ),
    ] = None,
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir", envvar="TFBUILD_OUTPUT_DIR", metavar="DIR", help="Where wheels go."
        ),
    ] = Path("wheels"),
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="json|github|gitlab|kubernetes",
            help="Print the jobs for another system, and compile nothing.",
            rich_help_panel="Jobs for other systems",
        ),
    ] = None,
    image: Annotated[
        str,
        typer.Option(
            "--image",
            metavar="IMAGE",
            help="Container image with tfbuild, for GitLab and Kubernetes.",
            rich_help_panel="Jobs for other systems",
        ),
    ] = "",
    claim: Annotated[
        str,
        typer.Option(
            "--claim",
            metavar="NAME",
            help="Kubernetes' persistent volume claim that takes the wheels.",
            rich_help_panel="Jobs for other systems",
        ),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; contact nothing.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compile many wheels: targets x releases x Pythons, with shared caches.

    What is there already is skipped, a failure does not stop the rest, and the
    summary is a table. Options after -- are those of `tfbuild wheel`. The lists may
    stand in pyproject.toml, tool.tfbuild.matrix: targets, releases, pythons, exclude.

    Example: tfbuild matrix -t haswell -t skylake --tensorflow 2.21 --dry-run -- --jobs 8
    """
    from tfbuild import matrix as room
    from tfbuild.errors import NothingToDoError, UsageError
    from tfbuild.jobs import FORMATS, document

    if format_ is not None and format_ not in FORMATS:
        raise UsageError(
            f"--format: {format_!r} is not known.", why=f"Known are: {', '.join(FORMATS)}"
        )
    words = list(ctx.args)
    _check(ctx, words)
    jobs = _jobs(targets or [], releases or [], pythons or [], exclude or [])
    rows = [_row(ctx, job, output_dir, words) for job in jobs]
    if not any(row.outcome == "to do" for row in rows):
        raise NothingToDoError(
            "No job of this matrix can be done.",
            why="\n".join(dict.fromkeys(f"{row.job}: {row.why}" for row in rows)),
        )
    if format_ is not None:
        _tell_left_out(rows)
        todo = [row for row in rows if row.outcome == "to do"]
        text = document(todo, format_, output_dir=str(output_dir), image=image, claim=claim)
        typer.echo(text, nl=False)
        return
    rows = room.with_wheels(rows, output_dir)
    if not dry_run:
        rows = _compile(rows, output_dir, json_=json_)
    _show(room.Matrix(rows=tuple(rows)), json_=json_)
    _end(room.Matrix(rows=tuple(rows)))


def _jobs(
    targets: list[str], releases: list[str], pythons: list[str], excluded: list[str]
) -> "list[Job]":
    from tfbuild import matrix, release
    from tfbuild.errors import UsageError

    for name, given in (("--target", targets), ("--tensorflow", releases)):
        if not given:
            raise UsageError(
                f"The matrix has no {name}.",
                do=f"Give {name} once or more, or fill [tool.tfbuild.matrix]:\n"
                'targets = ["haswell", "skylake"]\nreleases = ["2.21"]',
            )
    for name in targets:
        _check_target(name)
    found = [release.find(version) for version in releases]
    named = [(what.version, what.default_python) for what in found]
    return matrix.jobs(targets, named, pythons, excluded)


def _check(ctx: typer.Context, words: list[str]) -> None:
    """Refuse what is no option of `tfbuild wheel`, and what the matrix decides itself."""
    from tfbuild.errors import UsageError

    inner = _wheel(ctx, words)
    for name, option in _OURS.items():
        source = inner.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"{option} belongs before the --, to the matrix.")
    if inner.params["pgo"]:
        raise UsageError(
            "--pgo is not for a matrix.",
            why="Which recipe a wheel is of shows only after its training, so the matrix could not "
            "tell whether it is there.",
            do="Build such wheels one by one: tfbuild wheel --pgo",
        )
    if inner.args:
        raise UsageError(f"tfbuild wheel takes no argument {inner.args[0]!r}.")


def _wheel(ctx: typer.Context, words: list[str]) -> Any:  # noqa: ANN401 - Typer moves Click about
    """Return the context of `tfbuild wheel` with these options, parsed but not run."""
    from tfbuild.cli import wheel

    alone = typer.Typer(add_completion=False)
    wheel.register(alone)
    command = typer.main.get_command(alone)
    settings = (ctx.parent.default_map if ctx.parent is not None else None) or {}
    return command.make_context("wheel", list(words), default_map=settings.get("wheel"))


def _row(ctx: typer.Context, job: "Job", output_dir: Path, words: list[str]) -> "Row":
    from tfbuild.cli import recipe_options
    from tfbuild.errors import UsageError
    from tfbuild.matrix import Row

    given = ("--target", job.target, "--tensorflow", job.tensorflow, "--python", job.python)
    mine = [*given, "--output-dir", str(output_dir), *words]
    command = ("tfbuild", "wheel", *mine)
    values = _wheel(ctx, mine).params
    known = inspect.signature(recipe_options.make).parameters
    try:
        recipe = recipe_options.make(**{key: values[key] for key in known if key in values})
    except UsageError as error:
        return Row(job=job, outcome="left out", command=command, why=error.what)
    return Row(
        job=job,
        outcome="to do",
        architecture=recipe.target.architecture,
        recipe_digest=recipe.digest,
        command=command,
    )


def _check_target(name: str) -> None:
    """Refuse what is no target at all; what a release cannot do is left out."""
    from tfbuild import target
    from tfbuild.errors import UsageError

    if name.strip().lower() == target.NATIVE:
        raise UsageError(
            "A matrix names its targets; native may be another one elsewhere.",
            do="See `tfbuild detect` for what this CPU is.",
        )
    target.find(name)


def _compile(rows: "list[Row]", output_dir: Path, *, json_: bool) -> "list[Row]":
    from dataclasses import replace

    from tfbuild import matrix

    count = sum(row.outcome == "to do" for row in rows)
    state = list(rows)

    def begin(row: "Row", number: int) -> None:
        console.say(f"[{number}/{count}] {row.job}")

    def keep(changed: "list[Row]") -> None:
        state[:] = changed

    try:
        return matrix.run(rows, output_dir, begin, lambda line: console.say(f"  {line}"), keep)
    except KeyboardInterrupt:
        stopped = [
            replace(row, outcome="not begun") if row.outcome == "to do" else row for row in state
        ]
        _show(matrix.Matrix(rows=tuple(stopped)), json_=json_)
        raise


def _tell_left_out(rows: "list[Row]") -> None:
    for row in rows:
        if row.outcome == "left out":
            console.say(f"note: left out: {row.job}: {row.why}")


def _show(result: "Matrix", *, json_: bool) -> None:
    from tfbuild import artifact

    if json_:
        typer.echo(artifact.to_json(result), nl=False)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("target", "TensorFlow", "Python", "outcome"):
        table.add_column(name, no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("run/cached", justify="right", no_wrap=True)
    table.add_column("wheel, or why not", overflow="fold")
    for row in result.rows:
        actions = "" if row.executed is None else f"{row.executed}/{row.cached}"
        cells = (row.job.target, row.job.tensorflow, row.job.python, row.outcome)
        table.add_row(
            *map(Text, cells), Text(_duration(row)), Text(actions), Text(row.wheel or row.why)
        )
    console.results().print(table)


def _duration(row: "Row") -> str:
    if row.seconds is None:
        return ""
    minutes, seconds = divmod(round(row.seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _end(result: "Matrix") -> None:
    from tfbuild.errors import BuildError

    if result.failed:
        console.say(
            f"{len(result.failed)} of {len(result.rows)} failed; run the same again to go on."
        )
        raise typer.Exit(BuildError.exit_code)
