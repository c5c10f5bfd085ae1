"""`tfbuild bench`: how long one TensorFlow takes for the six architectures."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import schema_option
from tfbuild.cli.bench_options import Options
from tfbuild.cli.spread import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfbuild.bench import Suite
    from tfbuild.cli.measuring import Session
    from tfbuild.prices import Price


def _suite() -> "type[Suite]":
    from tfbuild.bench import Suite

    return Suite


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="bench", no_args_is_help=True)(bench)


@spread(Options)
def bench(
    ctx: typer.Context,
    options: Options,
    spec: Annotated[
        str | None,
        typer.Argument(
            help="pip, compiled, a wheel, a requirement, a Python, or a saved result (.json).",
            show_default=False,
        ),
    ] = None,
    _json_schema: Annotated[bool, schema_option.option(_suite)] = False,
) -> None:
    """Train the six architectures of the 2017 study with one TensorFlow.

    Every round is a fresh process in the TensorFlow's own environment. Times are
    scaled to one epoch of the study, beside its figures for a K80 and cloud CPUs.

    Example: tfbuild bench tensorflow-cpu==2.20.0 --architectures mnist_cnn
    """
    from tfbuild import artifact
    from tfbuild.cli import price_options

    prices = price_options.chosen(options)
    session = _session(ctx, options, spec)
    if options.json:
        sys.stdout.write(artifact.to_json(session.suite))
        return
    _show(session, prices)


def _session(ctx: typer.Context, options: Options, spec: str | None) -> "Session":
    from tfbuild import saved
    from tfbuild.cli import measuring, resumed
    from tfbuild.spec import parse

    if options.resume is not None:
        resumed.check(ctx, [spec] if spec else [])
        return measuring.resume(options.resume, options, command="bench")
    what = parse(resumed.needed(spec, "bench"))
    if what.kind == "result" and what.path is not None:
        return measuring.Session(suite=saved.side(what.path).suite, path=what.path)
    return measuring.measure([what], options, command="bench")


def _show(session: "Session", prices: "Sequence[Price]") -> None:
    from tfbuild.cli import console, tables
    from tfbuild.compare import of_suite, times
    from tfbuild.concerns import about_one, costs

    out = console.results()
    one, *others = session.sides
    if others:
        # One environment in several settings: what there is to tell is what they change.
        found = of_suite(session.suite, samples=[str(session.path)], prices=prices)
        tables.compared(found, out, [session.suite])
    else:
        about = (*about_one(one), *costs.about_sides([one], prices))
        tables.measured(one, times(one, prices), about, out)
    tables.files([session.path], out)
