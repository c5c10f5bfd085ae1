"""`tfbuild tune` from the command line to the advice and the files."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import need, pyenv_python
from tests.fake_tensorflow import environment, tfbuild_here
from tfbuild import artifact
from tfbuild.bench import Suite
from tfbuild.machine import topology
from tfbuild.tune import Tuning

if TYPE_CHECKING:
    import subprocess

Run = Callable[..., "subprocess.CompletedProcess[str]"]

ANY_CPU = str(min(topology.usable()))
WORDS = ["--architectures", "mnist_mlp", "--seed", "3", "--scale", "smoke", "--rounds", "4"]


def test_what_to_set_and_what_it_gains(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {"xla": {"True": 0.5}}
    python = environment(here, "one", factors=factors, fails={"onednn": [True]}, noise=0.01)
    words = [*WORDS, "--dimensions", "onednn,xla", "--affinity", ANY_CPU]
    assert tfbuild_here(monkeypatch, "tune", python, *words) == 0
    out, err = capsys.readouterr()
    assert re.search(
        r"^Faster than the default: [12]\.\d\dx \(.*\) in 4 fresh pairs", out, re.MULTILINE
    )
    assert "    model.compile(..., jit_compile=True)    # with XLA" in out
    assert "oneDNN on failed: ValueError: no onednn here" in out
    assert len(re.findall("oneDNN on.*failed", out)) == 2  # the row and the reason: tried once
    assert re.search(r"^onednn: .*oneDNN on failed; kept as it was$", err, re.MULTILINE)
    path = next(here.glob("results/*.tuning.json"))
    assert f"Saved: {path.relative_to(here)}" in out
    found = artifact.load(Tuning, path)
    assert found.command[:3] == ("tfbuild", "tune", str(python))
    assert found.command[-2:] == ("--seed", "3")
    assert {"--affinity", ANY_CPU, "--dimensions", "onednn,xla"} <= set(found.command)
    for name in found.samples:
        assert artifact.load(Suite, path.parent / name).rounds == 4


def test_json_is_one_document_that_keeps_its_schema(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    words = [*WORDS, "--dimensions", "xla", "--affinity", ANY_CPU, "--json"]
    assert tfbuild_here(monkeypatch, "tune", python, *words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tfbuild.tuning/1"
    assert document["best"] == document["default"]  # nothing was faster
    assert document["advice"] == []
    assert tfbuild_here(monkeypatch, "tune", "--json-schema") == 0
    schema = Draft202012Validator(json.loads(capsys.readouterr().out))
    assert [error.message for error in schema.iter_errors(document)] == []
    assert not schema.is_valid({**document, "steps": 7})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dimensions", "thread"], "no dimension 'thread'"),
        (["--cpus", "1,2"], "2 settings are asked for" if len(topology.usable()) > 1 else "fits"),
        (["--vcpus", "100000"], "more than this machine has"),
        (["--workload", "nowhere.py"], "nowhere.py"),
        (["--rounds", "1"], "rounds"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    python = environment(here, "one")
    assert tfbuild_here(monkeypatch, "tune", python, *words) == 2
    assert said in capsys.readouterr().err
    assert not list(here.glob("results/*"))


def test_resume_refuses_what_would_change_the_search_and_what_is_finished(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    words = [*WORDS, "--dimensions", "xla", "--affinity", ANY_CPU]
    assert tfbuild_here(monkeypatch, "tune", python, *words) == 0
    path = next(here.glob("results/*.tuning.json"))
    assert tfbuild_here(monkeypatch, "tune", "--resume", path, "--dimensions", "inter") == 2
    assert "--dimensions would change that" in capsys.readouterr().err
    assert tfbuild_here(monkeypatch, "tune", "--resume", path) == 3
    assert "is finished" in capsys.readouterr().err


@pytest.mark.tensorflow
def test_a_real_wheel_is_tuned(tfbuild: Run) -> None:
    """Whether anything is faster here is not known; that all is measured and told is."""
    need(pyenv_python("3.10"), "no Python 3.10 here")
    words = ["--scale", "smoke", "--rounds", "2", "--data", "generated", "--seed", "3", "--json"]
    more = ["--architectures", "mnist_mlp", "--dimensions", "onednn", "--affinity", ANY_CPU]
    done = tfbuild("tune", "tensorflow-cpu==2.8.4", *words, *more, timeout=3000)
    assert done.returncode == 0, done.stderr
    found = artifact.from_json(Tuning, done.stdout)
    assert [step.dimension for step in found.steps] == ["onednn"]
    trials = found.steps[0].trials
    assert not [trial.failure for trial in trials if trial.failure]
    assert {trial.setting.onednn for trial in trials} >= {True}  # the official wheel of 2.8: off
    assert all(0.1 < (trial.ratio or 0) < 10 for trial in trials)
