"""Version limits that a TensorFlow wheel forgot; the facts are in data/constraints.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache

from packaging.specifiers import SpecifierSet

from tfbuild.resources import DATA


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One package that must not be newer."""

    requirement: str
    """As pip reads it: "numpy<2"."""
    tensorflow: str
    """The TensorFlow versions meant: ">=2.12,<2.18"."""
    python: str
    """Python versions that have a release beyond the limit: ">=3.9"."""
    breaks: str
    """"import", or "use" where only some functions fail."""
    consequence: str
    """What happens without, in a sentence or two."""
    source: str


def of(tensorflow: str) -> tuple[str, ...]:
    """Return the limits without which a TensorFlow version cannot be imported: ("numpy<2",)."""
    return tuple(each.requirement for each in limits(tensorflow) if each.breaks == "import")


def limits(tensorflow: str) -> tuple[Limit, ...]:
    """Return the limits for a TensorFlow version, with what happens without."""
    return tuple(
        limit
        for limit in _rows()
        if SpecifierSet(limit.tensorflow).contains(tensorflow, prereleases=True)
    )


@cache
def _rows() -> tuple[Limit, ...]:
    path = DATA / "constraints.toml"
    return tuple(
        Limit(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["constraint"]
    )
