"""A wheel and its record in their place, seen at any moment."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_build import RECIPE
from tfbuild import placing, provenance
from tfbuild.engine.owner import owner
from tfbuild.errors import SaveError
from tfbuild.made import Made
from tfbuild.record import BuiltWheel, record_path

NAME = "tensorflow-2.15.1+haswell-cp311-cp311-linux_x86_64.whl"


def record(data: bytes) -> BuiltWheel:
    from dataclasses import replace

    plain = provenance.record(RECIPE, NAME, Made(compiler="gcc", bazel="6", python="3.11.2"))
    return replace(plain, sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def put(folder: Path, data: bytes) -> None:
    with placing.workspace(folder) as work:
        (work / NAME).write_bytes(data)
        placing.put(work / NAME, folder / NAME, record(data))


def states(folder: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> list[tuple[str, str]]:
    """Put a wheel; return hashes of the wheel and in the record after each change of the folder."""
    seen = []

    def look() -> None:
        wheel, beside = folder / NAME, record_path(folder / NAME)
        seen.append(
            (
                hashlib.sha256(wheel.read_bytes()).hexdigest() if wheel.exists() else "",
                json.loads(beside.read_text())["sha256"] if beside.exists() else "",
            )
        )

    def watching(name: str) -> None:
        real = getattr(Path, name)

        def call(self: Path, *args: object, **more: object) -> object:
            result = real(self, *args, **more)
            look()
            return result

        monkeypatch.setattr(Path, name, call)

    watching("replace")
    watching("unlink")
    put(folder, data)
    look()
    return seen


@pytest.mark.parametrize("before", [None, b"old", b"new"])
def test_no_moment_shows_a_wheel_without_its_own_record(
    before: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        put(tmp_path, before)
    seen = states(tmp_path, monkeypatch, b"new")
    assert len(seen) >= 3
    assert all(wheel in {"", beside} for wheel, beside in seen)
    assert seen[-1][0] == hashlib.sha256(b"new").hexdigest()
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, f"{NAME}.json"]


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SaveError, match="disk is full"):
        put(tmp_path, b"new")
    assert (tmp_path / NAME).read_bytes() == b"old"
    assert json.loads(record_path(tmp_path / NAME).read_text())["size"] == 3


def test_what_a_killed_process_left_goes_and_what_a_living_one_needs_stays(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from tfbuild import placing\n"
        "with placing.workspace(Path(sys.argv[1])) as work:\n"
        "    (work / 'half.whl').write_bytes(b'x'); os._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    (left,) = tmp_path.iterdir()
    foreign = tmp_path / ".tfbuild-foreign"
    foreign.mkdir()
    (foreign / "owner").write_text(f"elsewhere:{owner().partition(':')[2]}")
    with placing.workspace(tmp_path) as first:
        assert not left.exists()
        with placing.workspace(tmp_path):
            assert first.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == [foreign.name]
