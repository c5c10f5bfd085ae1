"""The study of 2017 that this project continues: what a K80 and cloud CPUs needed for one epoch.

Max Woolf, "Benchmarking TensorFlow on Cloud CPUs: Cheaper Deep Learning than Cloud GPUs", 2017.
Source and licence of the numbers stand at the head of `data/k80_2017.csv`.
"""

import csv
import functools
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tfbuild import resources

GPU: Final = "k80"
CPU_PIP: Final = "cpu8pip"
CPU_COMPILED: Final = "cpu8cmp"
"""8 vCPU, the study's smallest CPU; its larger ones hardly gained."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run of 2017."""

    architecture: str
    platform: str
    """"k80", or "cpu<vcpus>pip" / "cpu<vcpus>cmp"."""
    device: str
    """"cpu" or "gpu"."""
    vcpus: int
    build: str
    """"pip", the prebuilt wheel, or "compiled"."""
    epochs: int
    total_seconds: float
    """Of all epochs, the first included."""
    epoch_seconds: float
    """Mean over all epochs, validation included."""


@functools.cache
def runs() -> MappingProxyType[tuple[str, str], Run]:
    """Return the runs by (architecture, platform)."""
    text = (resources.DATA / "k80_2017.csv").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    found = [
        Run(
            architecture=row["architecture"],
            platform=row["platform"],
            device=row["device"],
            vcpus=int(row["vcpus"]),
            build=row["build"],
            epochs=int(row["epochs"]),
            total_seconds=float(row["total_seconds"]),
            epoch_seconds=float(row["mean_epoch_seconds"]),
        )
        for row in csv.DictReader(lines)
    ]
    return MappingProxyType({(run.architecture, run.platform): run for run in found})


def epoch_seconds(architecture: str, platform: str) -> float:
    """Return the seconds that one epoch took in 2017."""
    return runs()[architecture, platform].epoch_seconds
