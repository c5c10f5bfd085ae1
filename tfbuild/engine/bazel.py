"""Reads what Bazel prints: progress, its closing count, the errors that matter."""

import re
from collections.abc import Iterable

from tfbuild.record import Actions

_PROGRESS = re.compile(r"^\[([\d,]+) / ([\d,]+)\]\s*(.*)")
_SUMMARY = re.compile(r"^INFO: ([\d,]+) process(?:es)?(?:: (.*?))?\.?$")
_KIND = re.compile(r"([\d,]+) ([a-zA-Z][\w -]*)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERRORS = re.compile(
    r"^(ERROR|FATAL|FAILED): "
    # The build script's own words, except when it tells what it does or has made.
    r"|^tfbuild: (?!Bazel \d|/|note: )"
    r"|: (?:fatal )?error: "
    r"|^(?:[\w./+-]*ld(?:\.\w+)?|collect2|cc1plus|clang|gcc|g\+\+)[\w.+-]*: (?:fatal )?error"
    r"|undefined reference to"
    r"|internal compiler error"
    r"|^\w*(?:Error|Exception): "
    r"|Killed signal|^Killed\b|Server terminated abruptly"
)
_MEMORY = re.compile(
    r"Killed signal terminated program|fatal error: Killed|internal compiler error: Killed"
    r"|virtual memory exhausted|[Oo]ut of memory|OutOfMemoryError|Cannot allocate memory"
    r"|\(signal SIGKILL\)|terminated by signal 9|Exit 137"
)
_LONGEST = 400


def plain(line: str) -> str:
    """Return the line without colour codes."""
    return _COLOUR.sub("", line)


def progress(line: str) -> tuple[int, int, str] | None:
    """Return actions done, actions known so far, and what runs now; None for another line."""
    found = _PROGRESS.match(line)
    return (_number(found[1]), _number(found[2]), found[3]) if found else None


def summary(line: str) -> Actions | None:
    """Read the closing count ("INFO: 30 processes: 12 disk cache hit, 8 internal, 10 local.").

    Bazel names each way in which an action was answered. Up to version 4 it calls hits in the disk
    cache "remote cache hit" too. Internal actions write small files and run nothing.
    """
    found = _SUMMARY.match(line)
    if not found:
        return None
    kinds = {name.strip(): _number(count) for count, name in _KIND.findall(found[2] or "")}
    cached = sum(count for name, count in kinds.items() if name.endswith("cache hit"))
    executed = sum(
        count
        for name, count in kinds.items()
        if name != "internal" and not name.endswith("cache hit")
    )
    return Actions(total=_number(found[1]), cached=cached, executed=executed)


def errors(lines: Iterable[str], most: int) -> list[str]:
    """Return the first lines that tell what went wrong, each once."""
    kept: dict[str, None] = {}
    for line in lines:
        if _ERRORS.search(line):
            kept.setdefault(line.strip()[:_LONGEST])
        if len(kept) == most:
            break
    return list(kept)


def out_of_memory(lines: Iterable[str]) -> bool:
    """Return whether a line tells that a compiler or Bazel died for want of memory."""
    return any(_MEMORY.search(line) for line in lines)


def is_error(line: str) -> bool:
    """Return whether the line tells what went wrong."""
    return bool(_ERRORS.search(line))


def _number(text: str) -> int:
    return int(text.replace(",", ""))
