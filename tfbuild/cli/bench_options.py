"""What `bench` and `compare` share: their options."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tfbuild.cli import amounts
from tfbuild.cli import machine_options as placed
from tfbuild.cli import price_options as costs

ROUNDS = 6
"""Makes a comparison of two wheels at scale quick last about nine minutes on two cores. With fewer,
no difference is called one in more than 5 % of sessions beside heavy load."""
MOST_ROUNDS = 40
TIMEOUT = 3600.0
"""Seconds for one process, where it is known how long that should take."""
LONGEST = 10**9
WHEELS = Path("wheels")
RESULTS = Path("results")

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
Workload_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_WORKLOAD",
        metavar="'SCRIPT.py ARG...'",
        help="Train your own script in place of the six; benchmarks/README.md has the contract.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
Rounds_ = Annotated[
    int | None,
    typer.Option(
        min=1,
        envvar="TFBUILD_ROUNDS",
        help="Fresh processes of each contender. More rounds, narrower intervals.",
        show_default=f"{ROUNDS}, or what --precision takes",
        rich_help_panel=_HOW,
    ),
]
Precision_ = Annotated[
    float | None,
    typer.Option(
        parser=amounts.precision,
        envvar="TFBUILD_PRECISION",
        metavar="SHARE",
        help="Go on until each ratio is known to within this, such as 2%, or its verdict is clear.",
        show_default=False,
        rich_help_panel=_HOW,
    ),
]
MaxRounds_ = Annotated[
    int | None,
    typer.Option(
        min=2,
        envvar="TFBUILD_MAX_ROUNDS",
        help="The most rounds that --precision or --max-time may take.",
        show_default=str(MOST_ROUNDS),
        rich_help_panel=_HOW,
    ),
]
MaxTime_ = Annotated[
    float | None,
    typer.Option(
        parser=amounts.seconds,
        envvar="TFBUILD_MAX_TIME",
        metavar="TIME",
        help="Begin no round that would end after 90s, 30m, 2h.",
        show_default=False,
        rich_help_panel=_HOW,
    ),
]
Noise_ = Annotated[
    float | None,
    typer.Option(
        parser=amounts.share,
        envvar="TFBUILD_NOISE",
        metavar="SHARE",
        help="Smaller differences count as none.",
        show_default="2%",
        rich_help_panel=_HOW,
    ),
]
Control_ = Annotated[
    bool | None,
    typer.Option(
        "--control/--no-control",
        envvar="TFBUILD_CONTROL",
        help="Measure the first once more, to see what this machine shows where nothing differs.",
        show_default="at scale full",
        rich_help_panel=_HOW,
    ),
]
Roofline_ = Annotated[
    bool | None,
    typer.Option(
        "--roofline/--no-roofline",
        envvar="TFBUILD_ROOFLINE",
        help="Measure this machine's peak too, and say how close each training comes to it.",
        show_default="except at scale smoke",
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


def _timeout(seconds: float | None) -> float | None:
    """Refuse what no timer takes; "nan" is neither too little nor too much."""
    if seconds is not None and not 1 <= seconds <= LONGEST:
        raise typer.BadParameter(f"{seconds:g} is no number of seconds from 1 to {LONGEST:,}.")
    return seconds


Timeout_ = Annotated[
    float | None,
    typer.Option(
        callback=_timeout,
        envvar="TFBUILD_TIMEOUT",
        metavar="SECONDS",
        help="Longest time for one process.",
        show_default="one hour; none at scale full or with --workload",
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
Resume_ = Annotated[
    Path | None,
    typer.Option(
        envvar="TFBUILD_RESUME",
        metavar="RESULT.suite.json",
        help="Go on with a session that was interrupted: same plan, same order, same machine.",
        show_default=False,
    ),
]
Json_ = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one command, checked by Typer only. The order is that of --help."""

    scale: Scale_ = Scale.QUICK
    architectures: Architectures_ = None
    data: Data_ = Data.AUTO
    workload: Workload_ = None
    rounds: Rounds_ = None
    precision: Precision_ = None
    max_rounds: MaxRounds_ = None
    max_time: MaxTime_ = None
    noise: Noise_ = None
    control: Control_ = None
    roofline: Roofline_ = None
    seed: Seed_ = None
    timeout: Timeout_ = None
    cpus: placed.Cpus_ = None
    vcpus: placed.VCpus_ = None
    affinity: placed.Affinity_ = None
    numa_node: placed.NumaNode_ = None
    threads: placed.Threads_ = None
    intra_threads: placed.IntraThreads_ = None
    inter_threads: placed.InterThreads_ = None
    omp_threads: placed.OmpThreads_ = None
    onednn: placed.OneDnn_ = placed.OneDnn.DEFAULT
    batch: placed.Batch_ = None
    xla: placed.Xla_ = placed.Switch.OFF
    allocator: placed.Allocator_ = None
    prices: costs.Prices_ = None
    provider: costs.Provider_ = None
    region: costs.Region_ = None
    price_kind: costs.PriceKind_ = None
    machine: costs.Machine_ = None
    wheels_dir: WheelsDir_ = WHEELS
    pip_index: PipIndex_ = None
    offline: Offline_ = False
    resume: Resume_ = None
    output_dir: OutputDir_ = RESULTS
    json: Json_ = False
