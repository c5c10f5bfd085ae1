"""Shows a wheel that was compiled, or the plan of a build that has not begun."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tfbuild.cli import console, made_by

if TYPE_CHECKING:
    from tfbuild.plan import Plan
    from tfbuild.record import Attempts, BuiltWheel


def show_built(built: "BuiltWheel", output_dir: Path, *, json_: bool) -> None:
    """Print the record of a wheel that is done, and what to do next."""
    from tfbuild import artifact

    if json_:
        typer.echo(artifact.to_json(built), nl=False)
        return
    path = output_dir / built.file
    rows = [
        ("wheel", str(path)),
        ("size", f"{built.size / 1e6:.1f} MB"),
        ("sha256", built.sha256),
        ("needs", " ".join(sorted(built.requires)) or "any CPU of its architecture"),
        ("compiler", built.compiler),
        *([("base image", made_by.base(built))] if built.base_image else []),
        ("engine", built.engine),
        ("time", _duration(built.seconds)),
    ]
    if built.actions is not None:
        done = built.actions
        rows.append(("actions", f"{done.executed} run, {done.cached} from the cache"))
    if built.attempts is not None and built.attempts.count > 1:
        rows.append(("attempts", _attempts(built.attempts)))
    rows += ((f"check {one.name}", f"{one.status}: {one.found}") for one in built.checks)
    _print_rows(rows)
    for notice in built.notices:
        console.say(f"note: {notice}")
    console.say(f"Next: tfbuild inspect {shlex.quote(str(path))}")


def refuse_failed(built: "BuiltWheel", output_dir: Path) -> None:
    """Raise WheelError where the finished wheel is not what it should be; it stays where it is."""
    from tfbuild.errors import WheelError

    failed = [one for one in built.checks if one.status == "failed"]
    if not failed:
        return
    path = output_dir / built.file
    raise WheelError(
        f"The wheel was compiled, but it fails the check of {', '.join(x.name for x in failed)}.",
        why="\n".join(one.found for one in failed),
        do=f"It is kept as {path}. All details: tfbuild verify --static {shlex.quote(str(path))}",
    )


def show_plan(planned: "Plan", engine: str, *, json_: bool) -> None:
    """Print what a build would do."""
    from tfbuild import artifact

    if json_:
        typer.echo(artifact.to_json(planned), nl=False)
        return
    need = planned.estimate
    _print_rows(
        [
            ("TensorFlow", planned.tensorflow),
            ("Python", planned.python),
            ("target", f"{planned.target}: {' '.join(planned.flags)}"),
            ("needs", " ".join(sorted(planned.requires)) or "any CPU of its architecture"),
            ("compiler", planned.compiler),
            ("options", " ".join(planned.options)),
            ("Bazel", planned.bazel),
            ("engine", engine),
            *(
                [
                    ("base image", planned.base_image),
                    ("toolchain", planned.image),
                    ("cache volumes", ", ".join(planned.volumes)),
                ]
                if planned.image
                else []
            ),
            ("wheel", planned.output),
            ("recipe", planned.recipe_digest),
            *(("from outside", f"{place.what}: {place.where}") for place in planned.outside),
            (
                "estimate",
                (
                    f"{need.hours[0]:g} to {need.hours[1]:g} hours on {need.cpus} CPUs, "
                    f"{need.memory_gb} GB of memory, {need.disk_gb} GB of disk: planning figures "
                    "from others' builds, not measured here"
                ),
            ),
        ]
    )
    console.say("Nothing was contacted or changed.")


def _print_rows(rows: list[tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    console.results().print(table)


def _attempts(attempts: "Attempts") -> str:
    again = "an unknown number of" if attempts.repeated is None else attempts.repeated
    return f"{attempts.count}; of {attempts.finished} finished actions, {again} were run again"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
