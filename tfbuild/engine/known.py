"""Recognises in a log what has happened to others before; the facts are data/failures.toml."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tfbuild.resources import DATA

_ISSUE = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One of the failures that builders of TensorFlow meet most often."""

    id: str
    title: str
    source: str
    prevented: str = ""
    """What keeps it from happening, "" where nothing can."""
    pattern: str = ""
    """How a line of the log shows it, "" where none does."""
    explain: str = ""
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a line of the log means."""

    id: str
    line: str
    """The line that tells it."""
    cause: str
    fix: str
    source: str
    """Where others met it."""


@cache
def failures() -> tuple[Failure, ...]:
    """Return all that are known."""
    data = tomllib.loads((DATA / "failures.toml").read_text(encoding="utf-8"))
    return tuple(Failure(**row) for row in data["failures"])


def explain(lines: Iterable[str]) -> Explanation | None:
    """Return what the first line that shows a known failure means, None if none does."""
    for line in lines:
        for failure, pattern in _patterns():
            found = pattern.search(line)
            if found:
                return _explanation(failure, found, line)
    return None


def _explanation(failure: Failure, found: re.Match[str], line: str) -> Explanation:
    groups = {name: text or "" for name, text in found.groupdict().items()}
    return Explanation(
        id=failure.id,
        line=line.strip(),
        cause=failure.explain.format(**groups),
        fix=failure.fix.format(**groups),
        source=_ISSUE.sub(_named, failure.source, count=1),
    )


def _named(number: re.Match[str]) -> str:
    """Return an issue's number with its repository, where it is one of TensorFlow's own."""
    is_own = number.start() == 0
    return f"tensorflow/tensorflow issue {number[0]}" if is_own else number[0]


@cache
def _patterns() -> tuple[tuple[Failure, re.Pattern[str]], ...]:
    return tuple((one, re.compile(one.pattern)) for one in failures() if one.pattern)
