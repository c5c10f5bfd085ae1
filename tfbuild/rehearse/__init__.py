"""The whole line in small: a bundled workspace, shaped like TensorFlow's, on the real engine."""

from tfbuild.rehearse.line import Rehearsal, bazel_for, copy_workspace, rehearse
from tfbuild.rehearse.steps import Step

__all__ = ["Rehearsal", "Step", "bazel_for", "copy_workspace", "rehearse"]
