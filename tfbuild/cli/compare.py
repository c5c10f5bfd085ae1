"""`tfbuild compare`: which TensorFlow is faster here, by how much, and how sure that is."""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import schema_option, slower_option
from tfbuild.cli.bench_options import Options
from tfbuild.cli.spread import spread

if TYPE_CHECKING:
    from tfbuild.bench.suite import Side
    from tfbuild.compare import Comparison
    from tfbuild.prices import Price
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


@spread(Options)
def compare(  # noqa: PLR0917 - a command has as many parameters as it has options
    ctx: typer.Context,
    options: Options,
    baseline: Annotated[
        str | None,
        typer.Argument(
            help="pip, compiled, a wheel, a requirement, a Python, or a saved result (.json).",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CANDIDATE...",
            help="The same, one or more. A saved result of a comparison needs none, nor does one "
            "TensorFlow in several settings.",
            show_default=False,
        ),
    ] = None,
    fail_if_slower: slower_option.FailIfSlower_ = None,
    strict: slower_option.Strict_ = False,
    _json_schema: Annotated[bool, schema_option.option(_comparison, _study)] = False,
) -> None:
    """Train the six architectures with several TensorFlows and compare their times.

    Each round starts one fresh process of each, in random order. The verdict comes
    from the interval of the paired ratios; "no difference" is a result too. Saved
    results compare as well, but as sessions apart, which is said. `2017` alone shows
    the table of the study that this continues.

    Example: tfbuild compare pip compiled
    """
    from tfbuild.cli import price_options, resumed, study_shown
    from tfbuild.spec import parse

    most = slower_option.limit(fail_if_slower)
    prices = price_options.chosen(options)
    if options.resume is not None:
        resumed.check(ctx, [each for each in (baseline, *(candidates or ())) if each])
        comparison, path = _resumed(options.resume, options, prices)
    else:
        texts = [resumed.needed(baseline, "compare"), *(candidates or ())]
        specs = [parse(each) for each in texts]
        if [spec.kind for spec in specs] == ["study"]:
            study_shown.show(prices, options.output_dir, as_json=options.json)
            return
        comparison, path = _compare(specs, options, prices)
    # Shown before it is saved: what hours have measured shall not wait for a full disk.
    _show(comparison, path, as_json=options.json)
    if most is not None:
        found = slower_option.judged(comparison, most)
        slower_option.act("tfbuild compare", found, most, is_strict=strict)


def _show(comparison: "Comparison", path: Path, *, as_json: bool) -> None:
    from tfbuild import artifact, saved
    from tfbuild.cli import console, tables

    if as_json:
        sys.stdout.write(artifact.to_json(comparison))
        sys.stdout.flush()
        artifact.save(comparison, path)
        return
    out = console.results()
    tables.compared(comparison, out, [saved.load(Path(each)) for each in comparison.samples])
    artifact.save(comparison, path)
    tables.files([*map(Path, comparison.samples), path], out)


def _resumed(file: Path, options: Options, prices: "Sequence[Price]") -> tuple["Comparison", Path]:
    from tfbuild.cli import measuring
    from tfbuild.compare import of_suite

    session = measuring.resume(file, options, command="compare")
    comparison = of_suite(
        session.suite, noise=options.noise, samples=[str(session.path)], prices=prices
    )
    return comparison, _beside([session.path], options)


def _compare(
    specs: "Sequence[Spec]", options: Options, prices: "Sequence[Price]"
) -> tuple["Comparison", Path]:
    """Return the comparison and where it goes."""
    from tfbuild.cli import machine_options, measuring
    from tfbuild.compare import of_suite

    if len(specs) == 1 and specs[0].kind == "result":
        return _of_one_file(specs[0], options, prices)
    if any(spec.kind == "result" for spec in specs):
        return _with_saved(specs, options, prices)
    if len(specs) == 1 and len(machine_options.settings(options)) == 1:
        raise _alone(specs[0])
    session = measuring.measure(specs, options, command="compare")
    comparison = of_suite(
        session.suite, noise=options.noise, samples=[str(session.path)], prices=prices
    )
    return comparison, _beside([session.path], options)


def _with_saved(
    specs: "Sequence[Spec]", options: Options, prices: "Sequence[Price]"
) -> tuple["Comparison", Path]:
    """Compare sessions apart: some saved, and at most one that is measured now."""
    from tfbuild import stats
    from tfbuild.cli import measuring
    from tfbuild.compare import compare as compare_sides

    saved = _saved(specs)
    live = [spec for spec in specs if spec.kind != "result"]
    measured: dict[int, Side] = {}
    samples = [spec.path for spec in specs if spec.path is not None and spec.kind == "result"]
    if live:
        _one_setting(options)
        against = tuple(saved.values())
        session = measuring.measure(live, options, command="compare", against=against)
        places = [place for place in range(len(specs)) if place not in saved]
        measured = dict(zip(places, session.sides, strict=True))
        samples = [session.path, *samples]
    first, *others = (saved.get(n) or measured[n] for n in range(len(specs)))
    noise = stats.NOISE if options.noise is None else options.noise
    comparison = compare_sides(
        first, others, noise=noise, samples=[str(path) for path in samples], prices=prices
    )
    return comparison, _beside(samples, options)


def _one_setting(options: Options) -> None:
    from tfbuild.cli import machine_options
    from tfbuild.errors import UsageError

    if len(machine_options.settings(options)) > 1:
        raise UsageError(
            "A saved result is compared with one setting, and several are asked for.",
            do="Measure them in one session without the saved result, or name one value of each.",
        )


def _alone(spec: "Spec") -> Exception:
    from tfbuild.errors import UsageError

    return UsageError(
        f"{spec.text} is to be compared, but with what?",
        why="A comparison has a baseline and at least one candidate, or one TensorFlow in "
        "several settings.",
        do=f"tfbuild compare {spec.text} {'pip' if spec.text == 'compiled' else 'compiled'}, or "
        f"tfbuild compare {spec.text} --onednn both",
    )


def _of_one_file(
    spec: "Spec", options: Options, prices: "Sequence[Price]"
) -> tuple["Comparison", Path]:
    from tfbuild.compare import of_suite
    from tfbuild.saved import sides

    if spec.path is None:
        raise _alone(spec)
    first, *_ = sides(spec.path)
    _tell_notes([first])
    comparison = of_suite(first.suite, noise=options.noise, samples=[str(spec.path)], prices=prices)
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
