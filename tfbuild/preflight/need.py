"""What a build needs of disk and memory.

For TensorFlow these are planning figures, from others' builds. A small source tree, as that of a
rehearsal, needs what a Bazel build needs at all.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import plan

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

GIB = 1 << 30
# TensorFlow 2.8 to 2.21 have 20,000 files and more; their archives 60 MB and more.
_FEW_FILES = 2000
_SMALL_ARCHIVE = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Need:
    """Bytes that a build takes, by what takes them."""

    compile: int
    """Cache volume and output of the compile."""
    image: int
    """The toolchain image, while it is not there."""
    wheel: int
    """The wheel, while it is labelled, twice."""
    log: int
    context: int
    """Copies of the source on their way to the engine."""
    per_job: int
    """Memory of each compilation."""
    base: int
    """Memory of Bazel and the linker."""

    def memory(self, jobs: int) -> int:
        """Return the memory for that many compilations at a time."""
        return self.base + jobs * self.per_job


def of(recipe: "Recipe | None") -> Need:
    """Return what the recipe's build needs; without one, what TensorFlow's needs."""
    source = recipe.archives.get("source.tar") if recipe is not None else None
    size = _size(source) if source is not None else None
    if size is not None:
        return Need(
            compile=GIB,
            image=2 * GIB,
            wheel=64 << 20,
            log=16 << 20,
            context=3 * size + (16 << 20),
            per_job=GIB // 2,
            base=GIB,
        )
    image = 4 * GIB
    return Need(
        compile=plan.DISK_GB * GIB - image,
        image=image,
        wheel=GIB,
        log=256 << 20,
        context=2 * GIB if source is not None else 256 << 20,
        per_job=plan.MEMORY_PER_JOB_GB * GIB,
        base=plan.MEMORY_BASE_GB * GIB,
    )


def _size(source: Path) -> int | None:
    """Return the bytes of a tree or archive that is too small to be TensorFlow's, else None."""
    if source.is_file():
        size = source.stat().st_size
        return size if size < _SMALL_ARCHIVE else None
    total = count = 0
    for folder, _, files in os.walk(source):
        count += len(files)
        if count > _FEW_FILES:
            return None
        total += sum((Path(folder) / name).lstat().st_size for name in files)
    return total
