"""Trains the six architectures in fresh processes inside measured environments.

`suite` holds the values, `manager` runs the rounds, `worker` talks with one process, `failure`
says why one died. The script that runs inside an environment lies in `benchmarks/`.
"""

from tfbuild.bench.manager import measure
from tfbuild.bench.suite import ARCHITECTURES, DataMode, Plan, Run, Sample, Scale, Subject, Suite

__all__ = [
    "ARCHITECTURES",
    "DataMode",
    "Plan",
    "Run",
    "Sample",
    "Scale",
    "Subject",
    "Suite",
    "measure",
]
