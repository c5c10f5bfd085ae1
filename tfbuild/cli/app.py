"""The Typer application, and the only place where an error becomes a message and an exit code."""

import errno
import importlib
import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tfbuild import __version__
from tfbuild.cli import console
from tfbuild.errors import SaveError, TfbuildError, UsageError, suggestion

_NOT_OURS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})

# The order is the order of the work, and of `tfbuild --help`.
COMMANDS = (
    *("detect", "targets", "doctor", "render", "rehearse", "fetch", "wheel", "matrix"),
    *("inspect", "verify", "bench", "compare", "tune", "report", "history", "publish", "cache"),
)

EPILOG = (
    "Exit codes: 0 done, 1 unexpected, 2 usage, 3 nothing to do, 4 host, 5 engine, 6 build, "
    "7 wheel, 8 benchmark, 10 publish, 11 cannot save, 12 slower, 130 interrupted."
)


class Commands(TyperGroup):
    """The commands, each imported when it is asked for: `detect` shall not wait for `bench`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - Typer moves this class about
        """Return the names in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """Return the command of that name, or None."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """Return the command that the first word names; an unknown one is told with the nearest."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UsageError(
                f"tfbuild has no command {args[0]!r}.",
                do=suggestion(args[0], list(COMMANDS)) or "See them with: tfbuild --help",
            )
        return super().resolve_command(ctx, args)


def _load(name: str) -> Any:  # noqa: ANN401
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    importlib.import_module(f"tfbuild.cli.{name}").register(alone)
    found = typer.main.get_command(alone)
    # A command that has commands of its own comes as the one member of a nameless group.
    return found.commands[name] if isinstance(found, TyperGroup) else found


app = typer.Typer(
    name="tfbuild",
    cls=Commands,
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


def main() -> NoReturn:
    """Run the command line and exit."""
    # A character that the terminal's encoding lacks must not cost the rest of a result.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        command = typer.main.get_command(app)
        command(default_map=_defaults(command))
    except TfbuildError as error:
        _tell(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("tfbuild: interrupted\n")
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the last door: anything else is a defect of ours
        if isinstance(error, OSError) and error.errno in _NOT_OURS:
            _tell(_unwritable(error))
            sys.exit(SaveError.exit_code)
        _tell_unexpected(error)
        sys.exit(1)
    sys.exit(0)


def _defaults(command: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    # Most folders have no settings: do not even load what reads them.
    here = Path.cwd()
    # A folder that may not be looked into has none either.
    there = (os.access(folder / "pyproject.toml", os.F_OK) for folder in (here, *here.parents))
    if not any(there):
        return {}
    from tfbuild import settings

    found = settings.find(here)
    if not found.values:
        return {}
    commands = {name: command.get_command(None, name) for name in COMMANDS}
    options = {name: _parameters(one) for name, one in commands.items()}
    values = settings.default_map(found, options)
    for name, one in commands.items():
        several = _several(one)
        for key, value in values[name].items():
            values[name][key] = settings.shaped(found, key, value, is_list=key in several)
    return {name: _nested(one, values[name]) for name, one in commands.items()}


def _several(command: Any) -> frozenset[str]:  # noqa: ANN401
    """Return those that may be given several times."""
    own = {one.name for one in command.params if getattr(one, "multiple", False) or one.nargs == -1}
    below = getattr(command, "commands", {}).values()
    return frozenset(own).union(*(_several(one) for one in below))


def _parameters(command: Any) -> frozenset[str]:  # noqa: ANN401
    """Return the names of the parameters of a command, or of all commands below it."""
    own = {parameter.name for parameter in command.params if parameter.name}
    below = getattr(command, "commands", {}).values()
    return frozenset(own).union(*(_parameters(one) for one in below))


def _nested(command: Any, values: dict[str, object]) -> dict[str, Any]:  # noqa: ANN401
    """Return the values in the shape in which Click wants those of the commands below one."""
    below = getattr(command, "commands", {})
    # A command that has others below it may also be called by itself.
    return {**values, **{name: _nested(one, values) for name, one in below.items()}}


def _unwritable(error: OSError) -> SaveError:
    """Return the error for a disk that is full wherever it may be: temporary files, caches."""
    return SaveError(
        f"Cannot write {error.filename or 'a file'}.",
        why=error.strerror or str(error),
        do="Free some space, or name other folders: TMPDIR for temporary files, XDG_CACHE_HOME "
        "for caches.",
    )


def _wants_traceback() -> bool:
    return "--traceback" in sys.argv or bool(os.environ.get("TFBUILD_TRACEBACK"))


def _tell(error: TfbuildError) -> None:
    if _wants_traceback():
        import traceback

        traceback.print_exception(error)
    console.error(error.what, error.why, error.do)


def _tell_unexpected(error: Exception) -> None:
    if _wants_traceback():
        import traceback

        traceback.print_exception(error)
    sys.stderr.write(
        f"tfbuild: unexpected error: {type(error).__name__}: {error}\n"
        "  This is a defect in tfbuild. Run again with `tfbuild --traceback ...` and report it.\n"
    )
