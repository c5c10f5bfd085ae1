"""Puts wheels where pip and uv find them, and proves by reading back that they arrived."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from tfbuild.errors import TfbuildError
from tfbuild.index import folder, wheelfile
from tfbuild.index.wheelfile import WheelFile
from tfbuild.progress import Progress, Silent


class Action(StrEnum):
    """What was done with a wheel."""

    UPLOADED = "uploaded"
    ALREADY_THERE = "already-there"
    """The very same bytes were in the index before; nothing was changed."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """One wheel that is in an index now, read back and compared."""

    SCHEMA: ClassVar[str] = "tfbuild.receipt"
    VERSION: ClassVar[int] = 1

    index: str
    """As it was asked for: a folder or a URL."""
    file: str
    requirement: str
    """The pin that installs this wheel only: "tensorflow==2.21.0+skylake"."""
    sha256: str
    """Of the bytes that the index gave back."""
    action: Action
    url: str
    """Where the wheel itself is."""
    simple_url: str
    """What installers are given as `--index-url`; for a folder, the root of the wheel's label."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One wheel that could not be published, with the fields of its error."""

    file: str
    what: str
    why: str
    do: str
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What became of all wheels of one call, in its order."""

    SCHEMA: ClassVar[str] = "tfbuild.publication"
    VERSION: ClassVar[int] = 1

    index: str
    receipts: tuple[Receipt, ...]
    failures: tuple[Failure, ...]


def publish(
    wheels: Sequence[Path], index: str | Path, *, progress: Progress | None = None
) -> list[Receipt]:
    """Publish wheels, and raise the first error after every wheel has been tried.

    Args:
        wheels: wheel files; the record `<wheel>.json` beside one goes along to a folder.
        index: a folder, or the http(s) URL that takes uploads.
        progress: is told what goes on.

    Raises:
        UsageError: a wheel does not exist.
        WheelError: a file is not a wheel, or not what its name says.
        PublishError: the index refused a wheel, holds another of its name, or gave back
            something else.
        SaveError: the folder cannot be written.
    """
    receipts: list[Receipt] = []
    errors: list[TfbuildError] = []
    for path in wheels:
        try:
            receipts.append(_to_folder(path, Path(index), progress or Silent()))
        except TfbuildError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return receipts


def _to_folder(path: Path, root: Path, progress: Progress) -> Receipt:
    wheel = wheelfile.read(path)
    new = folder.add(root, wheel, progress)
    return _receipt(
        wheel,
        str(root),
        new=new,
        url=(root / "files" / wheel.filename).absolute().as_uri(),
        simple_url=folder.simple(root, folder.root_name(wheel)).absolute().as_uri() + "/",
    )


def _receipt(wheel: WheelFile, index: str, *, new: bool, url: str, simple_url: str) -> Receipt:
    return Receipt(
        index=index,
        file=wheel.filename,
        requirement=wheel.requirement,
        sha256=wheel.sha256,
        action=Action.UPLOADED if new else Action.ALREADY_THERE,
        url=url,
        simple_url=simple_url,
    )
