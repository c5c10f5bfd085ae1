"""Options of builds without a network, shared by the commands that build."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tfbuild.engine import Engine, Setup
    from tfbuild.offline import Copy
    from tfbuild.recipe import Recipe
    from tfbuild.remote import Remote

_FROM = "Where things come from"
KEPT = (
    *("tensorflow", "python", "compiler", "platform"),
    *("base_image", "source", "bazel", "pip_index", "apt_mirror", "bazel_mirror", "llvm_mirror"),
)
"""Parameters that decide the toolchain; a fetched folder brings them along."""


def _fill(context: typer.Context, folder: Path | None) -> Path | None:
    """Let the options that are not given be those that the folder was fetched with."""
    if folder is not None:
        from tfbuild import offline

        copy = offline.find(folder)
        engine = {"engine": "local"} if copy.manifest.kind == "local" else {}
        context.default_map = {**copy.options(), **engine, **(context.default_map or {})}
    return folder


Offline_ = Annotated[
    Path | None,
    typer.Option(
        "--offline",
        envvar="TFBUILD_OFFLINE",
        metavar="DIR",
        is_eager=True,
        callback=_fill,
        help="Use no network: take everything from a folder that `tfbuild fetch` has made, its "
        "release, Python, compiler and sources too where they are not given here.",
        rich_help_panel=_FROM,
    ),
]


def opened(folder: Path | None, remote: "Remote | None", engine: str) -> "Copy | None":
    """Return the fetched folder, None without one; its Bazel is found from now on.

    Raises:
        UsageError: it is none, is not for that engine, or servers are named beside it.
    """
    if folder is None:
        return None
    from tfbuild import offline
    from tfbuild.errors import UsageError

    if remote is not None:
        raise UsageError("--offline and servers for the compile exclude each other.")
    copy = offline.find(folder)
    copy.check_engine(engine)
    copy.use_programs()
    return copy


def fitting(copy: "Copy | None", recipe: "Recipe | None", setup: "Setup") -> "Setup":
    """Return the setup without a network where a folder that serves the recipe is to be used.

    Raises:
        UsageError: it does not serve the recipe.
    """
    from tfbuild.engine import Setup, joined

    if copy is None:
        return setup
    if recipe is not None:
        copy.check(recipe)
    return joined(setup, Setup(network=False))


def join(setup: "Setup", copy: "Copy", recipe: "Recipe", engine: "Engine") -> "Setup":
    """Return the setup of a build that takes everything from the folder.

    Raises:
        UsageError: a file of the folder is missing or damaged.
    """
    from tfbuild.cli import console
    from tfbuild.engine import joined

    with console.progress() as progress:
        return joined(setup, copy.setup(recipe, engine, progress))
