"""Reads what Bazel prints: progress, its closing count, the errors that matter."""

import re

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
    r"|Killed signal|^Killed$|Server terminated abruptly"
)
# Said by compilers, linkers, Java and Bazel when there is no memory, or the kernel kills for want.
_MEMORY = re.compile(
    r"Killed signal terminated program|fatal error: Killed|internal compiler error: Killed"
    r"|ld terminated with signal 9|virtual memory exhausted|java\.lang\.OutOfMemoryError"
    r"|out of memory allocating"
)
# Words that mean it only where an action has failed.
_MEMORY_OF_FAILED = re.compile(
    r"[Oo]ut of memory|Cannot allocate memory|\(signal SIGKILL\)|terminated by signal 9"
    r"|failed: \((?:Killed|Exit 137|signal 9)\)|std::bad_alloc|MemoryError"
)


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


def is_memory(line: str, *, in_failure: bool = False) -> bool:
    """Return whether the line tells that a compiler or Bazel died for want of memory.

    Args:
        line: of the build's output.
        in_failure: it is the head of a failed action, or what that action said.
    """
    return bool(_MEMORY.search(line)) or (in_failure and bool(_MEMORY_OF_FAILED.search(line)))


def is_error(line: str) -> bool:
    """Return whether the line tells what went wrong."""
    return bool(_ERRORS.search(line))


def _number(text: str) -> int:
    return int(text.replace(",", ""))
