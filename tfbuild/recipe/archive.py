"""A folder as a tar archive with the same bytes each time."""

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# 1980-01-01: the oldest time that a zip file, and so a wheel, can hold.
_TIME = 315532800


def write(source: Path, out: BinaryIO) -> None:
    """Write `source`, an archive or a folder, to `out` as the context's source archive."""
    if source.is_file():
        with source.open("rb") as file:
            while block := file.read(1 << 20):
                out.write(block)
        return
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in _entries(source):
            _add(tar, source, path)


def digest(source: Path) -> str:
    """Return the SHA-256 of what `write` would write."""
    sink = _Hashing()
    write(source, sink)  # type: ignore[arg-type]
    return sink.hash.hexdigest()


class _Hashing:
    """A file that keeps only the hash of what is written to it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size


def _entries(top: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(top):
        here = Path(folder)
        names[:] = sorted(name for name in names if not _left_out(here / name, top))
        links = [name for name in names if (here / name).is_symlink()]
        for name in sorted([*files, *names]):
            if name in files and _left_out(here / name, top):
                continue
            yield here / name
        names[:] = [name for name in names if name not in links]


def _left_out(path: Path, top: Path) -> bool:
    """Leave out version control, and Bazel's links out of the tree."""
    if path.name == ".git":
        return True
    return path.parent == top and path.name.startswith("bazel-") and path.is_symlink()


def _add(tar: tarfile.TarFile, top: Path, path: Path) -> None:
    status = path.lstat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or path.is_symlink()):
        return
    # Hard links are told by their number in this file system; as plain files they have none.
    tar.inodes = {}  # type: ignore[attr-defined]
    info = tar.gettarinfo(path, arcname=path.relative_to(top).as_posix())
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = _TIME
    info.mode = 0o777 if info.issym() else 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    if info.isreg():
        with path.open("rb") as file:
            tar.addfile(info, file)
    else:
        tar.addfile(info)
