"""Checks before a build: each obstacle is found, and all are told at once."""

# ruff: noqa: ARG002 - the scripted engine has the real one's arguments

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need
from tfbuild import build, preflight, recipe, target
from tfbuild.cli import ready
from tfbuild.engine.base import NO_SETUP, Engine, Exit, Facts, OnLine, Setup
from tfbuild.engine.docker import DockerClient
from tfbuild.errors import EngineError, SaveError, TfbuildError, UsageError
from tfbuild.preflight import Finding, Question, Report, asked, machine, memory
from tfbuild.preflight import need as needs
from tfbuild.preflight.inquiry import Inquiry
from tfbuild.recipe import Options, Recipe, Sources
from tfbuild.rehearse import copy_workspace

GIB = 1 << 30
FACTS = Facts(name="docker", version="20.10.24", architecture="x86_64", cpus=2, memory=64 * GIB)


class Silent:
    """An engine that says what it is told to say and has nothing."""

    name = "docker"

    def __init__(self, facts: Facts = FACTS) -> None:
        self._facts = facts

    def facts(self) -> Facts:
        return self._facts

    def prepare(self, recipe: Recipe, on_line: OnLine, setup: Setup = NO_SETUP) -> str:
        raise AssertionError

    def compile(
        self,
        recipe: Recipe,
        toolchain: str | None,
        out: Path,
        on_line: OnLine,
        setup: Setup = NO_SETUP,
    ) -> Exit:
        raise AssertionError

    def base(self, toolchain: str | None) -> str:
        raise AssertionError

    def reaches(self, recipe: Recipe, host: str, port: int) -> bool:
        raise AssertionError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_workspace(tmp_path_factory.mktemp("source") / "tree", "2.15.1")


def made(workspace: Path, *, jobs: int | None = None, mirror: str = "") -> Recipe:
    """The small tree's recipe, whose every address is on this machine."""
    return recipe.make(
        "2.15.1",
        "3.11",
        target.find("haswell"),
        Sources(
            source=str(workspace),
            bazel="apt",
            base_image="127.0.0.1:9/debian:bookworm",
            apt_mirror=mirror or "http://127.0.0.1:9/debian",
            pip_index="http://127.0.0.1:9/simple",
        ),
        Options(compiler="system", jobs=jobs),
    )


def ask(
    what: Recipe | None,
    folder: Path,
    engine: Callable[[str], Engine] = lambda _: Silent(),
    **more: Any,
) -> Report:
    question = Question(engine="docker", output_dir=folder, recipe=what, is_bundled=True, **more)
    return preflight.check(question, choose=engine)


def about(report: Report, name: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.about == name]


# --- Several at once.


def test_everything_in_the_way_is_told_at_once(workspace: Path, tmp_path: Path) -> None:
    def dead(name: str) -> Engine:
        raise EngineError("docker does not answer.", why="Nothing is there.", do="Start it.")

    place = tmp_path / "file"
    place.write_text("x")
    error = ask(made(workspace), place, dead).error()
    assert isinstance(error, SaveError)  # the folder comes before the engine
    assert error.what == "The build cannot start: 4 things are in the way."
    for line in (
        f"1. Wheels cannot be written to {place}.",
        "2. docker does not answer.",
        "   Start it.",
        "3. system packages: 127.0.0.1:9 cannot be reached.",
        "4. Python packages: 127.0.0.1:9 cannot be reached.",
    ):
        assert line in error.why.splitlines()


def test_one_failure_is_that_error_itself(tmp_path: Path) -> None:
    refusal = UsageError("No such thing.", why="It is not there.", do="Name another.")
    error = ask(None, tmp_path, refusals=(refusal,)).error()
    assert isinstance(error, UsageError)
    assert (error.what, error.why, error.do) == (refusal.what, refusal.why, refusal.do)


def test_nothing_in_the_way(workspace: Path, tmp_path: Path) -> None:
    report = ask(made(workspace), tmp_path, setup=Setup(network=False))
    assert report.error() is None
    assert {finding.state for finding in report.findings} == {"ok"}


def test_every_option_that_does_not_fit_is_told() -> None:
    none, refusals = ready.attempt(
        target="nonesuch",
        tensorflow="2.15.1",
        python="3.13",
        base_image="not an image",
        source="/does/not/exist",
        jobs=2,
    )
    assert none is None
    told = "\n".join(refusal.what for refusal in refusals)
    assert len(refusals) == 4
    for word in ("nonesuch", "Python 3.13", "not an image", "/does/not/exist"):
        assert word in told


def test_a_compiler_and_a_python_that_the_release_cannot_use() -> None:
    _, refusals = ready.attempt(
        target="haswell", tensorflow="2.8.4", python="3.12", compiler="gcc-13"
    )
    told = "\n".join(refusal.what for refusal in refusals)
    assert "does not support Python 3.12" in told
    assert "cannot be built with GCC 13" in told


def test_an_unknown_release_brings_no_guesses_about_another() -> None:
    _, refusals = ready.attempt(target="haswell", tensorflow="2.99", python="3.7")
    assert len(refusals) == 1
    assert "2.99" in refusals[0].what


def test_options_that_fit_make_the_same_recipe() -> None:
    made_, refusals = ready.attempt(target="haswell", tensorflow="2.15.1", python="3.11")
    assert refusals == ()
    assert made_ is not None
    assert made_.digest == recipe.make("2.15.1", "3.11", target.find("haswell")).digest


# --- The engine.


def test_real_client_on_a_dead_socket(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "docker.sock"))  # nobody listens
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")

    def docker(name: str) -> Engine:
        DockerClient().facts()
        raise AssertionError

    [finding] = about(ask(made(workspace), tmp_path, docker), "engine")
    assert finding.state == "failure"
    assert finding.exit_code == 5
    assert "refuses the connection" in finding.why
    assert "systemctl start docker" in finding.do


@pytest.mark.parametrize(
    ("version", "state"),
    [("17.03.2-ce", "failure"), ("18.09.1", "warning"), ("20.10.24+dfsg1", "ok"), ("28.3.0", "ok")],
)
def test_engine_version(version: str, state: str, workspace: Path, tmp_path: Path) -> None:
    report = ask(made(workspace), tmp_path, lambda _: Silent(replace(FACTS, version=version)))
    assert [finding.state for finding in about(report, "engine")] == [state]


def test_engine_of_another_architecture(workspace: Path, tmp_path: Path) -> None:
    other = replace(FACTS, architecture="aarch64")
    report = ask(made(workspace), tmp_path, lambda _: Silent(other))
    assert [finding.exit_code for finding in about(report, "engine")] == [0, 2]


def test_a_cpu_of_another_architecture_compiles_nothing(tmp_path: Path) -> None:
    other = "neoverse-v1" if os.uname().machine == "x86_64" else "haswell"
    what = recipe.make("2.21", "3.12", target.find(other))
    question = Question(engine="docker", output_dir=tmp_path, recipe=what)
    with ThreadPoolExecutor(2) as pool:
        found = list(machine.cpu(Inquiry(question, pool, lambda _: Silent())))
    assert [each.state for each in found] == ["ok", "warning"]
    assert "neither compile the wheel nor run it" in found[1].why


def test_remote_engine_is_not_judged_by_this_machines_disk_and_network(
    workspace: Path, tmp_path: Path
) -> None:
    remote = replace(FACTS, is_remote=True)
    report = ask(made(workspace), tmp_path, lambda _: Silent(remote))
    assert "not seen from here" in about(report, "disk")[-1].what
    assert "not seen from here" in about(report, "network")[0].what
    assert report.error() is None


# --- Memory.


@pytest.mark.parametrize(
    ("jobs", "gib", "state"),
    # Planned for TensorFlow: 6 GiB and 2 GiB for each; half of it is the least.
    [(1, 8, "ok"), (2, 8, "warning"), (2, 4, "failure"), (64, 64, "failure"), (None, 10, "ok")],
)
def test_memory_against_jobs(jobs: int | None, gib: int, state: str, tmp_path: Path) -> None:
    what = recipe.make("2.15.1", "3.11", target.find("haswell"), options=Options(jobs=jobs))
    facts = replace(FACTS, memory=gib * GIB, is_remote=True)
    [finding] = about(ask(what, tmp_path, lambda _: Silent(facts)), "memory")
    assert finding.state == state


def test_jobs_that_fit_are_named(tmp_path: Path) -> None:
    what = recipe.make("2.15.1", "3.11", target.find("haswell"), options=Options(jobs=64))
    facts = replace(FACTS, memory=24 * GIB, is_remote=True)
    [finding] = about(ask(what, tmp_path, lambda _: Silent(facts)), "memory")
    assert "134 GiB" in finding.what  # 6 + 64 * 2
    assert "--jobs 9" in finding.do  # (24 - 6) / 2


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/user/job\n", {"user/job/memory.max": "max", "user/memory.max": "1000"}, 1000),
        ("0::/\n", {"memory.max": "2000"}, 2000),
        ("0::/\n", {}, None),
        ("4:memory:/docker/x\n", {"memory/memory.limit_in_bytes": "3000"}, 3000),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712"}, None),
    ],
)
def test_limit_of_control_groups(
    groups: str, files: dict[str, str], expected: int | None, tmp_path: Path
) -> None:
    for name, text in {f"sys/fs/cgroup/{key}": text for key, text in files.items()}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    assert memory.limit(tmp_path) == expected


# --- Disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 20 MiB."""
    need(os.geteuid() == 0 and shutil.which("mount"), "only root may mount")
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(place)]
    mounted = subprocess.run(words, capture_output=True, text=True, check=False)
    need(mounted.returncode == 0, f"cannot mount: {mounted.stderr}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_full_output_folder(small_disk: Path, workspace: Path) -> None:
    wheels = small_disk / "not/there/yet"
    report = ask(made(workspace), wheels, setup=Setup(network=False))
    [finding] = [each for each in about(report, "disk") if each.state == "failure"]
    assert finding.exit_code == 11
    assert f"{small_disk}: 20 MiB free" in finding.what
    assert str(wheels) in finding.why
    assert "--output-dir" in finding.do
    assert not wheels.exists()


def test_what_shares_a_volume_is_added_up(
    small_disk: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(small_disk / "cache"))
    facts = replace(FACTS, storage=str(small_disk))
    report = ask(made(workspace), small_disk, lambda _: Silent(facts), setup=Setup(network=False))
    [finding] = [each for each in about(report, "disk") if each.state == "failure"]
    for use in ("images and caches", "wheels", "logs"):
        assert use in finding.why
    # The image and the compile's own (2 + 1 GiB), wheels and logs (64 + 16 MiB).
    assert "3.1 GiB are planned" in finding.what


def test_read_only_output_folder(small_disk: Path, workspace: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    report = ask(made(workspace), small_disk / "wheels", setup=Setup(network=False))
    [finding] = about(report, "output")
    assert (finding.state, finding.exit_code) == ("failure", 11)
    assert "read-only" in finding.why


def test_small_trees_need_little_and_tensorflow_sixty_gigabytes(workspace: Path) -> None:
    small = needs.of(made(workspace))
    real = needs.of(recipe.make("2.15.1", "3.11", target.find("haswell")))
    assert small.compile + small.image < 4 * GIB
    assert real.compile + real.image == 60 * GIB
    size = int(subprocess.check_output(["du", "-sb", workspace]).split()[0])
    assert small.context < 3 * size + 32 * 2**20


def test_nearest_folder_that_exists(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert asked.existing(tmp_path / "a/b/c") == tmp_path
    assert asked.existing(tmp_path / "file/below") == tmp_path / "file"


def test_wheel_of_another_recipe_in_the_way(workspace: Path, tmp_path: Path) -> None:
    from tests.unit.test_build import OTHER, RECIPE, Scripted

    built = build.build(RECIPE, Scripted(), tmp_path)
    report = ask(OTHER, tmp_path, setup=Setup(network=False))
    [finding] = about(report, "output")
    assert (finding.state, finding.exit_code) == ("failure", 2)
    assert built.file in finding.what
    assert "--replace" in finding.do
    replaced = ask(OTHER, tmp_path, setup=Setup(network=False), replace=True)
    assert [each.state for each in about(replaced, "output")] == ["ok"]


# --- The report.


def test_report_as_a_file(tmp_path: Path) -> None:
    from tfbuild import artifact

    report = ask(None, tmp_path, refusals=(UsageError("No."),))
    assert artifact.from_json(Report, artifact.to_json(report)) == report


def test_every_kind_of_error_keeps_its_exit_code(tmp_path: Path) -> None:
    for kind in (TfbuildError, UsageError, EngineError, SaveError):
        error = ask(None, tmp_path, refusals=(kind("It is so."),)).error()
        assert type(error) is kind
