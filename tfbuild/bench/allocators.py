"""Other allocators than the C library's, as they lie on this machine; data/allocators.toml."""

import functools
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tfbuild.bench.setting import SYSTEM_ALLOCATOR
from tfbuild.errors import UsageError
from tfbuild.resources import DATA

ALLOCATORS: Final = ("jemalloc", "tcmalloc", "mimalloc")
_FOLDERS = ("usr/local/lib", "usr/lib", "usr/lib64", "lib", "lib64")


def library(name: str, root: Path = Path("/")) -> Path:
    """Return the shared library of an allocator.

    Args:
        name: one of `ALLOCATORS`.
        root: below which the system's libraries lie.

    Raises:
        UsageError: it is not installed.
    """
    row = _rows()[name]
    for folder, file in itertools.product(_folders(root), row["files"]):
        path: Path = folder / file
        if path.exists():
            return path
    raise UsageError(
        f"The allocator {name} is not installed here.",
        why=f"No {' or '.join(row['files'])} in the system's library folders.",
        do=f"Debian and Ubuntu: apt-get install {row['package']}",
    )


def installed(root: Path = Path("/")) -> tuple[str, ...]:
    """Return the allocators that can be used here, the C library's first."""
    found = [SYSTEM_ALLOCATOR]
    for name in ALLOCATORS:
        try:
            library(name, root)
        except UsageError:
            continue
        found.append(name)
    return tuple(found)


def _folders(root: Path) -> Iterator[Path]:
    for name in _FOLDERS:
        folder = root / name
        yield from sorted(folder.glob("*-linux-gnu*"))
        yield folder


@functools.cache
def _rows() -> Mapping[str, Any]:
    path = DATA / "allocators.toml"
    return MappingProxyType(tomllib.loads(path.read_text(encoding="utf-8")))
