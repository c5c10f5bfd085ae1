"""A folder as a tar archive that has the same bytes each time."""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer

# 1980-01-01: the oldest time that a zip file, and so a wheel, can hold.
_TIME = 315532800
_BLOCK = 1 << 20


class Sink(Protocol):
    """Where an archive is written to."""

    def write(self, data: bytes, /) -> int:
        """Take the next bytes; return their number."""


def write(source: Path, out: Sink) -> None:
    """Write a file as it is, or a folder as a tar archive.

    Left out are `.git`, and Bazel's own links at the top (`bazel-bin`, `bazel-out`, ...). Owners
    and times are the same for all; of the mode only "may be executed" stays.

    Raises:
        OSError: a file cannot be read.
    """
    if source.is_file():
        with source.open("rb") as file:
            while block := file.read(_BLOCK):
                out.write(block)
        return
    with tarfile.open(fileobj=_Stream(out), mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for path in _entries(source):
            _add(tar, source, path)


def digest(source: Path) -> str:
    """Return the SHA-256 of what `write` writes."""
    sink = _Hashing()
    write(source, sink)
    return sink.hash.hexdigest()


class _Hashing:
    """Keeps only the hash of what is written."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: bytes, /) -> int:
        self.hash.update(data)
        return len(data)


class _Stream(io.RawIOBase):
    """A sink in the form that tarfile wants."""

    def __init__(self, out: Sink) -> None:
        super().__init__()
        self._out = out

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer", /) -> int:
        return self._out.write(bytes(data))


def _entries(top: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(top, onerror=_raise):
        here = Path(folder)
        links = {name for name in folders if (here / name).is_symlink()}
        for name in sorted([*folders, *files]):
            path = here / name
            if _left_out(path, top):
                continue
            if path.is_symlink() or path.is_file() or path.is_dir():
                yield path
        folders[:] = sorted(
            name for name in folders if name not in links and not _left_out(here / name, top)
        )


def _raise(error: OSError) -> None:
    # By itself the walk leaves out, without a word, what it may not read.
    raise error


def _left_out(path: Path, top: Path) -> bool:
    own_link = path.parent == top and path.name.startswith("bazel-") and path.is_symlink()
    return path.name == ".git" or own_link


def _add(tar: tarfile.TarFile, top: Path, path: Path) -> None:
    info = tarfile.TarInfo(path.relative_to(top).as_posix())
    info.mtime = _TIME
    if path.is_symlink():
        info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, str(path.readlink())
        tar.addfile(info)
    elif path.is_dir():
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(info)
    else:
        status = path.stat()
        info.size, info.mode = status.st_size, 0o755 if status.st_mode & 0o100 else 0o644
        with path.open("rb") as file:
            tar.addfile(info, file)
