"""TensorFlow releases and how each is built; the facts are in data/releases.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

from tfbuild import resources
from tfbuild.errors import UsageError, suggestion

Kind = Literal["A", "B", "C"]


@dataclass(frozen=True, kw_only=True)
class Release:
    """One TensorFlow release: what its build needs. Field meanings are told in the data file."""

    version: str
    series: str
    kind: Kind
    bazel: str
    pythons: tuple[str, ...]
    compiler: str
    tested: str
    glibc: str
    hermetic_python: bool
    distinct_host_configuration: bool
    build_packages: Mapping[str, tuple[str, ...]]
    """Python version -> requirements that the image's Python needs to build this release."""
    source_sha256: str | None
    """SHA-256 of GitHub's archive of the tag, None where nobody independent has published it."""
    sources: tuple[str, ...]

    @property
    def tag(self) -> str:
        """The git tag: "v2.21.0"."""
        return f"v{self.version}"

    @property
    def hermetic_compiler(self) -> bool:
        """Whether Bazel downloads the compiler itself."""
        return self.compiler.startswith("llvm-")

    def check_python(self, python: str) -> None:
        """Raise UsageError when this release does not support Python `python` ("3.12")."""
        if python in self.pythons:
            return
        raise UsageError(
            f"TensorFlow {self.version} does not support Python {python}.",
            why=f"It supports Python {', '.join(self.pythons)}.",
            do=f"Take --python {self.pythons[-1]}, or another --tensorflow "
            f"(Python {python}: {_releases_for(python)}).",
        )


def known() -> tuple[Release, ...]:
    """Return every release, oldest first."""
    return tuple(_all().values())


def default() -> Release:
    """Return the release that is built when none is named."""
    return _all()[_data()["default"]]


def find(version: str) -> Release:
    """Return the release "2.21.0"; "2.21" means the newest of that series.

    Raises:
        UsageError: there is no such release.
    """
    wanted = version.strip().removeprefix("v")
    if wanted in _all():
        return _all()[wanted]
    series = [release for release in known() if release.series == wanted]
    if series:
        return series[-1]
    versions = [release.version for release in known()]
    raise UsageError(
        f"tfbuild has no recipe for TensorFlow {version!r}.",
        why=f"It knows the releases {versions[0]} to {versions[-1]}.",
        do=suggestion(wanted, versions) or "See them with: tfbuild render --help",
    )


def _releases_for(python: str) -> str:
    fitting = [release.series for release in known() if python in release.pythons]
    if not fitting:
        return "none"
    return fitting[0] if fitting[0] == fitting[-1] else f"{fitting[0]} to {fitting[-1]}"


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((resources.DATA / "releases.toml").read_text(encoding="utf-8"))


@cache
def _all() -> dict[str, Release]:
    releases = {}
    for series in _data()["series"]:
        for version in series["releases"]:
            facts = {**series, **series.get("only", {}).get(version, {})}
            releases[version] = _release(version, facts)
    return releases


def _release(version: str, facts: Mapping[str, Any]) -> Release:
    return Release(
        version=version,
        series=facts["series"],
        kind=cast("Kind", facts["kind"]),
        bazel=facts["bazel"],
        pythons=tuple(facts["pythons"]),
        compiler=facts["compiler"],
        tested=facts["tested"],
        glibc=facts["glibc"],
        hermetic_python=facts.get("hermetic_python", False),
        distinct_host_configuration=facts.get("distinct_host_configuration", False),
        build_packages={
            python: tuple(names) for python, names in facts.get("build_packages", {}).items()
        },
        source_sha256=facts.get("sha256", {}).get(version),
        sources=tuple(facts.get("sources", ())),
    )


def bazel_sha256() -> dict[str, str]:
    """Return Bazel release -> SHA-256 of its Linux x86-64 program, where it is known."""
    return dict(_data().get("bazel_sha256", {}))
