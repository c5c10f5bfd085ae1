"""Wheels on PyPI that others compiled from source; the facts are in data/published_wheels.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from packaging.version import Version

from tfbuild.host import Host
from tfbuild.resources import DATA


@dataclass(frozen=True, kw_only=True)
class Release:
    """One release of a published distribution."""

    version: str
    pythons: tuple[str, ...]
    """Python versions that have a wheel: ("3.9", "3.10")."""
    size: int
    """A wheel's size in megabytes."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A distribution that somebody compiled from source."""

    distribution: str
    architecture: str
    by: str
    requires: frozenset[str]
    note: str
    """What to know before reading a speedup; may be empty."""
    source: str
    releases: Mapping[str, Release]

    def missing(self, host: Host) -> list[str]:
        """Return the features that the host lacks; a foreign architecture lacks all."""
        if host.architecture != self.architecture:
            return [self.architecture]
        return sorted(self.requires - host.features)

    def newest_first(self) -> list[Release]:
        """Return the releases, the newest first."""
        return sorted(self.releases.values(), key=lambda one: Version(one.version), reverse=True)


def all_() -> tuple[Published, ...]:
    """Return every known distribution, best first."""
    return tuple(_published(row) for row in _data()["wheel"])


def find(distribution: str) -> Published | None:
    """Return the distribution of that (normalised) name, or None."""
    return next((one for one in all_() if one.distribution == distribution), None)


def official(architecture: str) -> str:
    """Return the official CPU distribution for an architecture."""
    names: dict[str, str] = _data()["official"]
    return names.get(architecture, "tensorflow")


def _published(row: dict[str, Any]) -> Published:
    return Published(
        distribution=row["distribution"],
        architecture=row["architecture"],
        by=row["by"],
        requires=frozenset(row["requires"].split()),
        note=row["note"],
        source=row["source"],
        releases={
            version: Release(
                version=version, pythons=tuple(one["pythons"].split()), size=one["size"]
            )
            for version, one in row["releases"].items()
        },
    )


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((DATA / "published_wheels.toml").read_text(encoding="utf-8"))
