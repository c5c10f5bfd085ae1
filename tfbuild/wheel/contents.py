"""The files of a distribution, in a wheel or installed, seen in the same way."""

import csv
import io
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from tfbuild.errors import SaveError, WheelError
from tfbuild.wheel import inflate
from tfbuild.wheel.archive import CHUNK, DAMAGE, MAX_TEXT, Archive
from tfbuild.wheel.inflate import Packed
from tfbuild.wheel.members import damaged


class Files(Protocol):
    """Files that can be opened."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of each file; names as in RECORD."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading and seeking. Raises WheelError, SaveError."""


class Contents(Files, Protocol):
    """A distribution's files."""

    def job(self, names: Sequence[str]) -> dict[str, Any]:
        """Tell another process where these files are, for `FilesAgain`."""

    def text(self, name: str) -> bytes | None:
        """Return a small file of .dist-info ("WHEEL"), None if missing. Raises WheelError."""

    def small(self, name: str) -> bytes | None:
        """Return any small file by its full name, None if missing. Raises WheelError."""


class WheelContents:
    """The files of a wheel."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.sizes = {name: info.file_size for name, info in archive.members.items()}

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Unpack one file, for as long as it is needed."""
        with _unpacked(name, self.sizes[name], self._archive.chunks(name)) as file:
            yield file

    def job(self, names: Sequence[str]) -> dict[str, Any]:
        """Tell another process where the files are."""
        members = [Packed.of(self._archive.members[name]) for name in names]
        return {"wheel": str(self._archive.path.absolute()), "members": members}

    def text(self, name: str) -> bytes | None:
        """Return a small file of .dist-info."""
        return self.small(f"{self._archive.dist_info}/{name}")

    def small(self, name: str) -> bytes | None:
        """Return any small file."""
        if self.sizes.get(name, MAX_TEXT) >= MAX_TEXT:
            return None
        return b"".join(self._archive.chunks(name))


class InstalledContents:
    """The files that an installed distribution's RECORD lists below its site-packages folder."""

    def __init__(self, dist_info: Path) -> None:
        self._dist_info = dist_info
        self._site = dist_info.parent
        self.sizes = dict(self._listed())

    def _listed(self) -> Iterator[tuple[str, int]]:
        record = self.text("RECORD")
        if record is None:
            raise WheelError(
                f"{self._dist_info.name} has no RECORD.",
                why="Without it nobody knows which files belong to the distribution.",
                do="Install it with pip or uv, or inspect its wheel.",
            )
        rows = csv.reader(io.StringIO(record.decode("utf-8", "replace")))
        try:
            names = [row[0] for row in rows if row]
        except csv.Error as error:
            raise WheelError(
                f"The RECORD of {self._dist_info.name} cannot be read.", why=str(error)
            ) from error
        for name in names:
            # Scripts lie outside, and a hostile RECORD may name anything.
            inside = not Path(name).is_absolute() and ".." not in Path(name).parts
            size = _size(self._site / name) if inside else None
            if size is not None:
                yield name, size

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open an installed file."""
        with _opened(self._site / name) as file:
            yield file

    def job(self, names: Sequence[str]) -> dict[str, Any]:
        """Tell another process where the files are."""
        return {
            "site": str(self._site.absolute()),
            "sizes": {name: self.sizes[name] for name in names},
        }

    def text(self, name: str) -> bytes | None:
        """Return a small file of .dist-info."""
        return self._read(self._dist_info / name)

    def small(self, name: str) -> bytes | None:
        """Return any small file."""
        return self._read(self._site / name)

    def _read(self, path: Path) -> bytes | None:
        # A pipe would keep us waiting for ever.
        size = _size(path)
        try:
            return path.read_bytes() if size is not None and size < MAX_TEXT else None
        except OSError:
            return None


class FilesAgain:
    """Files of a distribution, in a process that was told where they are."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self._site = Path(job.get("site", "."))
        self._wheel = Path(job.get("wheel", "."))
        self._members = {row[0]: Packed(*row) for row in job.get("members", ())}
        sizes = {name: member.size for name, member in self._members.items()}
        self.sizes: Mapping[str, int] = sizes or job["sizes"]

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading and seeking. Raises WheelError, SaveError."""
        if name not in self._members:
            with _opened(self._site / name) as file:
                yield file
            return
        with (
            _opened(self._wheel) as wheel,
            _unpacked(name, self.sizes[name], self._chunks(wheel.fileno(), name)) as file,
        ):
            yield file

    def _chunks(self, descriptor: int, name: str) -> Iterator[bytes]:
        try:
            yield from inflate.chunks_at(descriptor, self._members[name])
        except DAMAGE as error:
            raise damaged(self._wheel, f"{name}: {error}") from error


def _size(path: Path) -> int | None:
    """Return the size of a regular file; None where there is none, or none of that name can be."""
    try:
        seen = path.stat()
    except (OSError, ValueError):
        return None
    return seen.st_size if stat.S_ISREG(seen.st_mode) else None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb", buffering=CHUNK)
    except OSError as error:
        raise WheelError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
    with file:
        yield file


@contextmanager
def _unpacked(name: str, size: int, chunks: Iterator[bytes]) -> Iterator[BinaryIO]:
    """Write a file's bytes into a temporary file, for as long as it is needed."""
    with ExitStack() as stack:
        try:
            # Without a buffer: other processes read it by its number.
            file = stack.enter_context(tempfile.TemporaryFile(buffering=0))
            for chunk in chunks:
                _write(file, chunk)
            file.seek(0)
        except OSError as error:
            raise no_room(name, size, error) from error
        yield cast("BinaryIO", file)


def no_room(name: str, size: int, error: OSError) -> SaveError:
    """Return the error for a file of so many bytes that cannot be unpacked."""
    try:
        place = f" below {tempfile.gettempdir()}"
    except OSError:  # where no folder can be written
        place = ""
    return SaveError(
        f"Cannot unpack {name} into a temporary file.",
        why=error.strerror or str(error),
        do=f"It needs {size >> 20} MB{place}; TMPDIR=FOLDER chooses another place.",
    )


def _write(file: RawIOBase, chunk: bytes) -> None:
    left = memoryview(chunk)
    while left:
        left = left[file.write(left) or 0 :]
