"""Trains the six architectures in fresh processes inside measured environments.

`suite` holds the values, `manager` runs the rounds, `worker` talks with one process, `failure`
says why one died. The script that runs inside an environment lies in `benchmarks/`.
"""

from tfbuild.bench.manager import Contender, measure
from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import ARCHITECTURES, DataMode, Plan, Run, Sample, Scale, Subject, Suite

__all__ = [
    "ARCHITECTURES",
    "Contender",
    "DataMode",
    "Plan",
    "Run",
    "Sample",
    "Scale",
    "Setting",
    "Subject",
    "Suite",
    "measure",
]
