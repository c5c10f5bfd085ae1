"""`tfbuild publish`: wheels into an index."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tfbuild.publish import Publication, Receipt


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="publish", no_args_is_help=True)(publish)


def publish(
    wheels: Annotated[list[Path], typer.Argument(metavar="WHEEL...", help="Wheel files.")],
    index: Annotated[
        str,
        typer.Option(
            "--index",
            "-i",
            envvar="TFBUILD_INDEX",
            metavar="DIR|URL",
            help="A folder for a static index, or the URL of a server that takes uploads.",
        ),
    ],
    simple_url: Annotated[
        str | None,
        typer.Option(
            "--simple-url",
            envvar="TFBUILD_SIMPLE_URL",
            metavar="URL",
            help="Where pip reads from that server; usually found out from --index.",
        ),
    ] = None,
    allow_http: Annotated[
        bool,
        typer.Option(
            "--allow-http",
            envvar="TFBUILD_ALLOW_HTTP",
            help="Send the password over plain http to another machine.",
        ),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Put wheels into a package index, read them back, and compare.

    A folder becomes a static index with a root for each CPU label, which any web
    server or file:// URL can serve. A server gets an upload; the password comes
    from TFBUILD_INDEX_USERNAME and TFBUILD_INDEX_PASSWORD, TWINE_*, netrc or
    keyring, never from the command line. A published file never changes: the same
    wheel again is left alone, another one of the same name is refused.

    Example: tfbuild publish wheels/*.whl --index ./index
    """
    from tfbuild import artifact
    from tfbuild.cli import console
    from tfbuild.publish import attempt

    with console.progress(quiet=json_) as progress:
        publication = attempt(
            wheels, index, simple_url=simple_url, allow_http=allow_http, progress=progress
        )
    if json_:
        sys.stdout.write(artifact.to_json(publication))
    elif publication.receipts:
        _show(publication)
    for failure in publication.failures:
        console.error(failure.what, failure.why, failure.do)
    if publication.failures:
        raise typer.Exit(publication.failures[0].exit_code)


def _show(publication: "Publication") -> None:
    from rich.table import Table
    from rich.text import Text

    from tfbuild.cli import console

    table = Table(
        "wheel", "", "sha256", title=Text(f"Index {publication.index}"), title_justify="left"
    )
    for receipt in publication.receipts:
        table.add_row(Text(receipt.file, overflow="fold"), receipt.action, receipt.sha256[:16])
    out = console.results()
    out.print(table)
    for receipt in publication.receipts:
        for line in how_to_install(receipt):
            out.print(line, markup=False, soft_wrap=True)
    out.print(
        "\nKeep the exact version: pip merges its indexes and without it takes what is newer on "
        "PyPI. uv stops at the first index that has the project.",
        markup=False,
    )


def how_to_install(receipt: "Receipt") -> list[str]:
    """Return the commands that install one published wheel, its dependencies from PyPI."""
    from shlex import quote

    url, requirement = quote(receipt.simple_url), quote(receipt.requirement)
    if "+" in receipt.requirement:
        pip = (
            f"pip install --index-url {url} --extra-index-url https://pypi.org/simple {requirement}"
        )
    else:
        # PyPI may have the same version; with both indexes nobody could say whose wheel comes.
        pip = f"pip install --no-deps --index-url {url} {requirement}"
    return ["", pip, f"uv pip install --index {url} {requirement}"]
