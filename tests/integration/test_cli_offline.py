"""`tfbuild wheel --offline`: what is not said comes from the folder; nothing is contacted."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.unit.test_offline import OPTIONS, Container
from tfbuild import offline, recipe, target
from tfbuild.engine.container import ContainerEngine

Run = Callable[..., CompletedProcess[str]]
PLAN = ("wheel", "--target", "zen3", "--dry-run", "--json")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = recipe.make("2.15.1", "3.11", target.find("haswell"))
    options = {**OPTIONS, "compiler": "release"}
    engine = ContainerEngine(client=Container())
    offline.fetch(here, engine, tmp_path / "copy", options=options)
    return tmp_path / "copy"


def check(done: CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert (plan["tensorflow"], plan["python"], plan["target"]) == ("2.15.1", "3.11", "zen3")
    assert plan["outside"] == []


def test_the_folder_brings_its_release_along(copy: Path, tfbuild: Run, tmp_path: Path) -> None:
    check(tfbuild(*PLAN, "--offline", copy))
    check(tfbuild(*PLAN, "--offline", "copy"))
    check(tfbuild(*PLAN, env={"TFBUILD_OFFLINE": "copy"}))
    (tmp_path / "pyproject.toml").write_text('[tool.tfbuild]\noffline = "copy"\n')
    check(tfbuild(*PLAN))


def test_what_is_said_here_counts(copy: Path, tfbuild: Run, tmp_path: Path) -> None:
    for words, env in (
        (("--tensorflow", "2.16.2"), {}),
        ((), {"TFBUILD_TENSORFLOW": "2.16.2"}),
    ):
        done = tfbuild(*PLAN, "--offline", copy, *words, env=env)
        assert done.returncode == 2
        assert "copy does not serve TensorFlow 2.16.2" in done.stderr
    (tmp_path / "pyproject.toml").write_text('[tool.tfbuild]\ntensorflow = "2.16.2"\n')
    done = tfbuild(*PLAN, "--offline", copy)
    assert done.returncode == 2
    assert "copy does not serve TensorFlow 2.16.2" in done.stderr


def test_servers_do_not_go_with_it(copy: Path, tfbuild: Run) -> None:
    done = tfbuild(*PLAN, "--offline", copy, "--remote-cache", "grpc://127.0.0.1:9")
    assert done.returncode == 2
    assert "exclude each other" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ('{"schema": "tfbuild.offline/9"}', "has version 9"),
        ('{"schema": "tfbuild.offline/1", "files": 3}', "is damaged"),
        ('{"schema": "tfbuild.host/1"}', "is not a tfbuild.offline file"),
    ],
)
def test_a_manifest_that_is_none(text: str, told: str, tfbuild: Run, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/offline.json").write_text(text)
    done = tfbuild(*PLAN, "--offline", "copy")
    assert done.returncode == 2
    assert told in done.stderr


def test_mirrors_on_the_command_line(tfbuild: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tfbuild]\nmirror = ["github.com=https://m.example/gh", "docker.io=https://m.example"]\n'
    )
    led = json.loads(tfbuild(*PLAN).stdout)
    places = {place["what"]: place["where"] for place in led["outside"]}
    assert places["TensorFlow source"].startswith("https://m.example/gh/tensorflow/")
    assert places["base image"] == "m.example/library/python:3.12-slim-bookworm"
    assert "https://m.example/gh" in places["what that source names"]
    (tmp_path / "pyproject.toml").unlink()
    plain = json.loads(tfbuild(*PLAN).stdout)
    assert led["recipe_digest"] == plain["recipe_digest"]
    done = tfbuild(*PLAN, env={"TFBUILD_MIRROR": "a.example=https://b.example c.example"})
    assert done.returncode == 2
    assert "'c.example' is not HOST=URL" in done.stderr
