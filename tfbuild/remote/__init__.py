"""Beyond one machine: Bazel's remote cache and remote execution, as the setup of one run.

Nothing of it changes the wheel, so nothing of it is in a recipe. Headers and keys are secrets: they
come from files and variables, and travel in files that only Bazel reads.
"""

from tfbuild.remote.checks import make, warnings
from tfbuild.remote.model import EXECUTES, Remote

__all__ = ["EXECUTES", "Remote", "make", "warnings"]
