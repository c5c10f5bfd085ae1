"""`tfbuild matrix` without an engine: plans, settings, job lists, refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess

TfBuild = Callable[..., "subprocess.CompletedProcess[str]"]
TWO = ("--python", "3.10", "--python", "3.12")
OLD = ("--tensorflow", "2.8")


def test_the_plan_tells_what_is_left_out_and_why(tfbuild: TfBuild) -> None:
    words = ("-t", "haswell", *TWO, *OLD, "--tensorflow", "2.21")
    done = tfbuild("matrix", *words, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(r["job"]["tensorflow"], r["job"]["python"], r["outcome"]) for r in rows] == [
        ("2.8.4", "3.10", "to do"),
        ("2.8.4", "3.12", "left out"),
        ("2.21.0", "3.10", "to do"),
        ("2.21.0", "3.12", "to do"),
    ]
    assert rows[1]["why"] == "TensorFlow 2.8.4 does not support Python 3.12."


def test_without_a_python_each_release_has_its_own(tfbuild: TfBuild) -> None:
    words = ("-t", "haswell", *OLD, "--tensorflow", "2.21", "--dry-run", "--json")
    rows = json.loads(tfbuild("matrix", *words).stdout)["rows"]
    assert [row["job"]["python"] for row in rows] == ["3.10", "3.12"]


def test_the_recipe_is_that_of_the_command(tfbuild: TfBuild) -> None:
    options = ("--jobs", "3", "--vector-width", "128")
    done = tfbuild("matrix", "-t", "haswell", *OLD, "--dry-run", "--json", "--", *options)
    (row,) = json.loads(done.stdout)["rows"]
    one = tfbuild(*row["command"][1:], "--dry-run", "--json")
    assert one.returncode == 0, one.stderr
    assert json.loads(one.stdout)["recipe_digest"] == row["recipe_digest"]
    assert row["command"][-4:] == list(options)


def test_settings(tfbuild: TfBuild, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tfbuild]\ntarget = "zen3"\n[tool.tfbuild.wheel]\njobs = 5\n'
        '[tool.tfbuild.matrix]\ntargets = ["haswell", "skylake"]\nreleases = ["2.18", "2.21"]\n'
        'pythons = ["3.11"]\nexclude = ["skylake:2.18.*"]\n'
    )
    done = tfbuild("matrix", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(r["job"]["target"], r["job"]["tensorflow"][:4]) for r in rows] == [
        ("haswell", "2.18"),
        ("haswell", "2.21"),
        ("skylake", "2.21"),
    ]
    one = tfbuild(*rows[0]["command"][1:], "--dry-run", "--json")
    assert json.loads(one.stdout)["recipe_digest"] == rows[0]["recipe_digest"]


def test_the_jobs_of_others(tfbuild: TfBuild) -> None:
    words = ("-t", "haswell", *TWO, *OLD, "--format", "github")
    done = tfbuild("matrix", *words, "--", "--remote-cache", "http://h/c")
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)["include"]
    assert entry["command"] == (
        "tfbuild wheel --target haswell --tensorflow 2.8.4 --python 3.10 --output-dir wheels "
        "--remote-cache http://h/c"
    )
    assert "left out: haswell 2.8.4 Python 3.12" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-t", "haswell"), 2, "no --tensorflow"),
        (OLD, 2, "no --target"),
        (("-t", "hasswell", *OLD), 2, "'hasswell'"),
        (("-t", "native", *OLD), 2, "names its targets"),
        (("-t", "haswell", "--tensorflow", "2.7"), 2, "2.7"),
        (("-t", "haswell", *OLD, "--python", "3.13"), 3, "does not support Python 3.13"),
        (("-t", "haswell", *OLD, "--exclude", "zen3:*"), 2, "excludes nothing"),
        (("-t", "haswell", *OLD, "--format", "jenkins"), 2, "gitlab"),
        (("-t", "haswell", *OLD, "--", "--target", "zen3"), 2, "belongs before the --"),
        (("-t", "haswell", *OLD, "--", "--json"), 2, "belongs before the --"),
        (("-t", "haswell", *OLD, "--", "--pgo"), 2, "--pgo is not for a matrix"),
        (("-t", "haswell", *OLD, "--", "--nonsense"), 2, "--nonsense"),
        (("-t", "haswell", *OLD, "word"), 2, "word"),
        (("-t", "haswell", *OLD, "--format", "kubernetes"), 2, "--claim"),
    ],
)
def test_refusals(tfbuild: TfBuild, words: tuple[str, ...], code: int, said: str) -> None:
    done = tfbuild("matrix", *words)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
