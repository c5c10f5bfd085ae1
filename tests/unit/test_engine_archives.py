"""Files in and out of containers, byte for byte; nothing lands outside."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfbuild.engine import archives
from tfbuild.errors import EngineError


def chunked(data: bytes, size: int) -> Iterator[bytes]:
    yield from (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 512, 1 << 20])
def test_what_goes_in_comes_out(size: int, tmp_path: Path) -> None:
    files = {"a.whl": bytes(range(256)) * 40, "build.json": b"{}", "empty": b""}
    archives.unpack(chunked(archives.packed(files), size), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_nothing_lands_outside(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("../escaped", "/absolute", "out/x.whl"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))
        link = tarfile.TarInfo("out/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    inside = tmp_path / "inside"
    inside.mkdir()
    archives.unpack([buffer.getvalue()], inside)
    assert sorted(path.name for path in inside.iterdir()) == ["absolute", "escaped", "x.whl"]
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_damaged_stream(tmp_path: Path) -> None:
    data = archives.packed({"a.whl": b"x" * 5000})
    with pytest.raises(EngineError, match="damaged"):
        archives.unpack([data[:2000]], tmp_path)


def test_lines_of_chunks() -> None:
    data = "first\r\nsecond\nthird\rü".encode()
    for size in (1, 2, 3, 100):
        found = [line for line in archives.lines(chunked(data, size)) if line]
        assert found == ["first", "second", "third", "ü"]


def test_context_is_the_same_whoever_owns_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("x")
    buffer = io.BytesIO()
    archives.pack(tmp_path, buffer)
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == ["folder", "folder/file"]
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries} == {(0, 0, 0)}
