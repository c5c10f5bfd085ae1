"""Tar streams to and from containers, and lines out of chunks."""

import io
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, cast

from tfbuild.errors import EngineError


def pack(folder: Path, file: IO[bytes]) -> None:
    """Write the folder's content as a tar stream, names relative to it, owned by root."""
    with tarfile.open(fileobj=file, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(
                path, arcname=str(path.relative_to(folder)), recursive=False, filter=_of_root
            )


def packed(files: Mapping[str, bytes], *, folder: str = "", mode: int = 0o755) -> bytes:
    """Return a tar archive of the files in a folder, owned by root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
            entry.size = len(data)
            entry.mode = mode
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def unpack(chunks: Iterable[bytes], into: Path) -> None:
    """Write the regular files of a tar stream flat into a folder; they belong to the caller.

    Links, devices and folders are left out, so nothing lands outside the folder.
    """
    reader = io.BufferedReader(cast("io.RawIOBase", _Chunks(chunks)), buffer_size=1 << 20)
    try:
        with tarfile.open(fileobj=reader, mode="r|") as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isreg() else None
                if content is not None:
                    with (into / PurePosixPath(entry.name).name).open("wb") as target:
                        shutil.copyfileobj(content, target)
    except tarfile.TarError as error:
        raise EngineError("What the container gave back is damaged.", why=str(error)) from error


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Cut a byte stream into lines of text; a carriage return ends a line too."""
    rest = b""
    for chunk in chunks:
        rest += chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = rest.split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    # The builder's cache compares content and mode, and the time must not matter.
    entry.mtime = 0
    return entry


class _Chunks(io.RawIOBase):
    """A readable file over an iterable of byte strings."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        part = self._rest[: len(buffer)]
        buffer[: len(part)] = part
        self._rest = self._rest[len(part) :]
        return len(part)
