"""Profiles: where counts go, what becomes of them, who may train."""

import hashlib
import os
import time
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tfbuild import host, pgo, recipe, target
from tfbuild.cache.folders import FolderStore
from tfbuild.cache.model import Kind
from tfbuild.engine.local import LocalEngine
from tfbuild.errors import BuildError, HostError
from tfbuild.host import Host
from tfbuild.installer import Installer
from tfbuild.pgo import counts
from tfbuild.progress import Silent
from tfbuild.recipe import Options, Recipe
from tfbuild.recipe.options import PROFILE_RUN
from tfbuild.record import BuiltWheel


def made(compiler: str = "gcc-12", name: str = "x86-64", *, instrument: bool = True) -> Recipe:
    options = Options(compiler=compiler, instrument=instrument)
    return recipe.make("2.12.1", "3.11", target.find(name), options=options)


def record(distribution: str) -> BuiltWheel:
    return BuiltWheel(
        file="x.whl",
        distribution=distribution,
        version="2.12.1",
        tensorflow="2.12.1",
        python="3.11",
        architecture="x86_64",
        target="x86-64",
        requires=frozenset(),
        flags=(),
        recipe_digest="",
        compiler="",
        bazel="",
        built_at=datetime.now(UTC),
        tfbuild="",
    )


@pytest.fixture
def here() -> Host:
    return host.detect()


def test_the_same_counts_are_the_same_profile(tmp_path: Path) -> None:
    digests = set()
    for number, order in enumerate((("a", "b"), ("b", "a"))):
        folder = tmp_path / str(number) / PROFILE_RUN.lstrip("/")
        folder.mkdir(parents=True)
        for name in order:
            (folder / f"#proc#self#cwd#{name}.gcda").write_bytes(name.encode() * 100)
        moment = time.time() - 1000 * number
        os.utime(folder / "#proc#self#cwd#a.gcda", (moment, moment))
        place = tmp_path / f"{number}.zip"
        counts.merge(made(), LocalEngine(), tmp_path / str(number), place)
        digests.add(hashlib.sha256(place.read_bytes()).hexdigest())
    assert len(digests) == 1
    with zipfile.ZipFile(tmp_path / "1.zip") as archive:
        assert archive.namelist() == ["#proc#self#cwd#a.gcda", "#proc#self#cwd#b.gcda"]
        assert archive.read("#proc#self#cwd#b.gcda") == b"b" * 100


def test_no_tool_for_clangs_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counts-1.profraw").touch()
    monkeypatch.setattr(counts, "local_tool", lambda _: None)
    with pytest.raises(BuildError, match="no llvm-profdata 15") as caught:
        counts.merge(made("clang-15"), LocalEngine(), tmp_path, tmp_path / "p")
    assert "Install llvm-15" in caught.value.do
    assert not (tmp_path / "p").exists()


def test_a_tool_of_another_version_does_not_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "llvm-profdata"
    tool.write_text("#!/bin/sh\necho 'LLVM (http://llvm.org/):'\necho '  LLVM version 77.1.0'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert counts.local_tool("77") == tool
    assert counts.local_tool("78") is None


def test_the_host_has_to_run_the_target(here: Host) -> None:
    pgo.check_host(made(), here)
    poor = replace(here, features=here.features - {"avx2"})
    with pytest.raises(HostError, match="trains on this machine") as caught:
        pgo.check_host(made(name="haswell"), poor)
    assert "avx2" in caught.value.why
    with pytest.raises(HostError):
        pgo.check_host(made(), None)


def test_the_final_wheel_has_the_final_label() -> None:
    first = made()
    assert first.label == "x86.64.instrumented"
    assert pgo.final_label(first).label == "x86.64.pgo"


def test_only_the_workspace_of_a_rehearsal_trains_something_else(here: Host) -> None:
    real = pgo.Architectures(host=here, installer=Installer())
    assert pgo.trainer_for(record("tensorflow"), real) is real
    assert pgo.trainer_for(record("tensorflow-rehearsal"), real).name == "numbers"
    assert pgo.trainer_for(record("tensorflow_rehearsal"), real).name == "numbers"


def test_a_training_that_counts_nothing_leaves_no_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Host
) -> None:
    """The wheel is there already, and what runs it writes nothing."""
    from tests.unit.test_build import Scripted

    class Idle(pgo.Numbers):
        def train(self, *_: object) -> None:
            busy = [kept.busy for kept in FolderStore().items() if kept.kind is Kind.PROFILE]
            assert busy == ["a process holds its lock"]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine, idle = Scripted(), Idle(installer=Installer())
    what = replace(made(), tensorflow="2.15.1")
    for _ in range(2):
        with pytest.raises(BuildError, match="left no counts"):
            pgo.profile(what, engine, lambda _: idle, Silent())
    assert engine.compiled == 1, "the instrumented wheel is kept"
    assert pgo.cached(what, lambda _: idle) is None
    assert not list(tmp_path.glob("tfbuild/pgo/*/.counts-*"))
    assert [kept.busy for kept in FolderStore().items() if kept.kind is Kind.PROFILE] == [""]
