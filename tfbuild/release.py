"""TensorFlow releases and how each is built; the facts are in data/releases.toml."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

from tfbuild import resources
from tfbuild.errors import UsageError

Kind = Literal["A", "B", "C"]


@dataclass(frozen=True, kw_only=True)
class Release:
    """One TensorFlow release: what its build needs. The data file says what each field means."""

    version: str
    """"2.21.0"."""
    series: str
    """"2.21"."""
    kind: Kind
    bazel: str
    pythons: tuple[str, ...]
    compiler: str
    aarch64_compiler: str
    """In place of `compiler` on 64-bit Arm."""
    tested: str
    glibc: str
    hermetic_python: tuple[str, ...]
    distinct_host_configuration: bool
    python_packages: Mapping[str, tuple[str, ...]]
    """Python version -> requirements of the image's Python, as pip reads them."""
    source_sha256: str
    sources: tuple[str, ...]
    """Where the facts come from, as names in the data file's [sources]."""

    @property
    def tag(self) -> str:
        """The git tag: "v2.21.0"."""
        return f"v{self.version}"

    @property
    def archive(self) -> str:
        """The address of the tag's source archive."""
        return f"https://github.com/tensorflow/tensorflow/archive/refs/tags/{self.tag}.tar.gz"

    @property
    def hermetic_compiler(self) -> bool:
        """Whether Bazel downloads the compiler itself."""
        return self.compiler.startswith("llvm-")

    def compiler_on(self, architecture: str) -> str:
        """Return the compiler that a recipe takes on "x86_64" or "aarch64"."""
        return self.aarch64_compiler if architecture == "aarch64" else self.compiler

    @property
    def default_python(self) -> str:
        """The Python that is taken when none is named: 3.12, or the newest supported."""
        return "3.12" if "3.12" in self.pythons else self.pythons[-1]

    def check_python(self, python: str) -> None:
        """Raise UsageError when this release does not support Python `python` ("3.12")."""
        if python not in self.pythons:
            raise UsageError(
                f"TensorFlow {self.version} does not support Python {python}.",
                why=f"It supports Python {', '.join(self.pythons)}. "
                f"Python {python} is supported by {_series_with(python)}.",
                do=f"Add --python {self.pythons[-1]}, or name another --tensorflow.",
            )

    def known_problems(self, features: frozenset[str]) -> tuple[str, ...]:
        """Return defects of this release that code with these CPU features may meet."""
        return tuple(
            f"{problem['text']} ({problem['source']})"
            for problem in _data()["known_problems"]
            if problem["requires"] in features and _within(self, problem["first"], problem["last"])
        )


@dataclass(frozen=True, kw_only=True)
class BazelFlag:
    """An option that only some Bazel releases know; both majors are included."""

    flag: str
    when: str
    since: int
    until: int


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """Kernels of XNNPACK that need a compiler of at least these major versions."""

    isa: str
    option: str
    first: str
    """The first series that has them."""
    gcc: int
    clang: int
    source: str


@dataclass(frozen=True, kw_only=True)
class KnownBad:
    """A pair of compiler and release that fails; the data file says what each field means."""

    compiler: str
    since: int
    until: int
    first: str
    last: str
    requires: str
    without: str
    why: str
    source: str


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
        why=f"It knows the final releases from {versions[0]} to {versions[-1]}.",
        do=f"Did you mean --tensorflow {_nearest(wanted).version}?",
    )


def bazel_sha256(architecture: str = "x86_64") -> Mapping[str, str]:
    """Return Bazel release -> SHA-256 of its Linux program, where it is known."""
    suffix = "_arm64" if architecture == "aarch64" else ""
    return cast("Mapping[str, str]", _data()[f"bazel_sha256{suffix}"])


@cache
def bazel_flags() -> tuple[BazelFlag, ...]:
    """Return the options that not every Bazel knows."""
    return tuple(
        BazelFlag(flag=row["flag"], when=row["when"], since=row["since"], until=row["until"])
        for row in _data()["bazel_flags"]
    )


def xnnpack_kernels(what: Release) -> tuple[Kernels, ...]:
    """Return the kernels of this release that older compilers cannot compile."""
    rows = (Kernels(**row) for row in _data()["xnnpack"])
    return tuple(row for row in rows if _within(what, row.first))


def known_bad(what: Release, features: frozenset[str]) -> tuple[KnownBad, ...]:
    """Return the compilers that fail on this release, for a target with these features."""
    rows = (KnownBad(**row) for row in _data()["known_bad"])
    return tuple(
        row
        for row in rows
        if _within(what, row.first, row.last) and (not row.requires or row.requires in features)
    )


def source(name: str) -> str:
    """Return where a fact comes from, by its name in the data file's [sources]."""
    return cast("str", _data()["sources"][name])


def check_config(name: str, what: Release, architecture: str) -> None:
    """Raise UsageError when the release has no such named configuration, or a recipe none."""
    row = next((row for row in _data()["configs"] if name in row["names"]), None)
    if row is None:
        raise _no_config(name)
    if row.get("architecture", architecture) != architecture:
        raise UsageError(f"--config {name} is for {row['architecture']}, not {architecture}.")
    if not _within(what, row["first"], row.get("last")):
        last = f"to {row['last']}" if "last" in row else "on"
        raise UsageError(
            f"TensorFlow {what.version} has no configuration {name!r}.",
            why=f"It exists from {row['first']} {last}.",
            do=row.get("instead", ""),
        )


def _no_config(name: str) -> UsageError:
    for row in _data()["refused_configs"]:
        if re.fullmatch(row["pattern"], name):
            return UsageError(
                f"--config {name} cannot be part of a recipe.", why=row["why"], do=row["instead"]
            )
    names = sorted(name for row in _data()["configs"] for name in row["names"])
    return UsageError(
        f"--config: {name!r} is not known.",
        why=f"Known are: {', '.join(names)}.",
        do="A tree of your own (--source) may have others.",
    )


def _within(what: Release, first: str, last: str | None = None) -> bool:
    """Return whether a release's series lies between two, both included."""
    series = _numbers(what.series)
    return _numbers(first) <= series and (last is None or series <= _numbers(last))


def _nearest(wanted: str) -> Release:
    """Return the newest of the wanted series, else the newest that is not newer, else the oldest.

    Words that are no version get the newest of all.
    """
    if not re.fullmatch(r"\d+(\.\d+)*", wanted):
        return known()[-1]
    same = [one for one in known() if _numbers(one.version)[:2] == _numbers(wanted)[:2]]
    older = [one for one in known() if _numbers(one.version) <= _numbers(wanted)]
    return (same or older or known()[:1])[-1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _series_with(python: str) -> str:
    fitting = [release.series for release in known() if python in release.pythons]
    if not fitting:
        return "no release that tfbuild knows"
    if fitting[0] == fitting[-1]:
        return f"TensorFlow {fitting[0]}"
    return f"TensorFlow {fitting[0]} to {fitting[-1]}"


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((resources.DATA / "releases.toml").read_text(encoding="utf-8"))


@cache
def _all() -> dict[str, Release]:
    return {
        version: _release(version, {**series, **series.get("only", {}).get(version, {})})
        for series in _data()["series"]
        for version in series["releases"]
    }


def _release(version: str, facts: Mapping[str, Any]) -> Release:
    return Release(
        version=version,
        series=facts["series"],
        kind=cast("Kind", facts["kind"]),
        bazel=facts["bazel"],
        pythons=tuple(facts["pythons"]),
        compiler=facts["compiler"],
        aarch64_compiler=facts.get("aarch64_compiler", facts["compiler"]),
        tested=facts["tested"],
        glibc=facts["glibc"],
        hermetic_python=tuple(facts["hermetic_python"]),
        distinct_host_configuration=facts["distinct_host_configuration"],
        python_packages={python: _packages(facts["series"], python) for python in facts["pythons"]},
        source_sha256=facts["sha256"][version],
        sources=tuple(facts["sources"]),
    )


def _packages(series: str, python: str) -> tuple[str, ...]:
    for row in _data()["build_packages"]:
        if series in row["series"]:
            numpy = [f"numpy=={row['numpy'][python]}"] if row["numpy"] else []
            return (*numpy, *row["packages"])
    return ()
