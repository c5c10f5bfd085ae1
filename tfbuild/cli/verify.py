"""`tfbuild verify`: whether a wheel, or an installation, is whole, made for its CPU, and right."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import bench_options, console, schema_option

if TYPE_CHECKING:
    from tfbuild.artifact import Artifact
    from tfbuild.progress import Progress
    from tfbuild.target import Target
    from tfbuild.verify.context import Asked, Context
    from tfbuild.verify.model import Verification

_EXAMPLE = "Example: tfbuild verify wheels/tensorflow-2.21.0+skylake*.whl --static"
_FAILED = 7
"""As WheelError's: what was asked was done, and the wheel is not what it should be."""


def _kind() -> "type[Artifact]":
    from tfbuild.verify.model import Verification

    return Verification


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="verify", epilog=_EXAMPLE, no_args_is_help=True)(verify)


def verify(  # noqa: PLR0917 - a command has as many parameters as it has options
    wheel: Annotated[
        str,
        typer.Argument(
            metavar="WHEEL|installed",
            help="A wheel; or the word 'installed', or an environment's folder or interpreter, "
            "for the TensorFlow that is installed there.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            envvar="TFBUILD_TARGET",
            help="The CPU that its code shall be made for, or 'native'.",
            show_default="what the wheel says of itself",
        ),
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="Only read the files: install and run nothing.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CHECK", help="Do only this check; may be repeated."),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="CHECK", help="Leave this check out; may be repeated."),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="What its numbers are compared with: a wheel, a requirement, or pip, the official "
            "wheel of the same release.",
        ),
    ] = "pip",
    wheels_dir: bench_options.WheelsDir_ = Path("wheels"),
    pip_index: bench_options.PipIndex_ = None,
    offline: bench_options.Offline_ = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            envvar="TFBUILD_STRICT",
            help="Warnings, and checks that cannot be done here, count as failures.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    json_schema: Annotated[bool, schema_option.option(_kind)] = False,  # noqa: ARG001 - ends early
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            envvar="TFBUILD_NO_CACHE",
            help="Read all code anew instead of taking the result of an earlier inspection.",
        ),
    ] = False,
) -> None:
    """Check that a wheel is whole, made for its CPU, and computes right.

    First the files, then every instruction, then, in fresh environments, an
    import, one step of training and the numbers against the official wheel.
    That runs the wheel's code as you do; --static only reads. Ends with 7 if a
    check failed.
    """
    from tfbuild import artifact, settings, signals, spec
    from tfbuild.installer import Installer
    from tfbuild.verify import steps
    from tfbuild.verify.context import Asked
    from tfbuild.verify.verify import checked, chosen

    possible = steps.STATIC if static else steps.ALL
    names = chosen(possible, only or (), skip or ())
    spec.parse(against)
    asked = Asked(
        target=_target(target),
        against=against,
        cache=None if no_cache else settings.cache_folder("inspections"),
        wheels_dir=wheels_dir,
        installer=Installer(index=pip_index, offline=offline),
    )
    with signals.stoppable(), console.progress() as progress:
        found = checked(_context(wheel, asked, progress), possible, names)
    if json:
        typer.echo(artifact.to_json(found), nl=False)
    else:
        from tfbuild.cli import verify_shown

        verify_shown.show(found)
    _finish(found, strict=strict)


def _context(wheel: str, asked: "Asked", progress: "Progress") -> "Context":
    from tfbuild.verify.context import Context
    from tfbuild.verify.installation import Installation
    from tfbuild.wheel.inspect import find, named_place

    is_installed, place = named_place(wheel)
    if is_installed:
        interpreter = place if place is not None and place.is_file() else None
        return Installation(find(place), asked, progress, interpreter)
    return Context(Path(wheel), asked, progress)


def _target(name: str | None) -> "Target | None":
    if name is None:
        return None
    from tfbuild import host
    from tfbuild import target as targets

    if name.strip().lower() != targets.NATIVE:
        return targets.find(name)
    return targets.resolve(name, host.detect())


def _finish(found: "Verification", *, strict: bool) -> None:
    bad = [check for check in found.checks if check.status == "failed"]
    unsure = [check for check in found.checks if check.status in {"warning", "skipped"}]
    counted = f"{len(bad)} of {len(found.checks)} checks failed"
    if bad:
        console.say(f"{counted}.")
    elif strict and unsure:
        names = ", ".join(check.name for check in unsure)
        console.say(f"{counted}, but not all passed (--strict): {names}.")
    if bad or (strict and unsure):
        raise typer.Exit(_FAILED)
