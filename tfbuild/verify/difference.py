"""How far two wheels' tensors are apart, and how far rounding alone may take them."""

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far a tensor may be from that of the reference."""

    norm: float
    """Norm of the difference, divided by the reference's norm."""
    peak: float
    """Largest difference, divided by the reference's root mean square."""


TOLERANCES = {
    "weights": Tolerance(norm=1e-6, peak=1e-5),
    "loss": Tolerance(norm=1e-5, peak=1e-5),
    "predictions": Tolerance(norm=1e-5, peak=1e-4),
    "gradients": Tolerance(norm=1e-2, peak=1e-1),
    # The first step of RMSprop and Adam goes by the sign of a gradient, so one of almost nothing
    # that turns its sign moves its weight by all of a step, the other way.
    "updates": Tolerance(norm=2e-2, peak=math.inf),
    "answers": Tolerance(norm=1e-4, peak=1e-3),
}
"""By what is compared, in the order in which a step computes it."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How far one tensor is from the reference's."""

    architecture: str
    kind: str
    """Key of TOLERANCES."""
    tensor: str
    """Which one of its kind: a variable's path, or ""."""
    norm: float
    peak: float

    @property
    def is_tolerable(self) -> bool:
        """Whether rounding explains it. NaN never is."""
        most = TOLERANCES[self.kind]
        return self.norm <= most.norm and self.peak <= most.peak

    @property
    def sentence(self) -> str:
        """It in words, with what is tolerated."""
        most = TOLERANCES[self.kind]
        what = f"{self.kind} of {self.tensor}" if self.tensor else self.kind
        return (
            f"{self.architecture}, {what}: off by {self.norm:.1e}, at one place by "
            f"{self.peak:.1e} (tolerated: {most.norm:.0e}, {most.peak:.0e})"
        )


def differences(architecture: str, wheel: Path, reference: Path) -> tuple[Difference, ...]:
    """Return how far each tensor in one file is from that in another.

    Args:
        architecture: whose tensors they are.
        wheel: what benchmarks/suite/one_step.py computed, saved by numpy.
        reference: the same from the wheel to compare with.

    Raises:
        OSError: a file is not there or is no such file.
    """
    try:
        # numpy leaves a file of its own open where that is damaged.
        with (
            wheel.open("rb") as our_file,
            reference.open("rb") as its_file,
            np.load(our_file) as ours,
            np.load(its_file) as its,
        ):
            return tuple(
                _difference(architecture, key, ours[key] if key in ours.files else None, its[key])
                for key in its.files
            )
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise OSError(f"The numbers of {architecture} are damaged: {error}") from error


def _difference(
    architecture: str, key: str, ours: NDArray[np.float32] | None, its: NDArray[np.float32]
) -> Difference:
    kind, _, rest = key.partition("/")
    norm = peak = math.nan
    if ours is not None and ours.shape == its.shape:
        away = np.abs(ours.astype(np.float64) - its)
        size = float(np.linalg.norm(its.astype(np.float64)))
        worst = float(away.max())
        norm = peak = worst and math.inf
        if size:
            norm = float(np.linalg.norm(away)) / size
            peak = worst / (size / math.sqrt(its.size))
    return Difference(
        architecture=architecture,
        kind=kind,
        tensor=rest.partition("/")[2],
        norm=norm,
        peak=peak,
    )
