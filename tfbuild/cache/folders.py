"""What lies below the user's cache folder."""

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tfbuild import settings
from tfbuild.cache.model import Item, Kind
from tfbuild.engine.local import lock_file
from tfbuild.errors import SaveError

# Folder -> what each of its entries is.
_FOLDERS = {
    "local/source": Kind.SOURCE,
    "local/python": Kind.PYTHON,
    "local/cache": Kind.ACTIONS,
    "local/output": Kind.OUTPUT,
    "local/bazel": Kind.BAZEL,
    "pgo": Kind.PROFILE,
    "logs": Kind.LOG,
    "attempts": Kind.JOURNAL,
    "environments": Kind.ENVIRONMENT,
    "data": Kind.DATA,
    "inspections": Kind.INSPECTION,
    "wheels": Kind.WHEEL,
}
_BLOCK = 512


class FolderStore:
    """The folder that `settings.cache_folder` names."""

    name = "here"

    def __init__(self, top: Path | None = None) -> None:
        self._top = top or settings.cache_folder("x").parent

    def items(self) -> list[Item]:
        """Return each entry of the folders that tfbuild has there."""
        return [
            self._item(path, kind)
            for folder, kind in _FOLDERS.items()
            for path in sorted(_entries(self._top / folder))
        ]

    def remove(self, item: Item) -> None:
        """Remove it, if nobody works with it."""
        path = Path(item.identity)
        with _held(path) as free:
            if not free:
                raise SaveError(f"{path} is in use.")
            try:
                _delete(path)
            except OSError as error:
                raise SaveError(
                    f"Cannot remove {path}.", why=error.strerror or str(error)
                ) from error

    def _item(self, path: Path, kind: Kind) -> Item:
        size, used = measure(path)
        with _held(path) as free:
            busy = "" if free else "a process holds its lock"
        return Item(
            place=self.name,
            kind=kind,
            name=str(path.relative_to(self._top)),
            identity=str(path),
            size=size,
            used=used,
            what=self._about(path) if path.parts[-3] == "local" else "",
            busy=busy,
        )

    def _about(self, path: Path) -> str:
        """Return what the local engine has written down about the toolchain of that name."""
        try:
            note = self._top / "local/about" / path.name.partition("-")[0]
            return note.read_text(encoding="utf-8").strip()
        except OSError:
            return ""


def locks_of(path: Path) -> tuple[Path, ...]:
    """Return the files that whoever works in the folder may hold a lock on."""
    toolchain = path.name.partition("-")[0]
    return (path.parent / f".{path.name}.lock", lock_file(path.parent.parent, toolchain))


def _entries(folder: Path) -> list[Path]:
    try:
        # Names with a dot are locks and unfinished parts.
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SaveError(f"Cannot read {folder}.", why=error.strerror or str(error)) from error


def measure(path: Path) -> tuple[int, datetime]:
    """Return bytes on disk, and when one of its files was last written or read."""
    size, latest = 0, 0.0
    seen: set[tuple[int, int]] = set()
    for file in _files(path):
        try:
            facts = file.lstat()
        except OSError:
            continue
        if (facts.st_dev, facts.st_ino) in seen:
            continue
        seen.add((facts.st_dev, facts.st_ino))
        size += facts.st_blocks * _BLOCK
        # To look at folders and links is to read them: their times tell of this look.
        if stat.S_ISREG(facts.st_mode):
            latest = max(latest, facts.st_mtime, facts.st_atime)
    if not latest:
        with contextlib.suppress(OSError):
            latest = path.lstat().st_mtime
    return size, datetime.fromtimestamp(latest, UTC).replace(microsecond=0)


def _files(path: Path) -> Iterator[Path]:
    yield path
    if not path.is_symlink():
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                yield Path(folder) / name


@contextlib.contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Give whether nobody has the folder's or file's lock; within the block nobody gets it."""
    with contextlib.ExitStack() as stack:
        free = True
        for lock in (*locks_of(path), path):
            if lock.is_file():
                try:
                    file = stack.enter_context(lock.open("rb"))
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    free = False
        yield free


def _delete(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    # Bazel makes folders that even their owner may not write in.
    for folder, folders, _ in os.walk(path):
        for name in (".", *folders):
            inner = Path(folder) / name
            if not inner.is_symlink():
                inner.chmod(inner.stat().st_mode | stat.S_IRWXU)
    shutil.rmtree(path)
