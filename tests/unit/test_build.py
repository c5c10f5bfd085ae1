"""From a build script's output to a wheel with its record, or to an error that says why."""

# ruff: noqa: ARG002 - the scripted engine has the real one's arguments

import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.wheels import make_wheel
from tfbuild import artifact, build, recipe, target
from tfbuild.engine.base import NO_SETUP, Exit, Facts, OnLine, Setup
from tfbuild.errors import BuildError, EngineError, SaveError, UsageError
from tfbuild.recipe import Options, Recipe, Sources
from tfbuild.record import Actions, BuiltWheel, Checked, record_path

RECIPE = recipe.make("2.15.1", "3.11", target.find("haswell"))
BASE = "debian:trixie"
OTHER = recipe.make("2.15.1", "3.11", target.find("haswell"), Sources(base_image=BASE))
DONE = ("[1 / 3] Compiling a.cc", "INFO: 30 processes: 3 remote cache hit, 9 internal, 18 local.")
NAME = "tensorflow-2.15.1+haswell-cp311-cp311-linux_x86_64.whl"


class Scripted:
    """An engine whose build script prints given lines and leaves a tiny wheel."""

    name = "docker"

    def __init__(
        self,
        lines: Iterable[str] = DONE,
        *,
        code: int = 0,
        oom: bool = False,
        tag: str = "cp311-cp311-linux_x86_64",
        wheels: int = 1,
        architecture: str = "x86_64",
    ) -> None:
        self.lines, self.code, self.oom, self.tag = tuple(lines), code, oom, tag
        self.wheels, self.architecture = wheels, architecture
        self.compiled = 0
        self.content = "first"

    def facts(self) -> Facts:
        return Facts(
            name="docker", version="20.10", architecture=self.architecture, cpus=8, memory=8 << 30
        )

    def prepare(self, recipe: Recipe, on_line: OnLine, setup: Setup = NO_SETUP) -> str:
        return "sha256:image"

    def base(self, toolchain: str | None) -> str:
        return "sha256:base"

    def compile(
        self,
        recipe: Recipe,
        toolchain: str | None,
        out: Path,
        on_line: OnLine,
        setup: Setup = NO_SETUP,
    ) -> Exit:
        self.compiled += 1
        for line in self.lines:
            on_line(line)
        if self.code == 0:
            for number in range(self.wheels):
                files = {"tensorflow/__init__.py": self.content}
                make_wheel(out, "tensorflow" + "x" * number, "2.15.1", self.tag, files=files)
            out.mkdir(exist_ok=True)
            facts = {
                "compiler": "clang 16",
                "bazel": "6.1.0",
                "python": "3.11.2",
                "libc": "glibc 2.36",
                "source_date_epoch": 1_700_000_000,
                "commit": "c0ffee",
                "options": ["--define=a=b"],
            }
            (out / "build.json").write_text(json.dumps(facts))
        return Exit(code=self.code, out_of_memory=self.oom)

    def reaches(self, recipe: Recipe, host: str, port: int) -> bool:
        return True


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_wheel_and_record(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    built = build.build(RECIPE, Scripted(), wheels)
    assert sorted(path.name for path in wheels.iterdir()) == [NAME, f"{NAME}.json"]
    data = (wheels / NAME).read_bytes()
    assert built.sha256 == hashlib.sha256(data).hexdigest()
    assert built.size == len(data)
    assert artifact.load(BuiltWheel, record_path(wheels / NAME)) == built
    assert built.actions == Actions(total=30, cached=3, executed=18)
    assert (built.version, built.distribution) == ("2.15.1+haswell", "tensorflow")
    assert (built.compiler, built.bazel, built.engine) == ("clang 16", "6.1.0", "docker 20.10")
    assert built.flags == target.find("haswell").flags
    with zipfile.ZipFile(wheels / NAME) as archive:
        inside = artifact.from_json(
            BuiltWheel, archive.read("tensorflow-2.15.1+haswell.dist-info/tfbuild.json")
        )
    assert (inside.recipe_digest, inside.file) == (RECIPE.digest, NAME)
    assert inside.options == built.options
    assert {"--compilation_mode=opt", "--copt=-march=haswell", "--define=a=b"} <= set(built.options)
    assert inside.base_digest == "sha256:base"
    assert (built.source and built.source.commit, built.libc) == ("c0ffee", "glibc 2.36")


def test_what_a_check_finds_is_recorded_beside_the_wheel(tmp_path: Path) -> None:
    seen = []

    def check(wheel: Path) -> tuple[Checked, ...]:
        seen.append((wheel.name, artifact.sha256(wheel), (tmp_path / "b" / NAME).exists()))
        return (Checked(name="record", status="failed", found="A file is not what RECORD says."),)

    plain = build.build(RECIPE, Scripted(), tmp_path / "a")
    built = build.build(RECIPE, Scripted(), tmp_path / "b", check=check)
    # Before the wheel is at its place, so that no record is ever without it.
    assert seen == [(NAME, built.sha256, False)]
    assert artifact.load(BuiltWheel, record_path(tmp_path / "b" / NAME)).checks == built.checks
    assert [each.status for each in built.checks] == ["failed"]
    assert (plain.checks, plain.sha256) == ((), built.sha256)


def test_the_wheel_is_the_same_whatever_the_run_was(tmp_path: Path) -> None:
    """Engine, image, time, duration and numbers of actions stay in the record beside it."""

    class Other(Scripted):
        def facts(self) -> Facts:
            return replace(super().facts(), name="podman", version="5", cpus=3)

        def prepare(self, recipe: Recipe, on_line: OnLine, setup: Setup = NO_SETUP) -> str:
            return "sha256:another"

    first = build.build(RECIPE, Scripted(), tmp_path / "a")
    jobs = Options(jobs=3, memory=4000)
    again = recipe.make("2.15.1", "3.11", target.find("haswell"), options=jobs)
    second = build.build(again, Other(["INFO: 1 process: 1 local."]), tmp_path / "b")
    assert (tmp_path / "a" / NAME).read_bytes() == (tmp_path / "b" / NAME).read_bytes()
    assert (first.engine, first.image) != (second.engine, second.image)
    assert first.actions != second.actions


def test_files_have_the_time_of_the_source(tmp_path: Path) -> None:
    built = build.build(RECIPE, Scripted(), tmp_path)
    assert built.source_date_epoch == 1_700_000_000
    with zipfile.ZipFile(tmp_path / NAME) as archive:
        # date --utc --date=@1700000000
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_the_log_holds_everything(tmp_path: Path) -> None:
    build.build(RECIPE, Scripted(), tmp_path)
    assert build.log_path(RECIPE).read_text().splitlines() == list(DONE)


def test_a_second_build_of_the_recipe_is_refused_and_the_firsts_log_stays(tmp_path: Path) -> None:
    class Nested(Scripted):
        def prepare(self, recipe: Recipe, on_line: OnLine, setup: Setup = NO_SETUP) -> str:
            on_line("of the first")
            with pytest.raises(EngineError, match="being compiled already"):
                build.build(RECIPE, Scripted(), tmp_path / "other")
            return "sha256:image"

    build.build(RECIPE, Nested(), tmp_path / "wheels")
    assert build.log_path(RECIPE).read_text().splitlines() == ["of the first", *DONE]
    build.build(RECIPE, Scripted(), tmp_path / "wheels")
    assert build.log_path(RECIPE).read_text().splitlines() == list(DONE)


def test_the_same_recipe_replaces_its_wheel(tmp_path: Path) -> None:
    engine = Scripted()
    first = build.build(RECIPE, engine, tmp_path)
    engine.content = "second"
    second = build.build(RECIPE, engine, tmp_path)
    assert first.sha256 != second.sha256
    assert artifact.sha256(tmp_path / NAME) == second.sha256


def test_another_recipe_does_not_replace_it(tmp_path: Path) -> None:
    first = build.build(RECIPE, Scripted(), tmp_path)
    engine = Scripted()
    with pytest.raises(UsageError, match="not made by this recipe") as caught:
        build.build(OTHER, engine, tmp_path)
    assert "--replace" in caught.value.do
    assert engine.compiled == 0, "refused before hours of work"
    assert artifact.sha256(tmp_path / NAME) == first.sha256
    build.build(OTHER, engine, tmp_path, replace_other=True)
    assert artifact.load(BuiltWheel, record_path(tmp_path / NAME)).recipe_digest == OTHER.digest


def test_a_wheel_without_a_record_is_not_lost_either(tmp_path: Path) -> None:
    tmp_path.joinpath(NAME).write_bytes(b"precious")
    with pytest.raises(UsageError) as caught:
        build.build(RECIPE, Scripted(), tmp_path)
    assert (tmp_path / NAME).read_bytes() == b"precious"
    kept = Path(caught.value.do.removeprefix("The new wheel is "))
    assert kept.is_file()
    assert record_path(kept).is_file()


@pytest.mark.parametrize(("code", "wheels"), [(1, 1), (0, 0), (0, 2)])
def test_a_failure_leaves_nothing(code: int, wheels: int, tmp_path: Path) -> None:
    place = tmp_path / "wheels"
    with pytest.raises(BuildError):
        build.build(RECIPE, Scripted(code=code, wheels=wheels), place)
    assert list(place.iterdir()) == []


def test_first_real_errors_are_shown(tmp_path: Path) -> None:
    lines = (
        *["INFO: From Compiling x.cc:"] * 50,
        "ERROR: /tfbuild/source/BUILD:4:1: Compiling dot.cc failed: (Exit 1): gcc failed",
        "dot.cc:7:3: error: 'nonsense' was not declared in this scope",
        *["noise"] * 5000,
        "FAILED: Build did NOT complete successfully",
    )
    with pytest.raises(BuildError) as caught:
        build.build(RECIPE, Scripted(lines, code=1), tmp_path)
    assert "'nonsense' was not declared" in caught.value.why
    assert "INFO" not in caught.value.why
    assert str(build.log_path(RECIPE)) in caught.value.do
    assert caught.value.exit_code == 6


@pytest.mark.parametrize(
    ("lines", "oom"),
    [((), True), (("c++: fatal error: Killed signal terminated program cc1plus",), False)],
)
def test_lack_of_memory_is_named(lines: tuple[str, ...], oom: bool, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="memory") as caught:
        build.build(RECIPE, Scripted(lines, code=1, oom=oom), tmp_path)
    assert "8 GiB" in caught.value.why
    assert "--jobs 4" in caught.value.do


def test_fewer_jobs_than_the_recipe_has(tmp_path: Path) -> None:
    three = recipe.make("2.15.1", "3.11", target.find("haswell"), options=Options(jobs=3))
    with pytest.raises(BuildError, match="memory") as caught:
        build.build(three, Scripted(code=1, oom=True), tmp_path)
    assert "--jobs 1." in caught.value.do, "it had 3"


def test_killed_from_outside(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="killed from outside") as caught:
        build.build(RECIPE, Scripted(["[1 / 9] Compiling"], code=137), tmp_path)
    assert "Run the same command again" in caught.value.do


def test_no_network_for_bazel_is_the_engines_fault(tmp_path: Path) -> None:
    lines = (
        "ERROR: An error occurred during the fetch of repository 'rules_java':",
        "ERROR: Error downloading [https://github.com/x.tar.gz]: Unknown host: github.com",
        "INFO: 0 processes.",
    )
    with pytest.raises(EngineError, match="cannot reach") as caught:
        build.build(RECIPE, Scripted(lines, code=1), tmp_path)
    assert "github.com" in caught.value.why


def test_wheel_of_another_python(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"not for Python 3\.11"):
        build.build(RECIPE, Scripted(tag="cp312-cp312-linux_x86_64"), tmp_path)


def test_engine_of_another_architecture(tmp_path: Path) -> None:
    engine = Scripted(architecture="aarch64")
    with pytest.raises(UsageError, match="aarch64"):
        build.build(RECIPE, engine, tmp_path)
    assert engine.compiled == 0


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("x")
    engine = Scripted()
    with pytest.raises(SaveError, match="cannot be written"):
        build.build(RECIPE, engine, place)
    assert engine.compiled == 0
