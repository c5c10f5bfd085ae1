"""How much is trained: the study's samples, steps and epochs, and shorter scales of the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

SCALES = ("smoke", "quick", "full")


@dataclass(frozen=True)
class Size:
    """One run's amount of work; samples are counted per epoch."""

    train: int
    validation: int
    epochs: int


@dataclass(frozen=True)
class Workload:
    """What the 2017 study trained, and how many steps an epoch has at the shorter scales.

    A shorter scale keeps every shape and the study's ratio of validation to training samples, so
    that its time for one sample stands for the study's epoch.
    """

    name: str
    batch: int
    train: int
    """Samples of one epoch."""
    validation: int
    """Samples evaluated at the end of each epoch, inside its time; 0 for none."""
    epochs: int
    quick_steps: int
    smoke_steps: int

    def size(self, scale: str) -> Size:
        """Return the amount of work at "smoke", "quick" or "full"."""
        if scale == "full":
            return Size(self.train, self.validation, self.epochs)
        steps = {"quick": self.quick_steps, "smoke": self.smoke_steps}[scale]
        train = steps * self.batch
        # One epoch: beginning one costs the same at every length, so several short ones would
        # count that more often than the study did.
        return Size(train, round(train * self.validation / self.train), 1)

    def warmup(self, size: Size) -> Size:
        """Return the untimed work before: two steps and one of validation, enough to trace."""
        return Size(
            min(size.train, 2 * self.batch), min(size.validation, self.batch), min(1, size.epochs)
        )

    def steps(self, size: Size) -> int:
        """Return the training steps of one epoch."""
        return math.ceil(size.train / self.batch)
