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


def test_flags_name_a_source_that_is_listed() -> None:
    data = release._data()
    assert {row["source"] for row in data["bazel_flags"]} <= set(data["sources"])


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


def test_compiler_versions_of_kernels_are_what_compilers_say() -> None:
    # First releases with the option: GCC's and Clang's release notes.
    first = {kernels.isa: (kernels.gcc, kernels.clang) for kernels in release.xnnpack_kernels()}
    assert first == {"avxvnni": (11, 12), "avx512fp16": (12, 14), "avxvnniint8": (13, 16)}
