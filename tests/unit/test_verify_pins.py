"""Requirements that let in what breaks TensorFlow; uv, offline, is the judge of requirements."""

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import need
from tests.wheels import make_wheel
from tfbuild import constraints
from tfbuild.verify import static
from tfbuild.verify.model import Check

# What METADATA of the official wheels says of numpy and protobuf, from PyPI.
OFFICIAL = [
    ("2.8.0", "310", ["numpy (>=1.20)", "protobuf (>=3.9.2)"], {"numpy<1.24", "protobuf<3.20"}),
    ("2.8.4", "310", ["numpy (>=1.20)", "protobuf (<3.20,>=3.9.2)"], {"numpy<1.24"}),
    ("2.14.1", "311", ["numpy (<2.0.0,>=1.23.5)", "protobuf (<5.0.0dev,>=3.20.3)"], set()),
    ("2.20.0", "312", ["numpy>=1.26.0", "protobuf>=5.28.0", "setuptools"], {"setuptools<82"}),
    ("2.21.0", "312", ["numpy>=1.26.0", "protobuf<8.0.0,>=6.31.1"], set()),
]


def pins_of(folder: Path, version: str, python: str, requires: list[str]) -> Check:
    wheel = make_wheel(
        folder, "tensorflow-cpu", version, f"cp{python}-cp{python}-manylinux_2_17_x86_64",
        files={"tensorflow/python/__init__.py": ""}, requires=requires,
    )  # fmt: skip
    return next(check for check in static.checks(wheel) if check.name == "pins")


def told(check: Check) -> str:
    return "\n".join((check.found, *check.details, check.do))


@pytest.mark.parametrize(("version", "python", "requires", "limits"), OFFICIAL)
def test_official_wheels(
    version: str, python: str, requires: list[str], limits: set[str], tmp_path: Path
) -> None:
    found = pins_of(tmp_path, version, python, requires)
    assert (found.status == "passed") == (not limits)
    for limit in limits:
        assert f"'{limit}'" in found.do
    assert found.do.count("'") == 2 * len(limits)


def test_the_known_example(tmp_path: Path) -> None:
    """intel-tensorflow 2.14.0 says numpy>=1.23.5 and cannot be imported with numpy 2."""
    found = pins_of(tmp_path, "2.14.0", "311", ["numpy (>=1.23.5)"])
    assert found.status == "failed"
    assert "It requires numpy>=1.23.5. NumPy 2 has another C interface" in found.found
    assert "'numpy<2'" in found.do


def test_more_limits_than_can_be_compared(tmp_path: Path) -> None:
    # Comparing twenty thousand took minutes.
    endless = "numpy" + ",".join(f"!=1.{minor}" for minor in range(20_000))
    found = pins_of(tmp_path, "2.14.0", "311", [endless])
    assert found.status == "warning"
    assert "not compared" in found.found


def test_a_tag_for_no_python_that_there_is(tmp_path: Path) -> None:
    assert pins_of(tmp_path, "2.14.0", "3x", ["numpy (>=1.23.5)"]).status == "failed"


@pytest.mark.parametrize(
    ("requirement", "open_"),
    [("numpy", True), ("numpy>=1.23", True), ("numpy<2", False), ("numpy<2.1", True),
     ("numpy<=2", True), ("numpy<2.0.0a1", False), ("numpy~=1.23", False), ("numpy~=1.23.5", False),
     ("numpy==1.26.4", False), ("numpy==2.0.0", True), ("numpy!=2.0.0", True), ("numpy>2", True),
     ("numpy!=2.*,<3", False), ("numpy==1.*", False), ("numpy==2.*", True), ("numpy<3", True),
     ("numpy>=2.0.1,<2.0.3", True), ("numpy>=1.20,!=1.22.0,<1.27", False),
     ("numpy>=1.23; python_version < '3.9'", False), ("numpy; python_version >= '3.9'", True),
     ("numpy; sys_platform == 'win32'", False), ("NumPy", True), ("numpy; extra == 'x'", False),
     ("numpy; python_version < '3.9' or sys_platform == 'linux'", True)],
)  # fmt: skip
def test_a_requirement_is_open_as_uv_finds_it(
    requirement: str, open_: bool, index: Path, tmp_path: Path
) -> None:
    found = pins_of(tmp_path, "2.14.0", "311", [requirement])
    assert (found.status == "failed") == open_
    assert resolved_beyond(requirement, index, tmp_path) == open_


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    for version in ("1.20.0", "1.26.4", "2.0.0", "2.0.2", "2.4.0", "3.1.0"):
        make_wheel(folder, "numpy", version)
    return folder


def resolved_beyond(requirement: str, index: Path, folder: Path) -> bool:
    """Whether uv, with a folder of empty wheels as its index, can take NumPy 2 or later."""
    from uv import find_uv_bin

    (folder / "limits.txt").write_text("numpy>=2\n")
    (folder / "wanted.txt").write_text(f"{requirement}\n")
    command = [find_uv_bin(), "pip", "compile", "-q", "--no-index", "--find-links", str(index),
               "--no-cache", "--python-version", "3.11", "--python", sys.executable,
               "--constraint", "limits.txt", "wanted.txt"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode == 0 and "numpy==" in done.stdout


@pytest.mark.parametrize(
    "requirement",
    [f"numpy>={'9' * 5000}", f"numpy<{'9' * 5000}.1", f"numpy=={'9' * 5000}.*", "numpy===odd",
     f"numpy; python_version < '{'9' * 5000}'", "numpy @ https://example.org/numpy.whl", "numpy ++",
     "numpy>=1.0+local", "numpy; nonsense == '1'", "numpy; os_name > '1'", "numpy; extra > '1'"],
    ids=range(11),
)  # fmt: skip
def test_odd_requirements_are_no_reason_to_fall_over(requirement: str, tmp_path: Path) -> None:
    assert pins_of(tmp_path, "2.14.0", "311", [requirement]).status in {"passed", "skipped"}


def test_a_python_for_which_there_is_no_newer_release_is_safe(tmp_path: Path) -> None:
    """NumPy 2 needs Python 3.9, so Python 3.8 gets 1.24, which TensorFlow 2.13 takes."""
    assert pins_of(tmp_path / "8", "2.13.1", "38", ["numpy>=1.22"]).status == "passed"
    assert pins_of(tmp_path / "9", "2.13.1", "39", ["numpy>=1.22"]).status == "failed"


def test_without_tensorflow_nothing_is_known(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "other", "1", requires=["numpy"])
    found = next(check for check in static.checks(wheel) if check.name == "pins")
    assert found.status == "skipped"


def test_what_leaves_the_import_alone_is_only_a_warning(tmp_path: Path) -> None:
    found = pins_of(tmp_path, "2.20.0", "312", ["setuptools"])
    assert found.status == "warning"
    assert "tensorboard fails" in found.found
    assert constraints.of("2.20.0") == ()


def test_what_is_not_required_breaks_nothing(tmp_path: Path) -> None:
    assert pins_of(tmp_path, "2.14.0", "311", ["six"]).status == "passed"


def test_the_facts_are_complete() -> None:
    for version in ("2.8.0", "2.11.1", "2.14.0", "2.20.0"):
        for limit in constraints.limits(version):
            assert limit.breaks in {"import", "use"}
            assert limit.source
            assert limit.consequence.endswith(".")
            assert Requirement(limit.requirement).specifier


@pytest.mark.network
def test_todays_resolution_is_as_the_check_says(tmp_path: Path) -> None:
    """What uv takes today for the official 2.8.4 lies beyond the limit that the check names."""
    from uv import find_uv_bin

    (tmp_path / "wanted.txt").write_text("tensorflow-cpu==2.8.4\n")
    command = [find_uv_bin(), "pip", "compile", "-q", "--no-annotate", "--python-version", "3.10",
               "--python", sys.executable, "--python-platform", "x86_64-manylinux_2_17",
               str(tmp_path / "wanted.txt")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    need(done.returncode == 0, f"PyPI does not answer: {done.stderr[-300:]}")
    taken = dict(line.split("==") for line in done.stdout.split() if "==" in line)
    for limit in constraints.limits("2.8.4"):
        wanted = Requirement(limit.requirement)
        beyond = not wanted.specifier.contains(taken[wanted.name])
        assert beyond == (limit.requirement != "protobuf<3.20")  # which 2.8.4 has itself
