"""Which setting is fastest here: searched in paired rounds, confirmed in fresh ones.

`candidates` says what may be tried, `search` chooses, `run` confirms the choice against the default
in rounds that had no part in choosing it, `advice` says what to set.
"""

from tfbuild.tune.candidates import DIMENSIONS
from tfbuild.tune.model import Step, Trial, Tuning
from tfbuild.tune.run import Task, tune
from tfbuild.tune.stored import load

__all__ = ["DIMENSIONS", "Step", "Task", "Trial", "Tuning", "load", "tune"]
