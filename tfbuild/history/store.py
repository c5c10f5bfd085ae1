"""The folder of results: each under its own hash, and an index that can be made again.

    <folder>/results/<sha256>.suite.json    as they were measured, byte for byte
    <folder>/index.json                     what is in them (tfbuild.history/1)

Adding is idempotent and safe for several at a time, machines that share the folder included: a
result appears whole or not at all, and whoever finds the index behind the results mends it.
"""

import contextlib
import fcntl
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tfbuild import artifact, saved
from tfbuild.errors import SaveError, UsageError
from tfbuild.history.entry import entry
from tfbuild.history.model import Entry, Index

_NAME = re.compile(r"([0-9a-f]{64})\.suite\.json")


@dataclass(frozen=True, kw_only=True)
class Added:
    """What became of one file."""

    path: Path
    entry: Entry
    is_new: bool
    """False: the very same result was there already."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a store holds."""

    entries: tuple[Entry, ...]
    """The oldest first."""
    damaged: tuple[tuple[Path, str], ...]
    """Files that were passed over, and why."""


@dataclass(frozen=True, kw_only=True)
class Store:
    """A folder; it need not exist before something is added."""

    folder: Path

    @property
    def results(self) -> Path:
        """Where the results lie."""
        return self.folder / "results"

    def add(self, paths: Sequence[Path]) -> tuple[Added, ...]:
        """Add results: all of them, or none if one is not fit.

        Raises:
            UsageError: a file is no result, is damaged, or is not finished.
            SaveError: the folder cannot be written.
        """
        entries = [read(path) for path in paths]
        with self._locked():
            there = {each.sha256 for each in self._refreshed().entries}
            added = []
            for path, new in zip(paths, entries, strict=True):
                if new.sha256 not in there:  # so a damaged one is mended, too
                    self._keep(path, new.sha256)
                added.append(Added(path=path, entry=new, is_new=new.sha256 not in there))
                there.add(new.sha256)
            self._save(self._refreshed().entries)
        return tuple(added)

    def read(self) -> Contents:
        """Return what is there.

        A result's file is opened only if the index does not know it, or its size has changed; the
        index is then made again, where that may be written.
        """
        found = self._refreshed()
        if self.results.is_dir() and found.entries != self._index():
            with contextlib.suppress(SaveError), self._locked():
                self._save(self._refreshed().entries)
        return found

    def find(self, beginning: str) -> Entry:
        """Return the result whose hash begins so.

        Raises:
            UsageError: there is none, or more than one.
        """
        found = [each for each in self.read().entries if each.sha256.startswith(beginning)]
        if len(found) != 1 or not beginning:
            raise UsageError(
                f"{len(found) or 'No'} results in {self.folder} begin with {beginning!r}.",
                do="See them with: tfbuild history",
            )
        return found[0]

    def _refreshed(self) -> Contents:
        known = {each.sha256: each for each in self._index()}
        entries, damaged = [], []
        for path, sha256, size in self._files():
            at_hand = known.get(sha256)
            if at_hand is not None and at_hand.size == size:
                entries.append(at_hand)
                continue
            try:
                made = read(path)
            except UsageError as error:
                damaged.append((path, f"{error.what} {error.why}".strip()))
                continue
            if made.sha256 == sha256:
                entries.append(made)
            else:
                damaged.append((path, "It is not what was added: its hash is another one."))
        entries.sort(key=lambda each: (each.started_at, each.sha256))
        return Contents(entries=tuple(entries), damaged=tuple(damaged))

    def _files(self) -> Iterator[tuple[Path, str, int]]:
        paths = sorted(self.results.iterdir()) if self.results.is_dir() else []
        for path in paths:
            if found := _NAME.fullmatch(path.name):
                with contextlib.suppress(OSError):  # gone meanwhile
                    yield path, found[1], path.stat().st_size

    def _keep(self, path: Path, sha256: str) -> None:
        # Read once more: several large results need not be in memory together.
        data = artifact.read(path)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise UsageError(f"{path} has changed meanwhile.", do="Add it again.")
        artifact.write_bytes(self.results / f"{sha256}.suite.json", data)

    def _index(self) -> tuple[Entry, ...]:
        try:
            return artifact.load(Index, self.folder / "index.json").entries
        except UsageError:  # not there, damaged, or of another version
            return ()

    def _save(self, entries: tuple[Entry, ...]) -> None:
        artifact.save(Index(entries=entries), self.folder / "index.json")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / ".lock").open("w")
        except OSError as error:
            raise SaveError(
                f"Cannot write in {self.folder}.",
                why=error.strerror or str(error),
                do="Name another folder with --history-dir, or make this one writable.",
            ) from error
        with file:
            # Where a file system has no locks, the worst is an index that the next one mends.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


def read(path: Path) -> Entry:
    """Return the entry of a file that need not be in a store.

    Raises:
        UsageError: it cannot be read, or is no finished session.
    """
    data, suite = saved.read(path)
    if suite.finished_at is None or not suite.runs:
        raise UsageError(
            f"{path} is not finished.",
            why=f"{suite.rounds} of {suite.plan.rounds} rounds were measured.",
            do=f"The history keeps whole sessions; the rest: tfbuild compare --resume {path}",
        )
    return entry(suite, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
