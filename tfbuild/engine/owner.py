"""Names processes, so that a container can tell whether who made it still lives."""

import os
import socket
from pathlib import Path


def owner(process: int | None = None) -> str:
    """Return a name for a process that no later one has: host, number, start time.

    Args:
        process: its number; this process without one.
    """
    number = os.getpid() if process is None else process
    return f"{socket.gethostname()}:{number}:{_started(number)}"


def alive(name: str) -> bool:
    """Return whether the process of `owner()` still runs, as far as this machine can tell."""
    words = name.rsplit(":", maxsplit=2)
    if len(words) != len(("host", "process", "started")) or not words[1].isdigit():
        return False
    host, process, started = words
    return host == socket.gethostname() and _started(int(process)) == started != ""


def occupied(name: str, *, is_running: bool) -> str:
    """Return who works with what the process of `owner()` has made, "" if nobody does.

    A process of another machine cannot be looked at: it counts as long as its container runs.
    """
    host, _, rest = name.partition(":")
    if alive(name):
        return f"process {rest.partition(':')[0]} of this machine works with it"
    if is_running and host and host != socket.gethostname():
        return f"tfbuild on {host} works with it"
    return ""


def _started(process: int) -> str:
    """Return the start time of a process in clock ticks since boot, "" where unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the program's name in parentheses and may hold anything.
    return text.rpartition(")")[2].split()[19]
