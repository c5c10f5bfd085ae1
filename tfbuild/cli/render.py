"""`tfbuild render`: a build context that needs no tfbuild."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import made_by
from tfbuild.cli import recipe_options as options

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="render")(render)


def render(  # noqa: PLR0917 - a command has as many parameters as it has options
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="New or empty folder, or an older context."
        ),
    ],
    target: options.Target_ = "native",
    tensorflow: options.TensorFlow_ = "2.21.0",
    python: options.Python_ = None,
    vector_width: options.VectorWidth_ = None,
    compiler: options.Compiler_ = "release",
    optimize: options.Optimize_ = None,
    lto: options.Lto_ = None,
    copt: options.Copt_ = None,
    bazel_arg: options.BazelArg_ = None,
    config: options.Config_ = None,
    platform: options.Platform_ = None,
    jobs: options.Jobs_ = None,
    memory: options.Memory_ = None,
    base_image: options.BaseImage_ = None,
    source: options.Source_ = None,
    bazel: options.Bazel_ = None,
    bazel_mirror: options.BazelMirror_ = None,
    pip_index: options.PipIndex_ = None,
    apt_mirror: options.AptMirror_ = None,
    llvm_mirror: options.LlvmMirror_ = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write the build context (Dockerfile, build script, bazelrc) and stop.

    The folder is complete: `docker build --output` turns it into a wheel on a
    machine without tfbuild. The same options give the same bytes.

    Example: tfbuild render --target skylake --tensorflow 2.21.0 -o context
    """
    recipe = options.make(
        target=target,
        tensorflow=tensorflow,
        python=python,
        vector_width=vector_width,
        compiler=compiler,
        optimize=optimize,
        lto=lto,
        copt=copt,
        bazel_arg=bazel_arg,
        config=config,
        platform=platform,
        jobs=jobs,
        memory=memory,
        base_image=base_image,
        source=source,
        bazel=bazel,
        bazel_mirror=bazel_mirror,
        pip_index=pip_index,
        apt_mirror=apt_mirror,
        llvm_mirror=llvm_mirror,
    )
    recipe.write(output)
    made_by.tell_pin(recipe)
    if json_:
        _print_json(recipe, output)
    else:
        _print(recipe, output)


def _print_json(recipe: "Recipe", output: Path) -> None:
    from tfbuild import artifact

    document = {
        **json.loads(recipe.files["recipe.json"]),
        "digest": recipe.digest,
        "toolchain_digest": recipe.toolchain_digest,
        "folder": str(output),
        "files": sorted([*recipe.files, *recipe.archives]),
    }
    typer.echo(artifact.dict_to_json(document), nl=False)


def _print(recipe: "Recipe", output: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from tfbuild.cli import console
    from tfbuild.recipe import platforms

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in [*options.decided(recipe), ("written to", str(output))]:
        table.add_row(name, Text(value))
    console.results().print(table)
    for problem in recipe.known_problems:
        console.say(f"warning: {problem}")
    for notice in recipe.notices:
        console.say(f"note: {notice}")
    platform = platforms.of(recipe.target)
    folder = shlex.quote(str(output))
    console.say(f"Next: docker build --output wheels --platform {platform} {folder}")
