import errno
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

from tests.conftest import need
from tfbuild import artifact
from tfbuild.errors import SaveError, UsageError
from tfbuild.record import Actions, BuiltWheel


def wheel_record() -> BuiltWheel:
    return BuiltWheel(
        file="tensorflow-2.21.0+haswell-cp312-cp312-linux_x86_64.whl",
        sha256="0" * 64,
        size=3,
        distribution="tensorflow",
        version="2.21.0+haswell",
        tensorflow="2.21.0",
        python="3.12",
        architecture="x86_64",
        target="haswell",
        requires=frozenset({"fma", "avx2"}),
        flags=("-march=haswell",),
        recipe_digest="1" * 64,
        engine="docker 20.10.24",
        image=None,
        compiler="gcc 12.2.0",
        bazel="4.2.3",
        actions=Actions(total=10, cached=4, executed=6),
        seconds=1.5,
        built_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        tfbuild="0.1.0",
    )


def test_a_saved_value_reads_back_equal(tmp_path: Path) -> None:
    path = artifact.save(wheel_record(), tmp_path / "deep" / "record.json")
    assert artifact.load(BuiltWheel, path) == wheel_record()


def test_the_file_names_its_schema_first_and_sorts_sets(tmp_path: Path) -> None:
    data = json.loads(artifact.save(wheel_record(), tmp_path / "r.json").read_text())
    assert next(iter(data)) == "schema"
    assert data["schema"] == "tfbuild.wheel/1"
    assert data["requires"] == ["avx2", "fma"]
    assert data["built_at"] == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a tfbuild.wheel file"),
        ('{"schema": "tfbuild.host/1"}', "not a tfbuild.wheel file"),
        ('{"schema": "tfbuild.wheel/99"}', "has version 99"),
        ('{"schema": "tfbuild.wheel/1", "file": 3}', "damaged"),
    ],
)
def test_what_is_not_the_value_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        artifact.from_json(BuiltWheel, text, source="record.json")


def test_a_failure_in_mid_write_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    path = artifact.write_text(tmp_path / "a.json", "old")

    def write() -> None:
        with artifact.writing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_an_error_that_is_not_about_the_file_passes_through(tmp_path: Path) -> None:
    def write() -> None:
        with artifact.writing(tmp_path / "a") as file:
            file.write(b"half")
            raise FileNotFoundError(errno.ENOENT, "elsewhere", "/another/file")

    with pytest.raises(OSError, match="elsewhere"):
        write()
    assert not list(tmp_path.iterdir())


def test_files_are_made_with_the_users_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        path = artifact.write_text(tmp_path / "a", "x")
        assert path.stat().st_mode & 0o777 == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount], capture_output=True, check=False
    )
    need(mounted.returncode == 0, "needs the right to mount a tmpfs")
    try:
        path = artifact.write_text(mount / "a.json", "old")
        with pytest.raises(SaveError, match="the disk is full") as caught:
            artifact.write_bytes(path, b"x" * 200_000)
        assert caught.value.exit_code == 11
        assert path.read_text() == "old"
        assert [entry.name for entry in mount.iterdir()] == ["a.json"]
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_path_that_cannot_be_a_folder_is_a_save_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="Cannot save"):
        artifact.write_text(tmp_path / "file" / "a.json", "x")


def test_sha256_agrees_with_sha256sum(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(range(256)) * 1000)
    shown = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    assert artifact.sha256(path) == shown.split()[0]


@dataclass(frozen=True, kw_only=True)
class Place:
    SCHEMA: ClassVar[str] = "test.place"
    VERSION: ClassVar[int] = 1
    path: Path


def test_paths_are_text_in_the_file(tmp_path: Path) -> None:
    place = Place(path=Path("/a/b"))
    assert artifact.from_json(Place, artifact.to_json(place)) == place


def test_importing_the_module_brings_no_room_with_it() -> None:
    code = (
        "import sys, tfbuild.artifact; print([m for m in sys.modules if m.startswith('tfbuild.')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "['tfbuild.errors', 'tfbuild.artifact']"


def test_a_reserved_name_is_nobody_elses(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with (
        artifact.reserved(folder, "2026.a", ".suite.json") as one,
        artifact.reserved(folder, "2026.a", ".suite.json") as two,
    ):
        artifact.write_text(one, "one")
        artifact.write_text(two, "two")
    assert (one.name, two.name) == ("2026.a.suite.json", "2026.a-2.suite.json")
    assert (one.read_text(), two.read_text()) == ("one", "two")


def test_a_reserved_name_where_nothing_was_saved_is_free_again(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), artifact.reserved(tmp_path, "a", ".json"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_name_where_none_can_be_had_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(SaveError, match="Cannot save"),
        artifact.reserved(tmp_path / "file", "a", ".json"),
    ):
        pass
