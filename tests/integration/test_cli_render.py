"""`tfbuild render` as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.conftest import DATA

Tfbuild = Callable[..., CompletedProcess[str]]


def test_the_context_is_the_golden_one(tfbuild: Tfbuild, tmp_path: Path) -> None:
    done = tfbuild("render", "--target", "skylake", "-o", "context")
    assert done.returncode == 0, done.stderr
    golden = DATA / "golden" / "2.21.0-skylake"
    names = sorted(path.name for path in golden.iterdir())
    assert sorted(path.name for path in (tmp_path / "context").iterdir()) == names
    for name in names:
        assert (tmp_path / "context" / name).read_text() == (golden / name).read_text()


def test_what_was_decided_goes_to_stdout_and_the_rest_to_stderr(tfbuild: Tfbuild) -> None:
    done = tfbuild("render", "--target", "skylake", "--tensorflow", "2.15", "-o", "context")
    for word in ("2.15.1", "3.11", "-march=skylake-avx512", "clang-16", "6.1.0", "context"):
        assert word in done.stdout
    assert "docker build --output" in done.stderr
    assert "49944" in done.stderr
    assert "49944" not in done.stdout


def test_json_is_one_document(tfbuild: Tfbuild, tmp_path: Path) -> None:
    done = tfbuild("render", "-t", "haswell", "--python", "3.13", "-o", "context", "--json")
    told = json.loads(done.stdout)
    assert told["schema"] == "tfbuild.recipe/1"
    assert told["target"] == "haswell"
    assert told["python"] == "3.13"
    assert told["folder"] == "context"
    assert told["files"] == sorted(path.name for path in (tmp_path / "context").iterdir())
    assert len(told["digest"]) == len(told["toolchain_digest"]) == 64


def test_twice_is_the_same(tfbuild: Tfbuild, tmp_path: Path) -> None:
    for name in ("one", "two", "two"):
        assert tfbuild("render", "-t", "zen3", "-o", name).returncode == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_native_is_resolved_to_a_named_target(tfbuild: Tfbuild, tmp_path: Path) -> None:
    done = tfbuild("render", "-o", "context", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"] != "native"
    for path in (tmp_path / "context").iterdir():
        assert "native" not in path.read_text()


def test_options_come_from_the_environment_and_from_settings(
    tfbuild: Tfbuild, tmp_path: Path
) -> None:
    environment = {"TFBUILD_TARGET": "nehalem", "TFBUILD_BASE_IMAGE": "debian:bookworm"}
    (tmp_path / "pyproject.toml").write_text('[tool.tfbuild]\ntensorflow = "2.20.0"\n')
    told = json.loads(tfbuild("render", "-o", "c", "--json", env=environment).stdout)
    assert told["target"] == "nehalem"
    assert told["base_image"] == "debian:bookworm"
    assert told["tensorflow"] == "2.20.0"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "skylak"], "Did you mean 'skylake'?"),
        (["--target", "skylake", "--tensorflow", "2.22"], "Did you mean --tensorflow 2.21.0?"),
        (
            ["--target", "skylake", "--tensorflow", "2.8", "--python", "3.12"],
            "It supports Python 3.7, 3.8, 3.9, 3.10.",
        ),
        (["--target", "haswell", "--vector-width", "512"], "512"),
        (["--target", "haswell", "--compiler", "icc"], "release, system"),
        (["--target", "haswell", "--jobs", "0"], "--jobs"),
        (["--target", "haswell", "--compiler", "gcc-11"], "cannot be built with GCC 11"),
        (["--target", "haswell", "--base-image", "a b"], "not the name of an image"),
        (["--target", "haswell", "--bazel", "latest"], "neither a release"),
        (["--target", "haswell", "--source", "nowhere"], "neither a folder"),
        (["--target", "haswell", "--pip-index", "https://me:hunter2@h/simple"], ".netrc"),
    ],
)
def test_what_does_not_exist_or_fit_is_exit_code_2_and_writes_nothing(
    tfbuild: Tfbuild, tmp_path: Path, words: list[str], said: str
) -> None:
    done = tfbuild("render", *words, "-o", "context")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert "hunter2" not in done.stderr
    assert not (tmp_path / "context").exists()


def test_no_output_folder_is_exit_code_2(tfbuild: Tfbuild) -> None:
    assert tfbuild("render", "-t", "haswell").returncode == 2


def test_a_folder_of_somebody_else_is_left_alone(tfbuild: Tfbuild, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "Dockerfile").write_text("FROM mine\n")
    done = tfbuild("render", "-t", "haswell", "-o", "mine")
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert (tmp_path / "mine" / "Dockerfile").read_text() == "FROM mine\n"
    assert len(list((tmp_path / "mine").iterdir())) == 1


def test_a_place_that_cannot_be_written_is_exit_code_11(tfbuild: Tfbuild) -> None:
    done = tfbuild("render", "-t", "haswell", "-o", "/proc/tfbuild")
    assert done.returncode == 11
    assert "/proc/tfbuild" in done.stderr


def test_a_name_that_is_too_long_is_exit_code_2(tfbuild: Tfbuild) -> None:
    done = tfbuild("render", "-t", "haswell", "-o", "a" * 5000)
    assert done.returncode == 2
    assert "too long" in done.stderr


def test_help_has_an_example(tfbuild: Tfbuild) -> None:
    done = tfbuild("render", "--help")
    assert "Example: tfbuild render --target skylake" in done.stdout
