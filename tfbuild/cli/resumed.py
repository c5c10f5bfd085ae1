"""What `bench` and `compare` refuse beside `--resume`, and without any spec."""

from collections.abc import Sequence

import typer

from tfbuild.errors import UsageError

_TAKEN = frozenset(
    {
        *(
            "resume",
            "wheels_dir",
            "pip_index",
            "offline",
            "output_dir",
            "json",
            "roofline",
            "noise",
        ),
        *("prices", "provider", "region", "price_kind", "machine"),
        *("fail_if_slower", "strict"),
    }
)


def check(ctx: typer.Context, specs: Sequence[str], *, more: Sequence[str] = ()) -> None:
    """Refuse to change what a session is about while it is resumed.

    Args:
        ctx: of the command.
        specs: what stands on the command line to be measured.
        more: options that a command lets one change besides.

    Raises:
        UsageError: a spec or an option of the plan stands on the command line.
    """
    given = [
        f"--{name.replace('_', '-')}"
        for name in ctx.params
        if name not in _TAKEN.union(more) and _is_typed(ctx, name)
    ]
    if words := [*specs, *given]:
        raise UsageError(
            f"--resume goes on as it was begun, and {words[0]} would change that.",
            why="What to measure and how stands in the file; rounds of two plans make no pairs.",
            do="Leave it out, or measure anew.",
        )


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def needed(spec: str | None, command: str) -> str:
    """Return the spec.

    Raises:
        UsageError: there is none.
    """
    if spec is None:
        raise UsageError(
            f"tfbuild {command} needs something to measure.", do=f"Example: tfbuild {command} pip"
        )
    return spec
