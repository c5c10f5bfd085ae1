"""Version limits that a TensorFlow wheel forgot; the facts are in data/constraints.toml."""

import tomllib
from functools import cache
from typing import Any

from packaging.specifiers import SpecifierSet

from tfbuild.resources import DATA


def of(tensorflow: str) -> tuple[str, ...]:
    """Return the limits for a TensorFlow version: ("numpy<2",)."""
    limits: list[str] = []
    for row in _rows():
        if SpecifierSet(row["tensorflow"]).contains(tensorflow, prereleases=True):
            limits += row["limits"]
    return tuple(limits)


@cache
def _rows() -> list[dict[str, Any]]:
    path = DATA / "constraints.toml"
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["constraint"]
    return rows
