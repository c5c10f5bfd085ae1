"""The TensorFlow that is installed in an environment, and what it was compiled with.

Only names of folders and small files are read: TensorFlow itself is never imported.
"""

import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tfbuild.resources import DATA

# Distributions that bring the package `tensorflow`; several may stand beside each other, since
# `tensorflow` may be no more than a name that depends on another.
_NAMES = frozenset(
    {
        "intel_tensorflow",
        "intel_tensorflow_avx512",
        "tensorflow",
        "tensorflow_cpu",
        "tensorflow_cpu_aws",
        "tensorflow_gpu",
        "tensorflow_intel",
        "tensorflow_macos",
        "tensorflow_rocm",
        "tf_nightly",
        "tf_nightly_cpu",
    }
)
_RECORD = "tfbuild.json"
_BASELINE = {"sse", "sse2"}
_FROM_AN_INDEX = ("pip", "uv", "poetry", "pdm")


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A TensorFlow distribution in an environment."""

    distribution: str
    version: str
    folder: Path
    """The `.dist-info` folder."""
    features: frozenset[str] | None
    """What its compiler was allowed to use, Linux spelling; None where nobody knows."""
    evidence: str
    """Where the features are known from, or why they are not."""


def find() -> Installed | None:
    """Return the TensorFlow of the current environment, or None."""
    for folder in site_folders():
        if found := find_in(folder):
            return found
    return None


def site_folders() -> list[Path]:
    """Return where the current environment keeps packages, most telling first.

    The current environment is $VIRTUAL_ENV, else $CONDA_PREFIX, else the one that runs tfbuild.
    """
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        if prefix and Path(prefix) != Path(sys.prefix):
            return sorted(Path(prefix).glob("lib*/python3*/site-packages"))
        if prefix:
            break
    return [Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]


def find_in(folder: Path) -> Installed | None:
    """Return the TensorFlow in one site-packages folder, or None."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return None
    if "tensorflow" not in names:
        return None
    found = []
    for name in names:
        stem, _, version = name.removesuffix(".dist-info").partition("-")
        if name.endswith(".dist-info") and version and stem.lower() in _NAMES:
            found.append(_installed(folder / name, stem.replace("_", "-").lower(), version))
    # The one that is known beats a bare name that only depends on another.
    return max(found, key=lambda one: one.features is not None, default=None)


def _installed(folder: Path, distribution: str, version: str) -> Installed:
    features, evidence = _features(folder, distribution, version)
    return Installed(
        distribution=distribution,
        version=version,
        folder=folder,
        features=features,
        evidence=evidence,
    )


def _features(folder: Path, distribution: str, version: str) -> tuple[frozenset[str] | None, str]:
    record = _own_record(folder)
    if record is not None:
        return record
    if "+" in version or (folder / "direct_url.json").exists():
        return None, "it does not come from an index, so its flags are not on record"
    if _text(folder / "INSTALLER").strip() not in _FROM_AN_INDEX:
        return None, "it was not installed from PyPI, so its flags are not on record"
    tags = [line for line in _text(folder / "WHEEL").splitlines() if line.startswith("Tag:")]
    if not any("linux" in tag and tag.endswith("x86_64") for tag in tags):
        return (
            None,
            "it is not a wheel for Linux on x86-64, the only ones whose flags are on record",
        )
    known = _official(distribution, version) or _published(distribution, version)
    return known or (None, "nobody has recorded how this release was compiled")


def _official(distribution: str, version: str) -> tuple[frozenset[str], str] | None:
    for build in _builds():
        if distribution in build["distributions"] and _within(version, build):
            return frozenset(build["features"].split()), str(build["how"])
    return None


def _published(distribution: str, version: str) -> tuple[frozenset[str], str] | None:
    from tfbuild import published

    known = published.find(distribution)
    if known is None or version not in known.releases:
        return None
    return known.requires | _BASELINE, f"{known.by} compiled it from source"


def _own_record(folder: Path) -> tuple[frozenset[str], str] | None:
    """Return what a wheel that tfbuild compiled says about itself."""
    if not (folder / _RECORD).exists():
        return None
    import json

    try:
        record = json.loads(_text(folder / _RECORD))
        requires = frozenset(str(name) for name in record["requires"])
        return requires, f"tfbuild compiled it for {record['target']}"
    except (ValueError, KeyError, TypeError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _within(version: str, build: dict[str, Any]) -> bool:
    here = _numbers(version)
    return _numbers(build["from"]) <= here < _numbers(build["below"])


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version: enough to order TensorFlow's releases."""
    digits = "".join(sign if sign.isdecimal() else " " for sign in version)
    return tuple(int(part) for part in digits.split()[:2])


@cache
def _builds() -> list[dict[str, Any]]:
    import tomllib

    path = DATA / "known_builds.toml"
    builds: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["build"]
    return builds
