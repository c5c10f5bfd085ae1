"""The facts of releases, against PyPI's own list and other packagers' findings."""

import json
import re
from itertools import pairwise

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.conftest import DATA
from tfbuild import release
from tfbuild.errors import UsageError

PYPI = json.loads((DATA / "pypi_tensorflow.json").read_text())["releases"]
ALL = release.known()
NAMES = [one.version for one in ALL]
# Platform tags that carry no glibc version in their name, from PEP 571.
LEGACY = {"manylinux2010_x86_64": "2.12"}
# NumPy that the releases accept at run time: Spack's py-tensorflow (2026), wheel metadata of 2.8.
NUMPY = {"2.8": ">=1.20,<2", "2.9": ">=1.20,<2", "2.10": ">=1.20,<2", "2.11": ">=1.20,<2"}
NUMPY |= {"2.12": ">=1.22,<1.24", "2.13": ">=1.22,<=1.24.3"}


def test_every_release_on_pypi_is_known_in_order() -> None:
    assert list(PYPI) == NAMES
    assert sorted(NAMES, key=Version) == NAMES


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_pythons_are_those_with_a_wheel(one: release.Release) -> None:
    assert list(one.pythons) == PYPI[one.version]["pythons"]


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_glibc_is_the_platform_tags(one: release.Release) -> None:
    tag = PYPI[one.version]["tag"].split(".")[0]
    found = re.fullmatch(r"manylinux_(\d+)_(\d+)_x86_64", tag)
    assert one.glibc == (f"{found[1]}.{found[2]}" if found else LEGACY[tag])


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_hashes_are_whole_and_not_copied(one: release.Release) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", one.source_sha256)
    assert [other.source_sha256 for other in ALL].count(one.source_sha256) == 1
    assert re.fullmatch(r"[0-9a-f]{64}", release.bazel_sha256()[one.bazel])


def test_bazel_hashes_are_distinct() -> None:
    hashes = list(release.bazel_sha256().values())
    assert len(hashes) == len(set(hashes))


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_every_fact_names_a_source_that_is_listed(one: release.Release) -> None:
    listed = release._data()["sources"]
    assert len(one.sources) >= 3
    assert set(one.sources) <= set(listed)


def test_needs_only_grow() -> None:
    for older, newer in pairwise(ALL):
        assert Version(older.bazel) <= Version(newer.bazel)
        assert older.kind <= newer.kind
        assert Version(older.glibc) <= Version(newer.glibc)
        assert len(older.hermetic_python) <= len(newer.hermetic_python)
        assert older.distinct_host_configuration >= newer.distinct_host_configuration


# Where each way of building begins, as other packagers found it.
@pytest.mark.parametrize(
    ("series", "kind", "hermetic_python", "hermetic_compiler", "distinct"),
    [
        ("2.8", "A", False, False, True),
        ("2.12", "A", False, False, True),
        ("2.13", "A", False, False, False),
        ("2.14", "A", True, False, False),
        ("2.16", "A", True, False, False),
        ("2.17", "B", True, False, False),
        ("2.19", "B", True, False, False),
        ("2.20", "C", True, True, False),
        ("2.21", "C", True, True, False),
    ],
)
def test_ways_of_building(
    series: str, kind: str, hermetic_python: bool, hermetic_compiler: bool, distinct: bool
) -> None:
    one = release.find(series)
    assert one.kind == kind
    assert bool(one.hermetic_python) == hermetic_python
    assert one.hermetic_compiler == hermetic_compiler
    assert one.distinct_host_configuration == distinct


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_compiler_is_none_that_is_known_to_fail(one: release.Release) -> None:
    # Conflicts of Spack's py-tensorflow: GCC 13 and newer up to 2.14, GCC 11 and older from 2.17,
    # Clang 15 and older from 2.18, Clang 17 and newer up to 2.14.
    family, _, version = one.compiler.partition("-")
    minor, major = int(one.series.split(".")[1]), int(version)
    if family == "gcc":
        assert 10 <= major <= (12 if minor <= 14 else 99)
        assert major >= 12 or minor < 17
    else:
        assert major >= (16 if minor >= 18 else 1)
        assert major <= (16 if minor <= 14 else 99)


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_numpy_of_the_build_is_one_that_the_release_accepts(one: release.Release) -> None:
    for python in one.pythons:
        pins = [name for name in one.python_packages[python] if name.startswith("numpy")]
        if one.hermetic_python:
            assert pins == []
            continue
        (pin,) = pins
        assert SpecifierSet(NUMPY[one.series]).contains(pin.removeprefix("numpy=="))


def test_a_series_means_its_newest_release() -> None:
    assert release.find("2.8").version == "2.8.4"
    assert release.find("2.21").version == "2.21.0"
    assert release.find("v2.16.1").version == "2.16.1"
    assert release.default().version == "2.21.0"


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("2.22.0", "2.21.0"),
        ("2.16.0", "2.16.2"),
        ("2.15.7", "2.15.1"),
        ("3", "2.21.0"),
        ("2.7.4", "2.8.0"),
        ("1.15", "2.8.0"),
        ("latest", "2.21.0"),
        ("", "2.21.0"),
        ("; rm -rf /", "2.21.0"),
        ("2.21.0\nRUN true", "2.21.0"),
    ],
)
def test_an_unknown_release_is_refused_with_the_range_and_the_nearest(
    wanted: str, meant: str
) -> None:
    with pytest.raises(UsageError) as caught:
        release.find(wanted)
    assert caught.value.exit_code == 2
    assert "2.8.0 to 2.21.0" in caught.value.why
    assert caught.value.do == f"Did you mean --tensorflow {meant}?"


def test_an_unsupported_python_is_refused_with_those_that_fit() -> None:
    with pytest.raises(UsageError) as caught:
        release.find("2.8").check_python("3.12")
    assert "3.7, 3.8, 3.9, 3.10" in caught.value.why
    assert "TensorFlow 2.16 to 2.21" in caught.value.why
    assert "--python 3.10" in caught.value.do


def test_a_python_of_no_release_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        release.find("2.21").check_python("3.14")
    assert "no release" in caught.value.why


def test_python_when_none_is_named() -> None:
    for one in ALL:
        assert one.default_python in one.pythons
    assert release.find("2.21").default_python == "3.12"
    assert release.find("2.8").default_python == "3.10"


def test_known_problems_go_with_what_the_code_uses() -> None:
    newest = release.find("2.21")
    assert any("49944" in text for text in newest.known_problems(frozenset({"avx512f"})))
    assert newest.known_problems(frozenset({"avx2"})) == ()


# XNNPACK's history: when each switch came, and which options its kernels are compiled with;
# releases by the date of their branch. Compiler versions: GCC's and Clang's release notes.
@pytest.mark.parametrize(
    ("series", "kernels"),
    [
        ("2.8", ""),
        ("2.15", ""),
        ("2.16", "avxvnni"),
        ("2.17", "avxvnni avx512amx avx512fp16"),
        ("2.18", "avxvnni avx512amx avx512fp16 avx256vnnigfni avxvnniint8"),
        ("2.21", "avxvnni avx512amx avx512fp16 avx256vnnigfni avxvnniint8 avx512bf16"),
    ],
)
def test_kernels_are_switched_off_only_where_the_release_has_the_switch(
    series: str, kernels: str
) -> None:
    assert [row.isa for row in release.xnnpack_kernels(release.find(series))] == kernels.split()


def test_compiler_versions_of_kernels_are_what_compilers_say() -> None:
    rows = release.xnnpack_kernels(release.find("2.21"))
    assert {row.isa: (row.gcc, row.clang) for row in rows} == {
        "avxvnni": (11, 12),
        "avx512amx": (11, 11),
        "avx512fp16": (12, 14),
        "avx256vnnigfni": (8, 6),
        "avxvnniint8": (13, 16),
        "avx512bf16": (10, 9),
    }


def test_every_row_names_a_source_that_is_listed() -> None:
    data = release._data()
    rows = ("bazel_flags", "xnnpack", "known_bad", "configs", "refused_configs")
    for name in rows:
        assert {row["source"] for row in data[name]} <= set(data["sources"]), name
    used = {row["source"] for name in rows for row in data[name]}
    packages = {source for row in data["build_packages"] for source in row["sources"]}
    assert packages <= set(data["sources"])
    used |= packages | {source for one in ALL for source in one.sources}
    assert set(data["sources"]) <= used
    assert all(row["source"] for row in data["known_problems"])


@pytest.mark.parametrize(
    ("series", "name", "architecture", "fits"),
    [
        ("2.17", "noaws", "x86_64", True),
        ("2.18", "noaws", "x86_64", False),
        ("2.18", "nohdfs", "x86_64", False),
        ("2.13", "numa", "x86_64", True),
        ("2.14", "numa", "x86_64", False),
        ("2.8", "monolithic", "x86_64", True),
        ("2.21", "monolithic", "aarch64", True),
        ("2.21", "nonccl", "x86_64", True),
        ("2.21", "mkl", "x86_64", True),
        ("2.21", "mkl", "aarch64", False),
        ("2.21", "mkl_aarch64_threadpool", "aarch64", True),
        ("2.21", "opt", "x86_64", False),
        ("2.21", "avx_linux", "x86_64", False),
        ("2.21", "native_arch_linux", "x86_64", False),
        ("2.21", "release_cpu_linux", "x86_64", False),
        ("2.21", "linux_arm64", "aarch64", False),
        ("2.21", "cuda", "x86_64", False),
        ("2.21", "rbe_linux_cpu", "x86_64", False),
        ("2.21", "monolitic", "x86_64", False),
    ],
)
def test_configurations_of_a_release(series: str, name: str, architecture: str, fits: bool) -> None:
    if fits:
        release.check_config(name, release.find(series), architecture)
        return
    with pytest.raises(UsageError) as caught:
        release.check_config(name, release.find(series), architecture)
    assert name in caught.value.what
    assert caught.value.why or caught.value.do or architecture in caught.value.what


# Conflicts of Spack's py-tensorflow, as it states them.
@pytest.mark.parametrize(
    ("series", "compiler", "version", "fails"),
    [
        ("2.14", "gcc", 13, True),
        ("2.14", "gcc", 12, False),
        ("2.15", "gcc", 13, False),
        ("2.17", "gcc", 11, True),
        ("2.16", "gcc", 11, False),
        ("2.17", "gcc", 12, False),
        ("2.18", "clang", 15, True),
        ("2.17", "clang", 15, False),
        ("2.14", "clang", 17, True),
        ("2.15", "clang", 17, False),
        # Not Spack's: tensorflow/tensorflow issue 84977.
        ("2.19", "gcc", 14, True),
        ("2.19", "gcc", 12, True),
        ("2.18", "gcc", 12, False),
        ("2.20", "gcc", 13, False),
        ("2.19", "clang", 18, False),
    ],
)
def test_compilers_that_fail(series: str, compiler: str, version: int, fails: bool) -> None:
    rows = release.known_bad(release.find(series), frozenset())
    hit = [row for row in rows if row.compiler == compiler and row.since <= version <= row.until]
    assert bool(hit) == fails
