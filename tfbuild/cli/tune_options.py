"""The options of `tune`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tfbuild.cli import amounts
from tfbuild.cli import bench_options as shared
from tfbuild.cli import machine_options as placed

ROUNDS = 10
"""Enough for an interval of a few per cent at the noise of a shared machine."""

_HOW = "How to search"

Dimensions_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_DIMENSIONS",
        metavar="NAME,...",
        help="What to search: cpus, threads, inter, intra, omp, onednn, xla, allocator, batch.",
        show_default="all but batch, which changes what is learned",
        rich_help_panel=_HOW,
    ),
]
Rounds_ = Annotated[
    int,
    typer.Option(
        min=2,
        envvar="TFBUILD_ROUNDS",
        help="Fresh pairs of processes that confirm the choice. The search itself takes fewer.",
        rich_help_panel=_HOW,
    ),
]
MaxTime_ = Annotated[
    float | None,
    typer.Option(
        parser=amounts.seconds,
        envvar="TFBUILD_MAX_TIME",
        metavar="TIME",
        help="Search for so long, 30m or 2h; a part of it is kept to confirm.",
        show_default=False,
        rich_help_panel=_HOW,
    ),
]
Resume_ = Annotated[
    Path | None,
    typer.Option(
        envvar="TFBUILD_RESUME",
        metavar="RESULT.tuning.json",
        help="Go on with a search that was interrupted; finished steps are not repeated.",
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """The options of the command, checked by Typer only. The order is that of --help."""

    scale: shared.Scale_ = shared.Scale.QUICK
    architectures: shared.Architectures_ = None
    data: shared.Data_ = shared.Data.AUTO
    workload: shared.Workload_ = None
    dimensions: Dimensions_ = None
    rounds: Rounds_ = ROUNDS
    max_time: MaxTime_ = None
    noise: shared.Noise_ = None
    seed: shared.Seed_ = None
    timeout: shared.Timeout_ = None
    cpus: placed.Cpus_ = None
    vcpus: placed.VCpus_ = None
    affinity: placed.Affinity_ = None
    numa_node: placed.NumaNode_ = None
    wheels_dir: shared.WheelsDir_ = shared.WHEELS
    pip_index: shared.PipIndex_ = None
    offline: shared.Offline_ = False
    resume: Resume_ = None
    output_dir: shared.OutputDir_ = shared.RESULTS
    json: shared.Json_ = False
