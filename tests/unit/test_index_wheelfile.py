"""What counts as a wheel that an index may hold."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.wheels import make_wheel
from tfbuild.errors import UsageError, WheelError
from tfbuild.index import wheelfile


def test_reads_what_an_index_needs(tmp_path: Path) -> None:
    path = make_wheel(
        tmp_path, "Intel-TensorFlow", "2.21.0+skylake", requires_python=">=3.9,!=3.9.7"
    )
    wheel = wheelfile.read(path)
    assert wheel.project == "intel-tensorflow"
    assert wheel.requirement == "intel-tensorflow==2.21.0+skylake"
    assert wheel.label == "skylake"
    assert wheel.requires_python == ">=3.9,!=3.9.7"
    assert wheel.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert wheel.size == path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        assert wheel.metadata == archive.read("Intel_TensorFlow-2.21.0+skylake.dist-info/METADATA")


def test_a_label_is_normalised(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, version="2.21.0+Sky_Lake.AVX512")
    assert wheelfile.read(path).label == "sky.lake.avx512"


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.98])
def test_a_cut_download_is_no_wheel(tmp_path: Path, keep: float) -> None:
    path = make_wheel(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep if keep > 1 else len(data) * keep)])
    with pytest.raises(WheelError, match="not a wheel"):
        wheelfile.read(path)


def test_one_flipped_bit_is_found(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, files={"data.bin": bytes(range(256)) * 64})
    data = bytearray(path.read_bytes())
    data[60] ^= 1  # inside the first member's compressed bytes
    path.write_bytes(data)
    with pytest.raises(WheelError):
        wheelfile.read(path)


def test_a_zip_of_something_else_is_no_wheel(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "hello")
    with pytest.raises(WheelError, match=r"0 \*\.dist-info"):
        wheelfile.read(path)


@pytest.mark.parametrize(
    "renamed",
    ["tensorflow-2.21.0+haswell-py3-none-any.whl", "tensorflow_cpu-2.21.0-py3-none-any.whl"],
)
def test_a_renamed_wheel_is_refused(tmp_path: Path, renamed: str) -> None:
    path = make_wheel(tmp_path / "a").rename(tmp_path / renamed)
    with pytest.raises(WheelError, match="not what its name says"):
        wheelfile.read(path)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", "says 'other'"),
        ("Metadata-Version: 2.1\nName: demo\nVersion: 1.0+x\n", "version '1.0\\+x'"),
        ("Metadata-Version: 2.1\nVersion: 1.0\n", "not what its name says"),
        ("Metadata-Version: 2.1\nName: demo\nName: demo\nVersion: 1.0\n", "not what its name"),
        ("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Python: 3.9 up\n", "Requires-"),
    ],
)
def test_metadata_must_agree_and_make_sense(tmp_path: Path, metadata: str, message: str) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo-1.0.dist-info/METADATA", metadata)
    with pytest.raises(WheelError, match=message):
        wheelfile.read(path)


@pytest.mark.parametrize(
    "name",
    [
        "demo-1.0.tar.gz",
        "demo.whl",
        "demo-1.0-py3-none-any.zip",
        "demo-x.y-py3-none-any.whl",
        'demo-1.0-1"onload=x-py3-none-any.whl',
        "demo-1.0-1<b>-py3-none-any.whl",
        "demo-1.0-py3-none-any.whl\n",
        "démo-1.0-py3-none-any.whl",
        "demo-1.0-1%2F..-py3-none-any.whl",
        "..-1.0-py3-none-any.whl",
    ],
)
def test_hostile_and_wrong_names_are_refused(name: str) -> None:
    with pytest.raises(WheelError, match="not the name of a wheel"):
        wheelfile.parse_name(name)


def test_a_missing_file_and_a_folder_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        wheelfile.read(tmp_path / "demo-1.0-py3-none-any.whl")
    with pytest.raises(UsageError, match="is a folder"):
        wheelfile.read(tmp_path)


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil", "a\\..\\evil"])
def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    path = make_wheel(tmp_path, files={name: "x"})
    with pytest.raises(WheelError, match="leads out"):
        wheelfile.read(path)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_wheel(tmp_path, files={"zeros": bytes(1 << 20)})
    monkeypatch.setattr("tfbuild.wheel.members._BOMB_SIZE", 1 << 19)

    def unpack(*_: object) -> None:
        raise AssertionError("it was unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", unpack)
    with pytest.raises(WheelError, match="ZIP bomb"):
        wheelfile.read(path)
