"""How close to the machine's limit a training comes: operations by formula over a measured peak."""

from tfbuild.roofline.achieved import Achieved

__all__ = ["Achieved"]
