"""The files of a distribution, in a wheel or installed, seen in the same way."""

import csv
import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from tfbuild.errors import SaveError, WheelError
from tfbuild.wheel.archive import CHUNK, MAX_TEXT, Archive


class Contents(Protocol):
    """A distribution's files."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of each file; names as in RECORD."""

    @property
    def place(self) -> Mapping[str, str]:
        """Where another process finds them: {"wheel": path} or {"installed": .dist-info folder}."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading and seeking. Raises WheelError, SaveError."""

    def text(self, name: str) -> bytes | None:
        """Return a small file of .dist-info ("WHEEL"), None if missing. Raises WheelError."""

    def small(self, name: str) -> bytes | None:
        """Return any small file by its full name, None if missing. Raises WheelError."""


class WheelContents:
    """The files of a wheel."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.sizes = {name: info.file_size for name, info in archive.members.items()}
        self.place = {"wheel": str(archive.path)}

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Unpack one file, for as long as it is needed."""
        with ExitStack() as stack:
            try:
                # Without a buffer: other processes read it by its number.
                file = stack.enter_context(tempfile.TemporaryFile(buffering=0))
                for chunk in self._archive.chunks(name):
                    _write(file, chunk)
                file.seek(0)
            except OSError as error:
                raise SaveError(
                    f"Cannot unpack {name} into a temporary file.",
                    why=error.strerror or str(error),
                    do=f"It needs {self.sizes[name] >> 20} MB below {tempfile.gettempdir()}; "
                    "TMPDIR=FOLDER chooses another place.",
                ) from error
            yield cast("BinaryIO", file)

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
        self.place = {"installed": str(dist_info)}

    def _listed(self) -> Iterator[tuple[str, int]]:
        record = self.text("RECORD")
        if record is None:
            raise WheelError(
                f"{self._dist_info.name} has no RECORD.",
                why="Without it nobody knows which files belong to the distribution.",
                do="Install it with pip or uv, or inspect its wheel.",
            )
        rows = csv.reader(io.StringIO(record.decode("utf-8", "replace")))
        for name in (row[0] for row in rows if row):
            path = self._site / name
            # Scripts lie outside, and a hostile RECORD may name anything.
            inside = not Path(name).is_absolute() and ".." not in Path(name).parts
            if not inside or not path.is_file():
                continue
            yield name, path.stat().st_size

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open an installed file."""
        try:
            file = (self._site / name).open("rb", buffering=CHUNK)
        except OSError as error:
            raise WheelError(f"Cannot read {name}.", why=error.strerror or str(error)) from error
        with file:
            yield file

    def text(self, name: str) -> bytes | None:
        """Return a small file of .dist-info."""
        return self._read(self._dist_info / name)

    def small(self, name: str) -> bytes | None:
        """Return any small file."""
        return self._read(self._site / name)

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes() if path.stat().st_size < MAX_TEXT else None
        except OSError:
            return None


def _write(file: RawIOBase, chunk: bytes) -> None:
    left = memoryview(chunk)
    while left:
        left = left[file.write(left) or 0 :]
