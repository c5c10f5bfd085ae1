"""Puts wheels where pip and uv find them, and proves by reading back that they arrived."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from tfbuild.errors import TfbuildError
from tfbuild.index import address, folder, views, wheelfile
from tfbuild.index.address import Server
from tfbuild.index.credentials import Credentials
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
    """One wheel that could not be published, with the parts of its error."""

    file: str
    """The path, as it was given."""
    what: str
    why: str
    do: str
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What became of every wheel of one call, in its order."""

    SCHEMA: ClassVar[str] = "tfbuild.publication"
    VERSION: ClassVar[int] = 1

    index: str
    receipts: tuple[Receipt, ...]
    failures: tuple[Failure, ...]


def publish(
    wheels: Sequence[Path],
    index: str | Path,
    *,
    simple_url: str | None = None,
    credentials: Credentials | None = None,
    allow_http: bool = False,
    progress: Progress | None = None,
) -> list[Receipt]:
    """Publish wheels; one that fails is raised after all others were tried.

    Args:
        wheels: wheel files. The record `<wheel>.json` beside one goes along to a folder.
        index: a folder, or the http(s) URL that takes uploads.
        simple_url: where the server's simple index is, if that cannot be derived from `index`.
        credentials: for a server; None looks at the environment, netrc and keyring.
        allow_http: talk plain http to another machine.
        progress: is told what goes on.

    Raises:
        UsageError: the index or a wheel does not exist or does not fit.
        WheelError: a file is not a wheel, or not what its name says.
        PublishError: the index refused a wheel, holds another of its name, or gave back
            something else.
        SaveError: the folder cannot be written, or the disk is full.
    """
    outcomes = _attempt(
        wheels,
        _door(str(index), simple_url, credentials, progress or Silent(), allow_http=allow_http),
    )
    for _, outcome in outcomes:
        if isinstance(outcome, TfbuildError):
            raise outcome
    return [outcome for _, outcome in outcomes if isinstance(outcome, Receipt)]


def attempt(
    wheels: Sequence[Path],
    index: str | Path,
    *,
    simple_url: str | None = None,
    credentials: Credentials | None = None,
    allow_http: bool = False,
    progress: Progress | None = None,
) -> Publication:
    """Publish wheels and return receipts and failures alike; arguments as `publish`.

    Raises:
        UsageError: the index does not fit. Nothing was tried.
    """
    door = _door(str(index), simple_url, credentials, progress or Silent(), allow_http=allow_http)
    outcomes = _attempt(wheels, door)
    return Publication(
        index=str(index),
        receipts=tuple(outcome for _, outcome in outcomes if isinstance(outcome, Receipt)),
        failures=tuple(
            _failure(path, outcome)
            for path, outcome in outcomes
            if isinstance(outcome, TfbuildError)
        ),
    )


_Door = Callable[[WheelFile], Receipt]


def _attempt(wheels: Sequence[Path], door: _Door) -> list[tuple[Path, Receipt | TfbuildError]]:
    outcomes: list[tuple[Path, Receipt | TfbuildError]] = []
    for path in wheels:
        try:
            outcomes.append((path, door(wheelfile.read(path))))
        except TfbuildError as error:
            outcomes.append((path, error))
    return outcomes


def _door(
    index: str,
    simple_url: str | None,
    credentials: Credentials | None,
    progress: Progress,
    *,
    allow_http: bool,
) -> _Door:
    """Return what publishes one wheel to the index."""
    place = address.parse(index, simple_url=simple_url, allow_http=allow_http)
    if isinstance(place, Path):
        return lambda wheel: _to_folder(wheel, index, place, progress)
    from tfbuild.index.credentials import find

    known = credentials or find(place.upload_url)
    return lambda wheel: _to_server(wheel, index, place, known, progress)


def _to_folder(wheel: WheelFile, index: str, root: Path, progress: Progress) -> Receipt:
    new = folder.add(root, wheel, progress)
    simple = views.simple(root, views.root_name(wheel))
    return Receipt(
        index=index,
        file=wheel.filename,
        requirement=wheel.requirement,
        sha256=wheel.sha256,
        action=_action(new=new),
        url=(root / "files" / wheel.filename).absolute().as_uri(),
        simple_url=simple.absolute().as_uri() + "/",
    )


def _to_server(
    wheel: WheelFile,
    index: str,
    place: Server,
    credentials: Credentials | None,
    progress: Progress,
) -> Receipt:
    from tfbuild.index import server

    new, url, simple_url = server.add(place, wheel, credentials, progress)
    return Receipt(
        index=index,
        file=wheel.filename,
        requirement=wheel.requirement,
        sha256=wheel.sha256,
        action=_action(new=new),
        url=url,
        simple_url=simple_url,
    )


def _action(*, new: bool) -> Action:
    return Action.UPLOADED if new else Action.ALREADY_THERE


def _failure(path: Path, error: TfbuildError) -> Failure:
    return Failure(
        file=str(path), what=error.what, why=error.why, do=error.do, exit_code=error.exit_code
    )
