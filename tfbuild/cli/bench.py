"""`tfbuild bench`: how long one TensorFlow takes for the six architectures."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tfbuild.cli import bench_options as shared
from tfbuild.cli.bench_options import Data, Options, Scale


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="bench", no_args_is_help=True)(bench)


def bench(  # noqa: PLR0917 - a command has as many parameters as it has options
    spec: Annotated[
        str,
        typer.Argument(
            help="pip, compiled, a wheel, a requirement, a Python, or a saved result (.json).",
        ),
    ],
    scale: shared.Scale_ = Scale.QUICK,
    architectures: shared.Architectures_ = None,
    data: shared.Data_ = Data.AUTO,
    rounds: shared.Rounds_ = shared.ROUNDS,
    threads: shared.Threads_ = None,
    seed: shared.Seed_ = None,
    timeout: shared.Timeout_ = None,
    wheels_dir: shared.WheelsDir_ = Path("wheels"),
    pip_index: shared.PipIndex_ = None,
    offline: shared.Offline_ = False,
    output_dir: shared.OutputDir_ = Path("results"),
    json_: shared.Json_ = False,
) -> None:
    """Train the six architectures of the 2017 study with one TensorFlow.

    Every round is a fresh process in the TensorFlow's own environment. Times are
    scaled to one epoch of the study, beside its figures for a K80 and cloud CPUs.

    Example: tfbuild bench tensorflow-cpu==2.20.0 --architectures mnist_cnn
    """
    from tfbuild import artifact
    from tfbuild.cli import console, tables
    from tfbuild.compare import times
    from tfbuild.concerns import about_one
    from tfbuild.saved import side
    from tfbuild.spec import parse

    options = Options(
        scale=scale,
        architectures=architectures,
        data=data,
        rounds=rounds,
        threads=threads,
        seed=seed,
        timeout=timeout,
        output_dir=output_dir,
        wheels_dir=wheels_dir,
        pip_index=pip_index,
        offline=offline,
        json=json_,
    )
    what = parse(spec)
    if what.kind == "result" and what.path is not None:
        one, path = side(what.path), what.path
    else:
        session = shared.measure([what], options, command="bench")
        one, path = session.sides[0], session.path
    if json_:
        sys.stdout.write(artifact.to_json(one.suite))
        return
    out = console.results()
    tables.measured(one, times(one), about_one(one), out)
    tables.files([path], out)
