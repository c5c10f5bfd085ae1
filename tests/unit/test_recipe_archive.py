"""A source tree becomes the same archive wherever and whenever it lies."""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild.recipe import archive


def make_tree(top: Path) -> Path:
    (top / "tensorflow" / "core").mkdir(parents=True)
    (top / "tensorflow" / "core" / "a.cc").write_text("int a;\n")
    (top / "configure").write_text("#!/bin/sh\n")
    (top / "configure").chmod(0o755)
    (top / "empty").mkdir()
    (top / "link").symlink_to("tensorflow/core")
    (top / "dangling").symlink_to("nowhere")
    (top / ("long" * 40)).write_text("x")
    (top / ".git").mkdir()
    (top / ".git" / "config").write_text("password")
    (top / "tensorflow" / ".git").write_text("gitdir: elsewhere")
    (top / "bazel-out").symlink_to("/nowhere")
    (top / "bazel-notes.txt").write_text("kept")
    return top


def packed(tree: Path) -> bytes:
    sink = io.BytesIO()
    archive.write(tree, sink)
    return sink.getvalue()


def test_same_bytes_for_another_place_time_and_order(tmp_path: Path) -> None:
    one = make_tree(tmp_path / "one")
    two = tmp_path / "two" / "deeper"
    two.mkdir(parents=True)
    for path in sorted(one.rglob("*"), reverse=True):
        target = two / path.relative_to(one)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            target.symlink_to(path.readlink())
        elif path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            shutil.copy(path, target)
            os.utime(target, (1, 1))
    (two / "tensorflow").chmod(0o700)
    (two / "tensorflow" / "core" / "a.cc").chmod(0o600)
    assert packed(one) == packed(two)


def test_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    linked, copied = tmp_path / "linked", tmp_path / "copied"
    for tree in (linked, copied):
        tree.mkdir()
        (tree / "a").write_text("same")
    (linked / "b").hardlink_to(linked / "a")
    (copied / "b").write_text("same")
    assert packed(linked) == packed(copied)


def test_tar_unpacks_what_was_there(tmp_path: Path) -> None:
    need(shutil.which("tar"), "tar is not here")
    tree = make_tree(tmp_path / "tree")
    (tmp_path / "source.tar").write_bytes(packed(tree))
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["tar", "xf", tmp_path / "source.tar", "-C", out], check=True)
    found = sorted(path.relative_to(out).as_posix() for path in out.rglob("*"))
    assert found == sorted(
        "bazel-notes.txt configure dangling empty link tensorflow tensorflow/core "
        f"tensorflow/core/a.cc {'long' * 40}".split()
    )
    assert (out / "configure").stat().st_mode & 0o777 == 0o755
    assert (out / "tensorflow/core/a.cc").read_text() == "int a;\n"
    assert (out / "link").readlink() == Path("tensorflow/core")


def test_nothing_tells_who_packed_it(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(make_tree(tmp_path / "tree")))) as tar:
        members = tar.getmembers()
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {
        (0, 0, "", "")
    }
    assert len({member.mtime for member in members}) == 1


def test_digest_is_that_of_the_bytes_and_tells_changes(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    before = archive.digest(tree)
    assert before == hashlib.sha256(packed(tree)).hexdigest()
    (tree / ".git" / "config").write_text("other")
    assert archive.digest(tree) == before
    (tree / "configure").chmod(0o644)
    assert archive.digest(tree) != before
    (tree / "configure").chmod(0o755)
    (tree / "tensorflow" / "core" / "a.cc").write_text("int b;\n")
    assert archive.digest(tree) != before


def test_an_archive_goes_along_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tf.tar.gz"
    path.write_bytes(os.urandom(3 << 20))
    assert packed(path) == path.read_bytes()
    assert archive.digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_socket_is_left_out(tmp_path: Path) -> None:
    need(hasattr(os, "mkfifo"), "no named pipes here")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_text("a")
    before = packed(tree)
    os.mkfifo(tree / "pipe")
    assert packed(tree) == before


def test_a_folder_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not be left out without a word. (Root may list any folder, so it is made up.)"""
    tree = make_tree(tmp_path / "tree")
    real = os.scandir

    def scandir(path: str) -> object:
        if Path(path) == tree / "tensorflow":
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError):
        archive.digest(tree)
