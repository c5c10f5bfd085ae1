"""Every error that tfbuild raises on purpose.

    TfbuildError            1  (also: anything unexpected)
    |-- UsageError          2  the command asks for something that does not exist or does not fit
    |-- NothingToDoError    3  the command is right, but there is nothing for it to work on
    |-- HostError           4  this CPU cannot be read, or cannot run what is asked
    |-- EngineError         5  no container engine or Bazel, or it cannot do its work
    |-- BuildError          6  the compile failed
    |-- WheelError          7  a file is not a usable wheel, or not what it says it is
    |-- BenchError          8  an environment could not be made, or a training process failed
    |-- PublishError        10 the index refused a wheel, or gave back something else
    |-- SaveError           11 a result could not be written (disk full, no permission)
    `-- SlowerError         12 something is slower than --fail-if-slower lets through

Each says what happened, why, and what to do next. Exit code 0 is success, 130 an interrupt by the
user. The core raises; only `tfbuild.cli` prints and exits.
"""

from typing import ClassVar


class TfbuildError(Exception):
    """The root. A subclass owns one exit code.

    Args:
        what: what happened, one sentence.
        why: the cause, as far as it is known.
        do: the next thing to do; best a command that can be typed.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, why: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.do = do

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.do) if part)


class UsageError(TfbuildError):
    """The command asks for something that does not exist or does not fit together."""

    exit_code = 2


class NothingToDoError(TfbuildError):
    """The command is right, but there is nothing for it to work on."""

    exit_code = 3


class HostError(TfbuildError):
    """This CPU cannot be read, or cannot run what is asked."""

    exit_code = 4


class EngineError(TfbuildError):
    """No container engine or Bazel answers, or it cannot do its work."""

    exit_code = 5


class BuildError(TfbuildError):
    """The compile failed."""

    exit_code = 6


class WheelError(TfbuildError):
    """A file is not a usable wheel, or not what it says it is."""

    exit_code = 7


class BenchError(TfbuildError):
    """An environment could not be made, or a training process failed."""

    exit_code = 8


class PublishError(TfbuildError):
    """The index refused a wheel, or gave back something else."""

    exit_code = 10


class SaveError(TfbuildError):
    """A result could not be written: disk full, no permission, or read-only."""

    exit_code = 11


class SlowerError(TfbuildError):
    """All went well, and something is slower than `--fail-if-slower` lets through."""

    exit_code = 12


def suggestion(word: str, known: list[str]) -> str:
    """Return "Did you mean 'x'?" for the nearest known word, or an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else ""
