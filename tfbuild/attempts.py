"""Remembers the attempts at a recipe, so that the record tells what a resumed build did twice.

Each recipe has a journal below the user's cache folder: lines of JSON that are only ever appended,
one when an attempt begins, some while it finishes actions, one when it ends. An attempt without an
end was killed. The attempts since the last wheel are one series.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfbuild import settings
from tfbuild.engine.base import OnLine
from tfbuild.engine.owner import alive, owner
from tfbuild.record import Actions, Attempts

if TYPE_CHECKING:
    from tfbuild.engine.events import Action
    from tfbuild.recipe import Recipe

WHEEL = "wheel"
"""How an attempt ends that has made its wheel."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt of a series, as the journal tells it."""

    owner: str
    """The process, as `tfbuild.engine.owner` names it."""
    cache: str
    """Engine and toolchain: who has the same writes into the same cache."""
    begin: str
    """Times are ISO 8601 in UTC, so they compare as text."""
    last: str
    """When the journal last heard of it."""
    how: str = ""
    """How it ended; "" if it was killed, or is at work."""
    finished: int = 0
    """Actions that had ended well, run or answered by a cache, when it was last heard of."""
    repeated: int | None = 0
    """Actions that it ran again; None if that cannot be told."""


class Journal:
    """The journal of a recipe, for one attempt. It is open from the attempt's begin to its end."""

    def __init__(self, recipe: "Recipe", engine: str) -> None:
        folder = settings.cache_folder("attempts")
        self._path = folder / f"{recipe.digest[:16]}.jsonl"
        self._cache = f"{engine} {recipe.toolchain_digest[:16]}"
        self._earlier = series(read(self._path))
        self._begin = _now()
        self._finished = 0
        self._is_begun = False

    def finished(self, actions: "Sequence[Action]") -> None:
        """Write down that actions have ended well."""
        count = sum(not action.is_internal for action in actions)
        if count:
            self._finished += count
            self._append(finished=self._finished)

    def counted(self, actions: Actions | None, stored: int | None, failed: int = 0) -> Attempts:
        """Return what is known of all attempts: what was run again tells Bazel's closing count.

        Each action that is run and whose result is not in the cache stores one. So what was run
        and stored nothing had been stored before, by an earlier attempt.

        Args:
            actions: the count; None if Bazel did not get so far.
            stored: results that are new in the cache; None if others write it too.
            failed: actions that failed: they store nothing.
        """
        again: int | None = 0
        if self._earlier and actions is not None:
            alone = stored is not None and not self._overlaps()
            again = max(0, actions.executed - failed - (stored or 0)) if alone else None
        known = [*(one.repeated for one in self._earlier), again]
        whole = [count for count in known if count is not None]
        self._append(repeated=again)
        return Attempts(
            count=len(self._earlier) + 1,
            finished=max((one.finished for one in self._earlier), default=0),
            repeated=sum(whole) if len(whole) == len(known) else None,
        )

    def _overlaps(self) -> bool:
        """Return whether another recipe's attempt wrote into the same cache in the meantime."""
        for path in self._path.parent.glob("*.jsonl"):
            for other in read(path) if path != self._path else ():
                at_work = not other.how and alive(other.owner)
                if other.cache == self._cache and (at_work or other.last >= self._begin):
                    return True
        return False

    @contextmanager
    def kept(self, on_line: OnLine) -> Iterator[OnLine]:
        """Write down the end, however the block ends, and before it the begin.

        Args:
            on_line: takes the lines of the build script. What the block gets in its place writes
                down the begin at the first: a build that was refused is no attempt.
        """

        def line(text: str) -> None:
            if not self._is_begun:
                self._is_begun = True
                self._append(begin=self._begin, owner=owner(), cache=self._cache)
            on_line(text)

        how = WHEEL
        try:
            yield line
        except BaseException as error:
            how = f"{type(error).__name__}: {error}".splitlines()[0]
            raise
        finally:
            if self._is_begun:
                self._append(how=how)

    def _append(self, **told: object) -> None:
        """Add a line. A journal that cannot be written must not cost the wheel."""
        line = json.dumps({**told, "at": _now()}) + "\n"
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if "begin" in told and not self._earlier:
                self._path.unlink(missing_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                # A line that a full disk cut off must not swallow this one.
                torn = (
                    os.fstat(handle).st_size
                    and os.pread(handle, 1, os.fstat(handle).st_size - 1) != b"\n"
                )
                os.write(handle, (b"\n" if torn else b"") + line.encode())
            finally:
                os.close(handle)


def read(path: Path) -> list[Attempt]:
    """Return the attempts that a journal tells of; none without one. Damaged lines do not count."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    blocks: list[dict[str, Any]] = []
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if not isinstance(told, dict) or "at" not in told:
            continue
        if "begin" in told:
            blocks.append({})
        if blocks:
            blocks[-1] |= told
    return [_attempt(told) for told in blocks]


def series(attempts: list[Attempt]) -> list[Attempt]:
    """Return the attempts since the last wheel."""
    ends = [number for number, one in enumerate(attempts, 1) if one.how == WHEEL]
    return attempts[ends[-1] if ends else 0 :]


def _attempt(told: dict[str, Any]) -> Attempt:
    again = told.get("repeated", 0)
    return Attempt(
        owner=str(told.get("owner", "")),
        cache=str(told.get("cache", "")),
        begin=str(told["begin"]),
        last=str(told["at"]),
        how=str(told.get("how", "")),
        finished=int(told.get("finished", 0)),
        repeated=None if again is None else int(again),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
