"""Files that are no wheel, or are one made to trick: refused, and cheaply."""

import os
import socket
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import faults
from tests.conftest import need
from tests.faults import INFO, MODULE, good
from tfbuild.errors import WheelError
from tfbuild.verify import static
from tfbuild.wheel import archive, layout

FAULTS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "empty": (faults.cut(lambda _: 0), "is empty"),
    "one byte": (faults.cut(lambda _: 1), "cut off"),
    "first header": (faults.cut(lambda _: 30), "cut off"),
    "half": (faults.cut(lambda data: len(data) // 2), "cut off"),
    "no directory": (faults.cut(lambda data: data.index(b"PK\x01\x02")), "cut off"),
    "no end": (faults.cut(lambda data: len(data) - 22), "cut off"),
    "one byte less": (faults.cut(lambda data: len(data) - 1), "cut off"),
    "no zip": (lambda w: faults.patched(w, lambda _: b"<html>Not found</html>"), "cut off"),
    "trailing": (lambda w: faults.patched(w, lambda data: data + b"x"), "after its end belong"),
    "prefix": (faults.prefixed, "17 bytes before example/__init__.py belong to no member"),
    "hidden": (faults.hidden, "belong to no member"),
    "two ends": (faults.two_ends, "belong to no member"),
    "overlap": (faults.overlapping, "overlaps"),
    "quoted overlap": (faults.quoting, "example/inner overlaps example/outer"),
    "bomb": (faults.bomb, "ZIP bomb"),
    "twice": (faults.twice, "is in it twice"),
    "file and folder": (faults.added("example/data.txt/x"), "is a file and a folder"),
    "own name": (
        lambda w: faults.patched(
            w, lambda d: d.replace(MODULE.encode(), b"example/__evil__.py", 1)
        ),
        "in its own header",
    ),
    "own size": (faults.header(b"PK\x03\x04", 22, "<I", 7), "another size in its own header"),
    "own method": (faults.header(b"PK\x03\x04", 8, "<H", 0), "packed in another way"),
    "offset": (faults.header(b"PK\x01\x02", 42, "<I", 1), "belong to no member"),
    "no header": (faults.header(b"PK\x03\x04", 3, "<B", 5), "not where the directory says"),
    "encrypted": (faults.header(b"PK\x01\x02", 8, "<H", 1), "is encrypted"),
    "bzip2": (faults.packed_by(zipfile.ZIP_BZIP2), "installers know stored and deflated"),
    "lzma": (faults.packed_by(zipfile.ZIP_LZMA), "installers know stored and deflated"),
    "huge directory": (faults.header(b"PK\x05\x06", 12, "<I", 0x7FFFFFFF), "cut off"),
    "up": (faults.added("../evil.py"), "leads out"),
    "up later": (faults.added("example/../../evil.py"), "leads out"),
    "absolute": (faults.added("/etc/evil.py"), "leads out"),
    "drive": (faults.added("C:/evil.py"), "leads out"),
    "backslash": (faults.renamed(MODULE, rb"..\evils\__init_.py"), "leads out"),
    "NUL": (faults.renamed(MODULE, b"example/__init\0_.py"), "leads out"),
    "newline": (faults.renamed(MODULE, b"example/__init\n_.py"), "leads out"),
    "delete": (faults.renamed(MODULE, b"example/__init\x7f_.py"), "leads out"),
    "empty part": (faults.added("example//evil.py"), "leads out"),
    "dot": (faults.added("./evil.py"), "leads out"),
    "full-width slash": (faults.added("example\uff0fevil.py/../x"), "leads out"),
    "one dot leaders": (faults.added("\u2024\u2024/evil.py"), "leads out"),
    "long": (faults.added(f"example/{'x' * 256}"), "leads out"),
    "no dist-info": (
        lambda w: faults.patched(
            w, lambda d: d.replace(INFO.encode(), INFO[:-4].encode() + b"x" * 4)
        ),
        "exactly one .dist-info folder; here: none",
    ),
    "two dist-info": (faults.added("other-1.0.dist-info/METADATA"), "exactly one .dist-info"),
    "other version": (
        lambda w: faults.patched(w, lambda d: d.replace(INFO.encode(), b"example-1.1.dist-info")),
        "contradict each other",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_bad_archive_is_refused_and_the_other_checks_are_not_tried(
    name: str, tmp_path: Path
) -> None:
    make, says = FAULTS[name]
    wheel = make(good(tmp_path))
    with pytest.raises(WheelError) as caught, archive.opened(wheel):
        pass
    assert says in str(caught.value)
    first, *others = static.checks(wheel)
    assert (first.name, first.status) == ("structure", "failed")
    assert says in f"{first.found} {first.why}"
    assert [check.status for check in others] == ["skipped"] * 5


def test_every_beginning_of_a_wheel_is_refused(tmp_path: Path) -> None:
    whole = good(tmp_path, files={MODULE: b"x"}).read_bytes()
    wheel = tmp_path / "example-1.0-py3-none-any.whl"
    for length in range(len(whole)):
        wheel.write_bytes(whole[:length])
        with pytest.raises(WheelError), archive.opened(wheel):
            pass


def test_a_quoted_overlap_is_one_that_others_unpack(tmp_path: Path) -> None:
    """Else the fault above would be found for another reason."""
    import shutil
    import subprocess

    need(shutil.which("unzip"), "unzip is missing")
    wheel = faults.quoting(good(tmp_path))
    done = subprocess.run(["unzip", "-p", wheel, "example/inner"], capture_output=True, check=False)
    assert done.stdout == bytes(1000) or b"overlapped components" in done.stderr


def test_the_good_wheel_is_good(tmp_path: Path) -> None:
    assert [c.status for c in static.checks(good(tmp_path))][:3] == ["passed"] * 3


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "socket", "device", "loop", "name"])
def test_what_is_no_file_is_told_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "example-1.0-py3-none-any.whl"
    says = {
        "missing": "No such file", "folder": "a folder", "pipe": "a pipe", "loop": "symbolic link",
        "socket": "No such device", "device": "a device", "name": "too long",
    }[kind]  # fmt: skip
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "name":
        path = tmp_path / f"{'x' * 300}-1.0-py3-none-any.whl"
    with pytest.raises(WheelError, match="Cannot read") as caught, archive.opened(path):
        pass
    assert says in caught.value.why


def test_a_link_to_a_wheel_is_a_wheel(tmp_path: Path) -> None:
    link = tmp_path / "example-1.0-py3-none-any.whl"
    link.symlink_to(good(tmp_path / "elsewhere"))
    with archive.opened(link) as wheel:
        assert MODULE in wheel.members


def test_a_wheel_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = good(tmp_path)
    wheel.chmod(0)
    if os.geteuid() == 0:  # root reads everything: let the kernel's answer be the same

        def refuse(*_: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(WheelError, match="Cannot read") as caught, archive.opened(wheel):
        pass
    assert caught.value.why == "Permission denied"


def test_a_member_of_4_gb_opens_without_being_read(tmp_path: Path) -> None:
    wheel = faults.of_4_gb(tmp_path)
    assert wheel.stat().st_blocks * 512 < 1 << 20
    tracemalloc.start()
    try:
        with archive.opened(wheel) as opened:
            assert opened.members["example/zeros"].file_size == (4 << 30) + 5
            chunks = opened.chunks("example/zeros")
            assert next(chunks) == bytes(archive.CHUNK)
            chunks.close()  # type: ignore[attr-defined]
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_directory_that_claims_to_be_huge_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = good(tmp_path)
    monkeypatch.setattr(layout, "MAX_READ", 200)
    with pytest.raises(WheelError) as caught, archive.opened(wheel):
        pass
    assert "a table of" in caught.value.why


def test_more_members_than_any_wheel_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfbuild.wheel.members.MAX_MEMBERS", 4)
    with pytest.raises(WheelError) as caught, archive.opened(good(tmp_path)):
        pass
    assert caught.value.why == "It claims 5 members."


def test_data_that_is_streamed_or_aligned_by_a_descriptor_is_no_gap(tmp_path: Path) -> None:
    plain = good(tmp_path / "plain")
    with zipfile.ZipFile(plain) as source:
        contents = {name: source.read(name) for name in source.namelist()}

    class Unseekable:
        def __init__(self, path: Path) -> None:
            file = path.open("wb")
            self.write, self.flush, self.close = file.write, file.flush, file.close

    streamed = tmp_path / plain.name
    stream = Unseekable(streamed)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in contents.items():
            target.writestr(name, data)
    stream.close()
    assert b"PK\x07\x08" in streamed.read_bytes()
    with archive.opened(streamed) as opened:
        assert b"".join(opened.chunks(MODULE)) == faults.DATA


@pytest.mark.parametrize("odd", [b"\xff", b"\x1b[31m", b"\n"], ids=["no UTF-8", "escape", "line"])
def test_a_name_that_no_wheel_has(odd: bytes, tmp_path: Path) -> None:
    wheel = good(tmp_path)
    path = tmp_path / os.fsdecode(os.fsencode(wheel.stem) + odd + b".whl")
    wheel.rename(path)
    with pytest.raises(WheelError, match="not the name of a wheel"), archive.opened(path):
        pass
