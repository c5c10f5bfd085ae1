"""`tfbuild fetch`: everything that a build needs, in one folder."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console, offline_options, setup_options
from tfbuild.cli import recipe_options as options
from tfbuild.cli.wheel import Engine_, name_downloads

if TYPE_CHECKING:
    from tfbuild.offline import Manifest


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="fetch")(fetch)


def fetch(  # noqa: PLR0917 - a command has as many parameters as it has options
    context: typer.Context,
    target: options.Target_ = "native",
    tensorflow: options.TensorFlow_ = "2.21.0",
    python: options.Python_ = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="New or empty folder, or one of an earlier fetch, which goes on.",
        ),
    ] = Path("offline"),
    engine: Engine_ = "auto",
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
    ca_certificate: setup_options.CaCertificate_ = None,
    mirror: setup_options.Mirror_ = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Collect everything that a build needs in one folder, for machines without a network.

    The folder serves every target of the same release, Python and compiler, on
    Docker and Podman alike; with --engine local, on machines like this one. A
    fetch that was stopped goes on when the same command runs again.

    Example: tfbuild fetch --tensorflow 2.21.0 --python 3.12 --output offline
    """
    from tfbuild import offline
    from tfbuild.engine import choose
    from tfbuild.engine.choose import check_name
    from tfbuild.offline.fetch import log_path

    check_name(engine)
    setup = setup_options.make(engine=engine, ca_certificate=ca_certificate, mirror=mirror)
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
    chosen = choose(engine)
    name_downloads(recipe, is_local=chosen.name == "local", setup=setup)
    console.say(f"Log: {log_path(recipe)}")
    kept = {
        name: str(context.params[name])
        for name in offline_options.KEPT
        if context.params.get(name) is not None
    }
    with console.progress() as progress:
        fetched = offline.fetch(
            recipe, chosen, output, progress, options=kept, setup=setup, mirrors=tuple(mirror or ())
        )
    _show(fetched, output, json_=json_)


def _show(fetched: "Manifest", output: Path, *, json_: bool) -> None:
    from tfbuild import artifact

    if json_:
        typer.echo(artifact.to_json(fetched), nl=False)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    serves = "Docker and Podman" if fetched.kind == "container" else "--engine local"
    rows = [("holds", str(fetched)), ("serves", serves)]
    rows += [(file.name, f"{file.size / 1e6:.1f} MB") for file in fetched.files]
    for name, value in [*rows, ("folder", f"{output}, {fetched.size / 1e9:.2f} GB")]:
        table.add_row(name, Text(value))
    console.results().print(table)
    console.say(
        f"Next, on the machine without a network: tfbuild wheel --offline "
        f"{shlex.quote(str(output))} --target TARGET"
    )
