"""What commands share for showing things: results on stdout, everything else on stderr."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfbuild.progress import BuildProgress, Silent

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Return a text without what a terminal would obey instead of show, nor turned around."""
    return _UNSAFE.sub("?", _COLOURS.sub("", text))


def results() -> "Console":
    """Return the console for results (stdout). Rich honours NO_COLOR and a closed terminal."""
    from tfbuild.cli.screen import Screen

    return Screen(soft_wrap=False)


def messages() -> "Console":
    """Return the console for everything that is not a result (stderr)."""
    from tfbuild.cli.screen import Screen

    return Screen(stderr=True)


def say(text: str) -> None:
    """Write one line for the user to stderr."""
    sys.stderr.write(plain(text) + "\n")
    sys.stderr.flush()


def error(what: str, why: str = "", do: str = "") -> None:
    """Write an error to stderr: what happened, and below it why and what to do."""
    below = "".join(f"  {line}\n" for part in (why, do) for line in part.splitlines())
    sys.stderr.write(plain(f"tfbuild: error: {what}\n{below}"))
    sys.stderr.flush()


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[BuildProgress]:
    """Show long work on stderr: a bar at a terminal, plain lines elsewhere, nothing if quiet."""
    if quiet:
        yield Silent()
    elif sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb":
        from tfbuild.cli.bar import Bar

        bar = Bar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        from tfbuild.cli.live import Lines

        yield Lines()
