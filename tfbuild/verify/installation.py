"""What is installed in an environment, verified as wheels are.

There is no archive to check; the hashes, the machine code and what runs are those of the installed
files, and instead of requirements the releases that really stand beside are looked at.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tfbuild.errors import WheelError
from tfbuild.progress import Progress, Silent
from tfbuild.target import Target
from tfbuild.verify import needed, pins, platform, python, record, structure
from tfbuild.verify.context import Asked, Context, own_record
from tfbuild.verify.expected import labelled
from tfbuild.verify.judge import skipped
from tfbuild.verify.model import Check
from tfbuild.verify.subject import STRONG, Row, Seen, Subject, rows_of
from tfbuild.wheel import elf, inspect
from tfbuild.wheel.archive import CHUNK, FileName, parts_of, spelt
from tfbuild.wheel.contents import InstalledContents
from tfbuild.wheel.inspection import Inspection
from tfbuild.wheel.release import tensorflow_release

_SILENT = Silent()
_TEXTS = ("METADATA", "WHEEL", "RECORD")
_CHECKS = (record, platform, needed, python, pins)
_MOST_ROWS = 500_000
_INTERPRETERS = ("bin/python", "bin/python3")


class Installation(Context):
    """A distribution that is installed, and what several checks want to know of it."""

    def __init__(
        self,
        folder: Path,
        asked: Asked,
        progress: Progress = _SILENT,
        interpreter: Path | None = None,
    ) -> None:
        """Take a .dist-info folder, as `tfbuild.wheel.inspect.find` returns it.

        Args:
            folder: the .dist-info folder.
            asked: what is asked of it.
            progress: told what is read and run.
            interpreter: what imports it; the environment's own if left out.
        """
        super().__init__(folder, asked, progress)
        self.interpreter = interpreter or _interpreter(folder.absolute().parent)

    @property
    def name(self) -> str:
        """The .dist-info folder."""
        return os.fsencode(self.path).decode("utf-8", "replace")

    @property
    def runnable(self) -> Path:
        """The environment's interpreter."""
        if self.interpreter is None:
            raise AssertionError
        return self.interpreter

    @cached_property
    def why_not_here(self) -> str:
        """Why this machine cannot run it, "" where nothing speaks against it."""
        if self.interpreter is None:
            return f"{self.path.parent} is no environment's: there is no interpreter."
        return super().why_not_here

    @cached_property
    def sha256(self) -> str | None:
        """There is no file to have a digest."""
        return None

    @cached_property
    def inspection(self) -> Inspection:
        """What the files say, all code read. Raises WheelError, SaveError."""
        return inspect.installed(
            self.path.parent,
            distribution=self.path.name.partition("-")[0],
            full=True,
            progress=self.progress,
            cache=self.asked.cache,
        )

    @cached_property
    def target(self) -> Target | None:
        """The target to check against, None where nobody names one."""
        if self.asked.target is not None:
            return self.asked.target
        contents = InstalledContents(self.path)
        return labelled(_version(self.path).local or "", own_record(contents.text))

    def static(self) -> tuple[Check, ...]:
        """Do the checks that read every file."""
        try:
            subject = read(self.path, self.progress)
        except WheelError as error:
            failed = Check(
                name=record.NAME, status="failed", found=error.what, why=error.why, do=error.do
            )
            others = (skipped(each.NAME, "Its files are not known.") for each in _CHECKS[1:])
            return (_no_archive(), failed, *others)
        return (_no_archive(), *(each.check(subject) for each in _CHECKS))


def read(folder: Path, progress: Progress = _SILENT) -> Subject:
    """Read every file of an installed distribution.

    Args:
        folder: its .dist-info folder.
        progress: told the megabytes read.

    Raises:
        WheelError: it has no RECORD, or a file cannot be read.
    """
    contents = InstalledContents(folder)
    texts = {name: text for name in _TEXTS if (text := contents.text(name)) is not None}
    rows, fault = rows_of(texts.get("RECORD"), _MOST_ROWS)
    rows = tuple(row for row in rows if _is_kept(row, folder.name))
    algorithms = {row.path: row.algorithm for row in rows if row.algorithm in STRONG}
    kept = contents.sizes.keys() & {row.path for row in rows}
    files, libraries, damaged = _files(contents, sorted(kept), algorithms, progress)
    name, version = parts_of(folder.name)
    return Subject(
        path=folder,
        name=FileName(
            name=canonicalize_name(name),
            version=_version(folder),
            build=(),
            tags=inspect.stated_tags(contents),
        ),
        dist_info=folder.name,
        modes={},
        files=files,
        unreadable={},
        texts=texts,
        rows=rows,
        rows_fault=fault,
        libraries=libraries,
        damaged=damaged,
        tensorflow=tensorflow_release(contents.sizes, contents.small, version),
        beside=dict(_beside(folder.parent)),
    )


def _interpreter(site: Path) -> Path | None:
    """Return the interpreter of the environment with this site-packages folder."""
    if not site.match("lib*/python3*/*-packages"):
        return None
    found = (site.parents[2] / name for name in _INTERPRETERS)
    return next((path for path in found if path.is_file()), None)


def _no_archive() -> Check:
    return skipped(structure.NAME, "It is installed: there is no archive.")


def _is_kept(row: Row, dist_info: str) -> bool:
    """Return whether a file is one of the wheel's, and not what an installer made of or added."""
    parts = PurePosixPath(row.path).parts
    outside = row.path.startswith("/") or ".." in parts
    added = parts[:1] == (dist_info,) and not row.algorithm and parts[-1:] != ("RECORD",)
    return not outside and not added and "__pycache__" not in parts


def _files(
    contents: InstalledContents, names: list[str], algorithms: Mapping[str, str], progress: Progress
) -> tuple[dict[str, Seen], dict[str, elf.Facts], dict[str, str]]:
    files: dict[str, Seen] = {}
    libraries: dict[str, elf.Facts] = {}
    damaged: dict[str, str] = {}
    total = sum(contents.sizes[name] for name in names) >> 20
    progress.phase("Reading every file", total)
    done = 0
    for name in names:
        hasher = hashlib.new(algorithms.get(name, "sha256"))
        with contents.open(name) as file:
            is_elf = file.read(len(elf.MAGIC)) == elf.MAGIC
            file.seek(0)
            while chunk := file.read(CHUNK):
                hasher.update(chunk)
            size = file.tell()
            if is_elf:
                try:
                    libraries[name] = elf.facts(file, name)
                except WheelError as error:
                    damaged[name] = error.why
        files[name] = Seen(size=size, digest=spelt(hasher.digest()))
        done += size
        progress.step(done >> 20, total, name)
    return files, libraries, damaged


def _beside(site: Path) -> Iterator[tuple[str, str]]:
    for folder in sorted(site.glob("*.dist-info")):
        name, version = parts_of(folder.name)
        yield canonicalize_name(name), version


def _version(folder: Path) -> Version:
    _, text = parts_of(folder.name)
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
