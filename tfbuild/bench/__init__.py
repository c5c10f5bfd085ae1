"""Trains the six architectures in fresh processes inside measured environments.

`suite` holds the values, `manager` runs the rounds in the order of `schedule`, `session` starts the
contenders' processes, `worker` talks with one and `listener` takes its answers, `failure` says why
one died. The script that runs inside an environment lies in `benchmarks/`.
"""

from tfbuild.bench.manager import Around, measure, resume
from tfbuild.bench.session import Contender
from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import (
    ARCHITECTURES,
    DataMode,
    Plan,
    Run,
    Sample,
    Scale,
    Script,
    Subject,
    Suite,
)

__all__ = [
    "ARCHITECTURES",
    "Around",
    "Contender",
    "DataMode",
    "Plan",
    "Run",
    "Sample",
    "Scale",
    "Script",
    "Setting",
    "Subject",
    "Suite",
    "measure",
    "resume",
]
