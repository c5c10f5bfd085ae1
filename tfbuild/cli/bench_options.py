"""What `bench` and `compare` share: options, and the way from specs to samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tfbuild.bench import Plan
    from tfbuild.bench.suite import Side
    from tfbuild.choice import Choice
    from tfbuild.progress import Progress
    from tfbuild.spec import Spec

ROUNDS = 4
"""Makes a comparison of two wheels at scale quick last about six minutes on two cores."""

_WHAT = "What to train"
_HOW = "How to measure"
_FROM = "Where things come from"


class Scale(StrEnum):
    """As `tfbuild.bench.Scale`, which would be slow to import for --help."""

    SMOKE = "smoke"
    QUICK = "quick"
    FULL = "full"


class Data(StrEnum):
    """As `tfbuild.bench.DataMode`."""

    AUTO = "auto"
    REAL = "real"
    GENERATED = "generated"


Scale_ = Annotated[
    Scale,
    typer.Option(
        envvar="TFBUILD_SCALE",
        help="smoke: to see that it runs; quick: minutes; full: the study's own, hours.",
        rich_help_panel=_WHAT,
    ),
]
Architectures_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_ARCHITECTURES",
        metavar="NAME,...",
        help="Only these of the six, such as mnist_mlp,mnist_cnn.",
        show_default="all six",
        rich_help_panel=_WHAT,
    ),
]
Data_ = Annotated[
    Data,
    typer.Option(
        envvar="TFBUILD_DATA",
        help="real: the study's; generated: same shapes; auto: real where it can be had.",
        rich_help_panel=_WHAT,
    ),
]
Rounds_ = Annotated[
    int,
    typer.Option(
        min=1,
        envvar="TFBUILD_ROUNDS",
        help="Fresh processes of each environment. More rounds, narrower intervals.",
        rich_help_panel=_HOW,
    ),
]
Threads_ = Annotated[
    int | None,
    typer.Option(
        min=1,
        envvar="TFBUILD_THREADS",
        help="Threads of every process.",
        show_default="the CPUs that may be used",
        rich_help_panel=_HOW,
    ),
]
Seed_ = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=2**31 - 1_000_000,
        envvar="TFBUILD_SEED",
        help="Repeats the random orders and weights of another session.",
        show_default="drawn, and recorded",
        rich_help_panel=_HOW,
    ),
]
Timeout_ = Annotated[
    float | None,
    typer.Option(
        min=1,
        envvar="TFBUILD_TIMEOUT",
        metavar="SECONDS",
        help="Longest time for one process.",
        show_default="one hour; none at scale full",
        rich_help_panel=_HOW,
    ),
]
OutputDir_ = Annotated[
    Path,
    typer.Option(
        "--output-dir",
        "-o",
        envvar="TFBUILD_RESULTS_DIR",
        help="Folder for the JSON with all samples.",
    ),
]
WheelsDir_ = Annotated[
    Path,
    typer.Option(
        envvar="TFBUILD_WHEELS_DIR",
        help="Folder of compiled wheels, for the spec `compiled`.",
        rich_help_panel=_FROM,
    ),
]
PipIndex_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_PIP_INDEX",
        metavar="URL",
        help="Package index in PyPI's place.",
        show_default=False,
        rich_help_panel=_FROM,
    ),
]
Offline_ = Annotated[
    bool,
    typer.Option(
        "--offline",
        envvar="TFBUILD_OFFLINE",
        help="Download nothing; use what is cached.",
        rich_help_panel=_FROM,
    ),
]
Json_ = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one command, checked by Typer only."""

    scale: Scale
    architectures: str | None
    data: Data
    rounds: int
    threads: int | None
    seed: int | None
    timeout: float | None
    output_dir: Path
    wheels_dir: Path
    pip_index: str | None
    offline: bool
    json: bool


@dataclass(frozen=True, kw_only=True)
class Session:
    """What was measured now, and where it lies."""

    sides: "tuple[Side, ...]"
    path: Path


def plan(options: Options) -> "Plan":
    """Return the plan that the options ask for.

    Raises:
        UsageError: an architecture is unknown or named twice.
    """
    import random

    from tfbuild import bench

    seed, timeout = options.seed, options.timeout
    if timeout is None and options.scale is not Scale.FULL:
        timeout = 3600.0
    return bench.Plan(
        rounds=options.rounds,
        scale=bench.Scale(options.scale),
        architectures=_architectures(options.architectures),
        seed=random.SystemRandom().randrange(1_000_000) if seed is None else seed,
        data=bench.DataMode(options.data),
        timeout=timeout,
    )


def measure(
    specs: Sequence["Spec"], options: Options, *, command: str, against: Sequence["Side"] = ()
) -> Session:
    """Make an environment for each spec, run all rounds, and save every sample.

    The sentence about a wheel that stands in for a compiled one is said before anything else.
    What could not be compared with the saved sides `against` is refused before that.
    """
    from tfbuild import artifact, bench, environment, host, machine, signals
    from tfbuild.bench.setting import with_threads
    from tfbuild.bench.suite import Side
    from tfbuild.choice import choose
    from tfbuild.cli import console
    from tfbuild.compare import check
    from tfbuild.installer import Installer

    cpu = host.detect()
    here = machine.read(cpu)
    asked = plan(options)
    for side in against:
        check(side.who.spec, side.suite.plan, specs[0].text, asked)
    installer = Installer(index=options.pip_index, offline=options.offline)
    chosen = choose(specs, environment.here(cpu, options.wheels_dir, installer))
    if chosen.first_line:
        _first(chosen.first_line, as_json=options.json)
    for note in chosen.notes:
        console.say(note)
    first = [chosen.first_line] if chosen.first_line else []
    name = _name(command, chosen.choices)
    with (
        signals.stoppable(),
        artifact.reserved(options.output_dir, name, ".suite.json") as path,
        console.progress() as progress,
    ):
        environments = [
            environment.prepare(each, installer, cpu, progress) for each in chosen.choices
        ]
        setting = with_threads(options.threads or here.threads)
        suite = bench.measure(
            [bench.Contender(environment=each, setting=setting) for each in environments],
            asked,
            bench.Around(
                here=here,
                data_folder=_data(asked, options, progress),
                path=path,
                notes=(*first, *chosen.notes),
            ),
            progress,
        )
    sides = tuple(Side(suite=suite, subject=each) for each in range(len(specs)))
    return Session(sides=sides, path=path)


def _data(asked: "Plan", options: Options, progress: "Progress") -> Path | None:
    from tfbuild import datasets

    return datasets.prepare(
        asked.architectures,
        mode=options.data.value,
        scale=asked.scale,
        offline=options.offline,
        progress=progress,
    )


def _first(line: str, *, as_json: bool) -> None:
    from tfbuild.cli import console

    if as_json:
        console.say(line)
    else:
        typer.echo(line + "\n")


def _architectures(text: str | None) -> tuple[str, ...]:
    from tfbuild.bench import ARCHITECTURES
    from tfbuild.errors import UsageError, suggestion

    if text is None:
        return ARCHITECTURES
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in ARCHITECTURES:
            raise UsageError(
                f"There is no architecture {name!r}.",
                why=f"The six are {', '.join(ARCHITECTURES)}.",
                do=suggestion(name, list(ARCHITECTURES)),
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            "--architectures names " + ("one twice." if names else "none."),
            do=f"Example: --architectures {ARCHITECTURES[0]},{ARCHITECTURES[1]}",
        )
    return tuple(names)


def _name(command: str, choices: Sequence["Choice"]) -> str:
    """Return "20261130-081502-compare-tensorflow-cpu-2.8.4-intel-tensorflow-2.8.0"."""
    import re

    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    whos = "-".join(f"{each.distribution}-{each.version}" for each in choices[:2])
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", f"{stamp}-{command}-{whos}")[:120]
