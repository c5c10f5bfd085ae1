"""`tfbuild compare`: which TensorFlow is faster here, by how much, and how sure that is."""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import bench_options as shared
from tfbuild.cli import price_options as costs
from tfbuild.cli import schema_option
from tfbuild.cli.bench_options import Data, Options, Scale

if TYPE_CHECKING:
    from tfbuild.bench.suite import Side
    from tfbuild.compare import Comparison
    from tfbuild.spec import Spec
    from tfbuild.study import Study

_LONGEST = 150
"""Letters of a file's name before its suffix; file systems take 255 bytes."""


def _comparison() -> "type[Comparison]":
    from tfbuild.compare import Comparison

    return Comparison


def _study() -> "type[Study]":
    from tfbuild.study import Study

    return Study


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="compare", no_args_is_help=True)(compare)


def compare(  # noqa: PLR0917 - a command has as many parameters as it has options
    baseline: Annotated[
        str,
        typer.Argument(
            help="pip, compiled, a wheel, a requirement, a Python, or a saved result (.json).",
        ),
    ],
    candidates: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CANDIDATE...",
            help="The same, one or more. A saved result of a comparison needs none.",
            show_default=False,
        ),
    ] = None,
    scale: shared.Scale_ = Scale.QUICK,
    architectures: shared.Architectures_ = None,
    data: shared.Data_ = Data.AUTO,
    rounds: shared.Rounds_ = shared.ROUNDS,
    threads: shared.Threads_ = None,
    seed: shared.Seed_ = None,
    timeout: shared.Timeout_ = None,
    noise: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            envvar="TFBUILD_NOISE",
            help="Smaller differences count as none: 0.02 is 2 %.",
            rich_help_panel="How to measure",
        ),
    ] = 0.02,
    prices: costs.Prices_ = None,
    provider: costs.Provider_ = None,
    region: costs.Region_ = None,
    price_kind: costs.PriceKind_ = None,
    machine: costs.Machine_ = None,
    wheels_dir: shared.WheelsDir_ = Path("wheels"),
    pip_index: shared.PipIndex_ = None,
    offline: shared.Offline_ = False,
    output_dir: shared.OutputDir_ = Path("results"),
    json_: shared.Json_ = False,
    json_schema: Annotated[bool, schema_option.option(_comparison, _study)] = False,  # noqa: ARG001 - ends early
) -> None:
    """Train the six architectures with several TensorFlows and compare their times.

    Each round starts one fresh process of each, in random order. The verdict comes
    from the interval of the paired ratios; "no difference" is a result too. Saved
    results compare as well, but as sessions apart, which is said. `2017` alone shows
    the table of the study that this continues.

    Example: tfbuild compare pip compiled
    """
    from tfbuild import artifact
    from tfbuild.cli import console, study_shown, tables
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
    specs = [parse(each) for each in (baseline, *(candidates or ()))]
    chosen = costs.chosen(
        prices, provider=provider, region=region, kind=price_kind, machine=machine
    )
    if [spec.kind for spec in specs] == ["study"]:
        study_shown.show(chosen, output_dir, as_json=json_)
        return
    comparison, path = _compare(specs, options, noise)
    # Shown before it is saved: what hours have measured shall not wait for a full disk.
    if json_:
        sys.stdout.write(artifact.to_json(comparison))
        sys.stdout.flush()
        artifact.save(comparison, path)
        return
    out = console.results()
    tables.compared(comparison, out)
    artifact.save(comparison, path)
    tables.files([*map(Path, comparison.samples), path], out)


def _compare(specs: "Sequence[Spec]", options: Options, noise: float) -> tuple["Comparison", Path]:
    """Return the comparison and where it goes."""
    from tfbuild.compare import compare as compare_sides

    if len(specs) == 1:
        return _of_one_file(specs[0], options, noise)
    saved = _saved(specs)
    live = [spec for spec in specs if spec.kind != "result"]
    measured: dict[int, Side] = {}
    samples = [spec.path for spec in specs if spec.path is not None and spec.kind == "result"]
    if live:
        session = shared.measure(live, options, command="compare", against=tuple(saved.values()))
        places = [place for place in range(len(specs)) if place not in saved]
        measured = dict(zip(places, session.sides, strict=True))
        samples = [session.path, *samples]
    first, *others = (saved.get(n) or measured[n] for n in range(len(specs)))
    comparison = compare_sides(first, others, noise=noise, samples=[str(path) for path in samples])
    return comparison, _beside(samples, options)


def _of_one_file(spec: "Spec", options: Options, noise: float) -> tuple["Comparison", Path]:
    from tfbuild.compare import compare as compare_sides
    from tfbuild.errors import UsageError
    from tfbuild.saved import sides

    if spec.kind != "result" or spec.path is None:
        raise UsageError(
            f"{spec.text} is to be compared, but with what?",
            why="A comparison has a baseline and at least one candidate.",
            do=f"tfbuild compare {spec.text} {'pip' if spec.text == 'compiled' else 'compiled'}",
        )
    first, *others = sides(spec.path)
    _tell_notes([first])
    comparison = compare_sides(first, others, noise=noise, samples=[str(spec.path)])
    return comparison, _beside([spec.path], options)


def _saved(specs: "Sequence[Spec]") -> "dict[int, Side]":
    from tfbuild.saved import side

    found = {
        place: side(spec.path)
        for place, spec in enumerate(specs)
        if spec.kind == "result" and spec.path is not None
    }
    _tell_notes(found.values())
    return found


def _tell_notes(sides: "Iterable[Side]") -> None:
    """Say what was said when the saved sides were measured."""
    from tfbuild.cli import console

    for note in dict.fromkeys(note for side in sides for note in side.suite.notes):
        console.say(note)


def _beside(samples: Sequence[Path], options: Options) -> Path:
    """Return where the comparison of these samples goes."""
    stem = "-".join(path.name.removesuffix(".json").removesuffix(".suite") for path in samples)
    if len(stem) > _LONGEST:
        # Cut off, several candidates would share a name.
        digest = hashlib.sha256(stem.encode()).hexdigest()[:8]
        stem = f"{stem[: _LONGEST - 9]}-{digest}"
    return options.output_dir / f"{stem}.comparison.json"
