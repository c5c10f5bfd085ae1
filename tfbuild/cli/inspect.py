"""`tfbuild inspect`: what a wheel or an installed package is, needs, and uses."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console, schema_option

if TYPE_CHECKING:
    from tfbuild.artifact import Artifact
    from tfbuild.host import Host
    from tfbuild.wheel.inspection import Inspection

_EXAMPLE = (
    "Example: tfbuild inspect installed, or: tfbuild inspect wheels/tensorflow_cpu-2.21.0*.whl"
)
_WHERE = "Will it run?"


def _kind() -> "type[Artifact]":
    from tfbuild.wheel.inspection import Inspection

    return Inspection


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="inspect", epilog=_EXAMPLE, no_args_is_help=True)(inspect)


def inspect(  # noqa: PLR0917 - a command has as many parameters as it has options
    wheel: Annotated[
        str,
        typer.Argument(
            metavar="WHEEL|installed",
            help="A wheel; or the word 'installed', or an environment's folder or interpreter, "
            "for what is installed there.",
        ),
    ],
    distribution: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which of the installed packages.",
            show_default="TensorFlow",
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            envvar="TFBUILD_FULL",
            help="Decode all code, not a sample of the functions. Half a minute for a TensorFlow.",
        ),
    ] = False,
    host: Annotated[
        bool,
        typer.Option(
            "--host",
            help="Say whether this machine can run it; ends with 4 if not. Implies --full.",
            rich_help_panel=_WHERE,
        ),
    ] = False,
    cpuinfo: Annotated[
        Path | None,
        typer.Option(
            help="The same for another machine's saved /proc/cpuinfo.",
            show_default=False,
            rich_help_panel=_WHERE,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    json_schema: Annotated[bool, schema_option.option(_kind)] = False,  # noqa: ARG001 - ends early
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            envvar="TFBUILD_NO_CACHE",
            help="Read everything anew instead of taking the result of an earlier inspection.",
        ),
    ] = False,
) -> None:
    """Show what a wheel is, which CPUs run it, and what it was compiled with.

    A random sample of the functions is decoded, in seconds, with the interval
    that goes with each number; --full decodes all. The result is kept, so the
    next time is instant. Nothing of the package is imported or run.
    """
    from tfbuild import settings

    cache = None if no_cache else settings.cache_folder("inspections")
    machine = _host(cpuinfo, here=host)
    found = _inspection(wheel, cache, full=full or machine is not None, distribution=distribution)
    if machine is not None:
        from tfbuild.wheel import match

        glibc = match.glibc_here() if cpuinfo is None else None
        found = replace(found, host_match=match.match(found, machine, glibc=glibc))
    if json:
        from tfbuild import artifact

        typer.echo(artifact.to_json(found), nl=False)
    else:
        from tfbuild.cli import inspect_shown

        inspect_shown.show(found)
    if found.host_match is not None:
        _finish(found, here=cpuinfo is None)


def _host(cpuinfo: Path | None, *, here: bool) -> "Host | None":
    from tfbuild import host
    from tfbuild.errors import UsageError

    if cpuinfo is not None and here:
        raise UsageError(
            "--host is this machine, --cpuinfo another one.", do="Give one of the two."
        )
    if cpuinfo is not None:
        return host.from_cpuinfo(cpuinfo)
    return host.detect() if here else None


def _inspection(
    wheel: str, cache: Path | None, *, full: bool, distribution: str | None
) -> "Inspection":
    from tfbuild import signals
    from tfbuild.errors import UsageError
    from tfbuild.wheel.inspect import inspect as inspect_wheel
    from tfbuild.wheel.inspect import installed, named_place

    is_installed, place = named_place(wheel)
    with signals.stoppable(), console.progress() as progress:
        if is_installed:
            return installed(
                place,
                full=full,
                progress=progress,
                cache=cache,
                distribution=distribution,
            )
        if distribution is not None:
            raise UsageError(
                f"{wheel} is one package; --distribution chooses among installed ones.",
                do="Leave it out, or inspect an environment: tfbuild inspect installed "
                f"--distribution {distribution}",
            )
        return inspect_wheel(Path(wheel), full=full, progress=progress, cache=cache)


def _finish(found: "Inspection", *, here: bool) -> None:
    """End with the exit code of the verdict, and say it where a script's log shows it."""
    from tfbuild.errors import HostError
    from tfbuild.wheel import match

    told = found.host_match
    if told is None or told.verdict != "no":
        if here and (note := match.python_note(found)):
            console.say(f"note: {note}")
        return
    machine = "This machine" if here else f"A machine with this CPU ({told.cpu})"
    raise HostError(f"{machine} cannot run {Path(found.file).name}.", why="\n".join(told.obstacles))
