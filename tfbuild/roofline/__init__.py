"""How close to the machine's limit a training comes: operations by formula over a measured peak."""

from tfbuild.roofline.achieved import LEAST_COVERAGE, Achieved, of

__all__ = ["LEAST_COVERAGE", "Achieved", "of"]
