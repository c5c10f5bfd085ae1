"""A profile of the wheel's own training: an instrumented wheel, counts, a second compile.

Experimental. What it gains is not claimed but has to be measured, with `tfbuild compare`.

Bazel's own options for this (`--fdo_instrument`, `--fdo_optimize`) have served Clang only since
Bazel 1: with GCC it asks for llvm-profdata and stops (bazelbuild/bazel#10881, #5960). Plain
compiler flags serve both, in every release of Bazel from 4.2 to 7.4.
"""

from tfbuild.pgo.line import Made, cached, check_host, final_label, profile
from tfbuild.pgo.train import Architectures, Numbers, Trainer, trainer_for

__all__ = [
    "Architectures",
    "Made",
    "Numbers",
    "Trainer",
    "cached",
    "check_host",
    "final_label",
    "profile",
    "trainer_for",
]
