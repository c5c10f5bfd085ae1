"""How much is trained: the study's samples, steps and epochs, and shorter scales of the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

SCALES = ("smoke", "quick", "full")
LEAST_STEPS = 4


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
    whole: bool = False
    """Whether an epoch has whole batches only."""

    def size(self, scale: str) -> Size:
        """Return the amount of work at "smoke", "quick" or "full"."""
        if scale == "full":
            return Size(self.train, self.validation, self.epochs)
        steps = {"quick": self.quick_steps, "smoke": self.smoke_steps}[scale]
        train = min(steps * self.batch, self.train)
        # One epoch: beginning one costs the same at every length, so several short ones would
        # count that more often than the study did.
        return Size(train, round(train * self.validation / self.train), 1)

    def with_batch(self, batch: int | None) -> Workload:
        """Return the same with another number of samples in a batch; None changes nothing.

        Epochs keep their samples, at the shorter scales as far as whole batches allow, but never
        have fewer than four steps: time for beginning one would count for more than in the study.

        Raises:
            ValueError: an epoch has fewer samples.
        """
        if batch is None or batch == self.batch:
            return self
        if batch > self.train:
            raise ValueError(
                f"a batch of {batch} is more than the {self.train} samples of an epoch"
            )

        def steps(own: int) -> int:
            return max(math.ceil(own * self.batch / batch), min(own, LEAST_STEPS))

        return replace(
            self,
            batch=batch,
            train=self.train // batch * batch if self.whole else self.train,
            quick_steps=steps(self.quick_steps),
            smoke_steps=steps(self.smoke_steps),
        )

    def first(self, size: Size) -> Size:
        """Return the very first step: one batch."""
        return Size(min(size.train, self.batch), 0, 1)

    def warmup(self, size: Size) -> Size:
        """Return the untimed work after the first step: one more, and one of validation.

        That traces all graphs. Where an epoch ends with a smaller batch, one of these comes
        besides: TensorFlow traces anew for batches of changing size, and that must not happen on
        the clock.
        """
        return Size(
            min(size.train, self.batch + size.train % self.batch),
            min(size.validation, self.batch + size.validation % self.batch),
            min(1, size.epochs),
        )

    def steps(self, size: Size) -> int:
        """Return the training steps of one epoch."""
        return math.ceil(size.train / self.batch)
