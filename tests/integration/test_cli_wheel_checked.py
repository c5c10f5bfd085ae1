"""`tfbuild wheel` looks at what it has compiled; the engine is scripted, all else is real."""

import struct
import sys
from pathlib import Path

import pytest

from tests.libraries import compiled, need_tools
from tests.unit.test_build import NAME, Scripted
from tests.wheels import make_wheel
from tfbuild import artifact, engine
from tfbuild.cli import app
from tfbuild.engine import NO_SETUP, OnLine, Setup
from tfbuild.engine.base import Exit
from tfbuild.recipe import Recipe
from tfbuild.record import BuiltWheel, record_path
from tfbuild.verify import fresh

_AARCH64 = 183


class WithCode(Scripted):
    """Leaves a wheel with one library."""

    def __init__(self, library: bytes) -> None:
        super().__init__()
        self.library = library

    def compile(
        self,
        recipe: Recipe,
        toolchain: str | None,
        out: Path,
        on_line: OnLine,
        setup: Setup = NO_SETUP,
    ) -> Exit:
        ended = super().compile(recipe, toolchain, out, on_line, setup)
        files: dict[str, bytes | str] = {
            "tensorflow/__init__.py": "",
            "tensorflow/libtensorflow_cc.so.2": self.library,
        }
        make_wheel(out, "tensorflow", "2.15.1", self.tag, files=files)
        return ended


@pytest.fixture
def library(tmp_path: Path) -> bytes:
    need_tools()
    return compiled(tmp_path / "c", "-march=haswell").read_bytes()


def build(
    library: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str
) -> tuple[int, BuiltWheel]:
    """Run `tfbuild wheel` in this process; return its exit code and the record of the wheel."""
    monkeypatch.setattr(engine, "choose", lambda _name: WithCode(library))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    words = ["--target", "haswell", "--tensorflow", "2.15.1", "--python", "3.11"]
    monkeypatch.setattr(sys, "argv", ["tfbuild", "wheel", *words, "--no-preflight", *more])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert isinstance(ended.value.code, int)
    wheel = folder / "wheels" / NAME
    record = artifact.load(BuiltWheel, record_path(wheel))
    assert record.sha256 == artifact.sha256(wheel)
    return ended.value.code, record


def test_a_good_wheel(
    library: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, record = build(library, tmp_path, monkeypatch)
    assert code == 0
    assert [check.name for check in record.checks] == list(fresh.NAMES)
    assert {check.status for check in record.checks} <= {"passed", "warning"}, record.checks
    assert "check record" in capsys.readouterr().out


def test_a_wheel_that_is_not_what_it_should_be_is_kept_and_refused(
    library: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arm = bytearray(library)
    struct.pack_into("<H", arm, 0x12, _AARCH64)
    code, record = build(bytes(arm), tmp_path, monkeypatch, "--json")
    assert code == 7
    failed = [check.name for check in record.checks if check.status == "failed"]
    assert "platform" in failed
    out, err = capsys.readouterr()
    assert artifact.from_json(BuiltWheel, out) == record
    told = err[err.index("tfbuild: error: ") :]
    assert "fails the check of" in told
    assert f"tfbuild verify --static wheels/{NAME}" in told
    # The next one in line must not take it for done.
    from tfbuild import matrix

    assert matrix._records(tmp_path / "wheels") == {}


def test_no_look_where_none_is_wanted(
    library: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, record = build(library[:-100], tmp_path, monkeypatch, "--no-verify")
    assert (code, record.checks) == (0, ())
