"""`--json-schema`: what the one document of `--json` looks like, for whoever reads it."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfbuild.artifact import Artifact


def option(*kinds: "Callable[[], type[Artifact]]") -> Any:  # noqa: ANN401 - Typer's own word for an option
    """Return the option that prints the JSON Schema of kinds of values and ends.

    Args:
        kinds: each imports a kind, called only when the schema is asked for. A document is of one
            of them.
    """

    def show(value: bool) -> None:
        if value:
            from tfbuild import artifact

            typer.echo(
                artifact.dict_to_json(artifact.json_schema(*(kind() for kind in kinds))), nl=False
            )
            raise typer.Exit

    return typer.Option(
        "--json-schema",
        callback=show,
        is_eager=True,
        help="Print the JSON Schema of what --json prints.",
    )
