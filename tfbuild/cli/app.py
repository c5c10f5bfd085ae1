"""The Typer application, and the only place where an error becomes a message and an exit code."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tfbuild import __version__, settings
from tfbuild.errors import TfbuildError

EPILOG = (
    "Exit codes: 0 done, 1 unexpected, 2 usage, 3 nothing to do, 4 host, 5 engine, 6 build, "
    "7 wheel, 8 benchmark, 10 publish, 11 cannot save, 130 interrupted."
)

app = typer.Typer(
    name="tfbuild",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"tfbuild {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    traceback_: Annotated[
        bool,
        typer.Option("--traceback", envvar="TFBUILD_TRACEBACK", help="Show Python tracebacks."),
    ] = False,
) -> None:
    """Compile TensorFlow for the CPU it runs on, prove what the wheel holds, measure, publish."""


# The order is the order of the work, and of `tfbuild --help`.
import importlib

for name in "detect targets render rehearse wheel inspect bench compare publish".split():
    try:
        importlib.import_module(f"tfbuild.cli.{name}").register(app)
    except ModuleNotFoundError as missing:  # TEMPORARY while rooms are being written
        if missing.name != f"tfbuild.cli.{name}":
            raise


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        app(default_map=_defaults())
    except TfbuildError as error:
        _tell(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("tfbuild: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`tfbuild targets | head`); that is no failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the last door: anything else is a defect of ours
        _tell_unexpected(error)
        sys.exit(1)
    sys.exit(0)


def _defaults() -> dict[str, dict[str, object]]:
    command = typer.main.get_command(app)
    options = {
        name: frozenset(parameter.name for parameter in sub.params if parameter.name)
        for name, sub in getattr(command, "commands", {}).items()
    }
    return settings.default_map(settings.find(Path.cwd()), options)


def _wants_traceback() -> bool:
    return "--traceback" in sys.argv or bool(os.environ.get("TFBUILD_TRACEBACK"))


def _tell(error: TfbuildError) -> None:
    if _wants_traceback():
        traceback.print_exception(error)
    sys.stderr.write(f"tfbuild: error: {error.what}\n")
    for part in (error.why, error.do):
        if part:
            sys.stderr.write("".join(f"  {line}\n" for line in part.splitlines()))


def _tell_unexpected(error: Exception) -> None:
    if _wants_traceback():
        traceback.print_exception(error)
    sys.stderr.write(
        f"tfbuild: unexpected error: {type(error).__name__}: {error}\n"
        "  This is a defect in tfbuild. Run again with `tfbuild --traceback ...` and report it.\n"
    )
