"""Labels, judged by wheel, pip, uv, importlib.metadata and an independent reading of RECORD."""

import base64
import csv
import hashlib
import importlib.metadata
import io
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from tests.wheels import make_wheel
from tfbuild.errors import SaveError, TfbuildError, UsageError, WheelError
from tfbuild.wheel.label import relabel

INFO = "tensorflow_cpu-2.21.0.dist-info"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return make_wheel(
        tmp_path / "in",
        "tensorflow-cpu",
        tag="cp312-cp312-manylinux_2_27_x86_64",
        files={
            "tensorflow/__init__.py": "VALUE = 1\n",
            "tensorflow/libtensorflow_cc.so.2": bytes(range(256)) * 4096,
            "tensorflow/name, with comma.txt": "x",
            "tensorflow_cpu-2.21.0.data/scripts/toco": "#!python\nprint('toco')\n",
        },
    )


def rewritten(
    wheel: Path, change: Callable[[dict[str, bytes]], None], folder: Path, name: str = ""
) -> Path:
    """Copy a wheel with its members changed, RECORD untouched."""
    with zipfile.ZipFile(wheel) as old:
        members = {each: old.read(each) for each in old.namelist()}
    change(members)
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / (name or wheel.name), "w") as new:
        for each, data in members.items():
            new.writestr(each, data)
    return folder / (name or wheel.name)


def check_record(files: Mapping[str, bytes], record: str) -> None:
    """Verify each line of a RECORD, and that it has a line for each file."""
    rows = list(csv.reader(io.StringIO(files[record].decode())))
    assert [row[0] for row in rows].count(record) == 1
    for name, digest, size in rows:
        if name == record:
            assert (digest, size) == ("", "")
            continue
        algorithm, _, text = digest.partition("=")
        found = base64.urlsafe_b64encode(hashlib.new(algorithm, files[name]).digest())
        assert text == found.decode().rstrip("=")
        assert int(size) == len(files[name])
    assert {row[0] for row in rows} == set(files)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_name_folder_metadata_and_record_carry_the_label(plain: Path, tmp_path: Path) -> None:
    new = relabel(plain, "skylake", tmp_path / "out", {"tfbuild.json": b"{}\n"})
    assert new.name == "tensorflow_cpu-2.21.0+skylake-cp312-cp312-manylinux_2_27_x86_64.whl"
    name, version, _, _ = parse_wheel_filename(new.name)
    assert (name, version) == ("tensorflow-cpu", Version("2.21.0+skylake"))
    before, after = contents(plain), contents(new)
    info = "tensorflow_cpu-2.21.0+skylake.dist-info"
    check_record(after, f"{info}/RECORD")
    metadata = before[f"{INFO}/METADATA"].replace(
        b"Version: 2.21.0\n", b"Version: 2.21.0+skylake\n"
    )
    assert metadata != before[f"{INFO}/METADATA"]
    assert after == {
        **{name: data for name, data in before.items() if name.startswith("tensorflow/")},
        "tensorflow_cpu-2.21.0+skylake.data/scripts/toco": b"#!python\nprint('toco')\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": before[f"{INFO}/WHEEL"],
        f"{info}/tfbuild.json": b"{}\n",
        f"{info}/RECORD": after[f"{info}/RECORD"],
    }
    assert list(after)[-1] == f"{info}/RECORD"


def test_wheel_unpacks_it(plain: Path, tmp_path: Path) -> None:
    new = relabel(plain, "skylake", tmp_path / "out")
    command = [sys.executable, "-m", "wheel", "unpack", "-d", str(tmp_path / "un"), str(new)]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "un/tensorflow_cpu-2.21.0+skylake/tensorflow/__init__.py").exists()


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_pip_and_uv_install_it(installer: str, tmp_path: Path) -> None:
    files = {
        "tensorflow_cpu/__init__.py": "VALUE = 1\n",
        "tensorflow_cpu-2.21.0.data/purelib/more.py": "VALUE = 2\n",
    }
    plain = make_wheel(tmp_path / "in", "tensorflow-cpu", files=files)
    new = relabel(plain, "x86.64.v3", tmp_path / "out", {"tfbuild.json": b"{}\n"})
    target = tmp_path / "site"
    command = {
        "pip": [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--no-index",
            "--disable-pip-version-check",
        ],
        "uv": ["uv", "pip", "install", "--offline", "--python", sys.executable],
    }[installer]
    command += ["--no-deps", "--target", str(target), f"tensorflow-cpu=={'2.21.0+x86.64.v3'}"]
    command += ["--find-links", str(new.parent)]
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        env={**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache")},
    )
    (found,) = importlib.metadata.distributions(path=[str(target)])
    assert (found.name, found.version) == ("tensorflow-cpu", "2.21.0+x86.64.v3")
    assert (found.read_text("tfbuild.json"), (target / "more.py").read_text()) == (
        "{}\n",
        "VALUE = 2\n",
    )
    for file in found.files or ():
        if file.hash is not None and file.locate().is_file():  # type: ignore[attr-defined]
            digest = hashlib.new(file.hash.mode, file.read_binary()).digest()
            text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            assert text == file.hash.value


def test_the_same_wheel_gives_the_same_bytes(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = relabel(plain, "skylake", tmp_path / "a").read_bytes()

    def reorder(members: dict[str, bytes]) -> None:
        for name in sorted(members, reverse=True):
            members[name] = members.pop(name)

    # Another order, today's timestamps, stored instead of deflated: the same wheel all the same.
    shuffled = rewritten(plain, reorder, tmp_path / "shuffled")
    assert shuffled.read_bytes() != plain.read_bytes()
    assert relabel(shuffled, "skylake", tmp_path / "b").read_bytes() == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000001")
    dated = relabel(plain, "skylake", tmp_path / "c")
    with zipfile.ZipFile(dated) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    for nonsense in ("-1", "tomorrow", "99999999999999999999", "0"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", nonsense)
        assert relabel(plain, "skylake", tmp_path / "d").read_bytes() == first


def test_executables_stay_executable(tmp_path: Path) -> None:
    plain = make_wheel(tmp_path / "in", "tensorflow-cpu", files={"a.py": "", "run": "#!/bin/sh\n"})
    with zipfile.ZipFile(plain, "a") as archive:
        info = zipfile.ZipInfo("tensorflow/bin/tool")
        info.external_attr = 0o100_750 << 16
        archive.writestr(info, "#!/bin/sh\n")
    with zipfile.ZipFile(relabel(plain, "zen3", tmp_path / "out")) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert modes.pop("tensorflow/bin/tool") == stat.S_IFREG | 0o755
    assert set(modes.values()) == {stat.S_IFREG | 0o644}


def test_labelling_twice_with_the_same_label_changes_only_the_extra_files(
    plain: Path, tmp_path: Path
) -> None:
    once = relabel(plain, "skylake", tmp_path / "a", {"tfbuild.json": b"1"})
    again = relabel(once, "skylake", tmp_path / "b", {"tfbuild.json": b"1"})
    assert again.read_bytes() == once.read_bytes()
    other = contents(relabel(once, "skylake", tmp_path / "c", {"tfbuild.json": b"22"}))
    info = "tensorflow_cpu-2.21.0+skylake.dist-info"
    assert other[f"{info}/tfbuild.json"] == b"22"
    check_record(other, f"{info}/RECORD")


def test_in_place(plain: Path) -> None:
    once = relabel(plain, "skylake", plain.parent, {"a": b"1"})
    before = once.read_bytes()
    assert relabel(once, "skylake", plain.parent, {"a": b"1"}) == once
    assert once.read_bytes() == before


def test_a_build_tag_stays(tmp_path: Path) -> None:
    plain = make_wheel(tmp_path / "in")
    tagged = plain.rename(plain.with_name("tensorflow-2.21.0-7-py3-none-any.whl"))
    new = relabel(tagged, "zen3", tmp_path / "out")
    assert new.name == "tensorflow-2.21.0+zen3-7-py3-none-any.whl"


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("Sky_Lake-AVX512", "sky.lake.avx512"),
        ("skylake.01", "skylake.1"),
        ("", ""),
        ("512", ""),
        ("a..b", ""),
        ("a b", ""),
        ("a/../../b", ""),
        ("a\n", ""),
        ("é", ""),
    ],
)
def test_bad_labels(label: str, hint: str, plain: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        relabel(plain, label, tmp_path / "out")
    assert hint in caught.value.do
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["RECORD", "METADATA", "WHEEL", "../x", "/x", "a//b", "", "a\\b"])
def test_bad_extra_files(name: str, plain: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        relabel(plain, "skylake", tmp_path / "out", {name: b""})


def _change_code(members: dict[str, bytes]) -> None:
    members["tensorflow/__init__.py"] = b"VALUE = 2\n"


def _sign(members: dict[str, bytes]) -> None:
    members[f"{INFO}/RECORD.jws"] = b"{}"


def _other_version(members: dict[str, bytes]) -> None:
    members[f"{INFO}/METADATA"] = members[f"{INFO}/METADATA"].replace(b"2.21.0", b"2.20.0")


def _no_version(members: dict[str, bytes]) -> None:
    members[f"{INFO}/METADATA"] = b"Name: tensorflow-cpu\n\nVersion: 2.21.0\n"


def _drop(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda members: (members.pop(f"{INFO}/{name}"), None)[1]


def _add(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({name: b"x"})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_change_code, "does not fit its hash"),
        (_sign, "signed"),
        (_other_version, "does not state"),
        (_no_version, "does not state"),
        (_drop("METADATA"), "no tensorflow_cpu-2.21.0.dist-info/METADATA"),
        (_drop("RECORD"), "RECORD"),
        (_add("../evil"), "leads out"),
        (_add("/evil"), "leads out"),
        (_add("a/../../evil"), "leads out"),
        (_add("a\\..\\evil"), "leads out"),
        (_add("other-1.0.dist-info/METADATA"), "exactly one"),
    ],
)
def test_wheels_that_are_refused(
    change: Callable[[dict[str, bytes]], None], says: str, plain: Path, tmp_path: Path
) -> None:
    bad = rewritten(plain, change, tmp_path / "bad")
    with pytest.raises(WheelError) as caught:
        relabel(bad, "skylake", tmp_path / "out")
    assert says in str(caught.value)
    # Neither a wheel nor a part of one is left.
    assert list((tmp_path / "out").glob("*")) == []


def test_another_label_is_refused(plain: Path, tmp_path: Path) -> None:
    labelled = relabel(plain, "haswell", tmp_path / "out")
    with pytest.raises(WheelError, match="already has the label 'haswell'"):
        relabel(labelled, "skylake", tmp_path / "out")


def test_file_names_that_contradict_or_are_none(plain: Path, tmp_path: Path) -> None:
    for name, says in [
        ("tensorflow_cpu-2.20.0-py3-none-any.whl", "contradict"),
        ("numpy-2.21.0-py3-none-any.whl", "contradict"),
        ("tensorflow.whl", "not the name of a wheel"),
        ("tensorflow.zip", "not the name of a wheel"),
    ]:
        copy = tmp_path / name
        copy.write_bytes(plain.read_bytes())
        with pytest.raises(WheelError, match=says):
            relabel(copy, "skylake", tmp_path / "out")


@pytest.mark.parametrize("keep", [0, 10, 5000, -30])
def test_a_truncated_wheel_is_refused(keep: int, plain: Path, tmp_path: Path) -> None:
    data = plain.read_bytes()
    plain.write_bytes(data[:keep])
    with pytest.raises(WheelError, match="not a wheel"):
        relabel(plain, "skylake", tmp_path / "out")


def test_every_damaged_byte_is_an_error_or_harmless(tmp_path: Path) -> None:
    plain = make_wheel(tmp_path / "in", files={"tensorflow/a.py": "VALUE = 1\n" * 50})
    good = contents(relabel(plain, "skylake", tmp_path / "good"))
    data = plain.read_bytes()
    refused = 0
    for place in range(0, len(data), 3):
        plain.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            new = relabel(plain, "skylake", tmp_path / "out")
        except TfbuildError:
            refused += 1
            continue
        changed = {name for name, text in contents(new).items() if good.get(name) != text}
        # WHEEL and RECORD of the input name no checksum of themselves but the ZIP's.
        assert not {name for name in changed if name.endswith((".py", "METADATA", "WHEEL"))}
    assert refused > len(data) // 3 // 2


def test_a_missing_wheel(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="Cannot read"):
        relabel(tmp_path / "tensorflow-2.21.0-py3-none-any.whl", "skylake", tmp_path)


def test_a_folder_that_cannot_be_made(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError):
        relabel(plain, "skylake", tmp_path / "file")


def test_members_are_streamed(tmp_path: Path) -> None:
    import tracemalloc

    plain = make_wheel(tmp_path / "in", files={"tensorflow/big.so": bytes(96 << 20)})
    tracemalloc.start()
    try:
        relabel(plain, "skylake", tmp_path / "out")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
