"""Why a training process died, in words."""

import re

from tfbuild.errors import BenchError, HostError, TfbuildError
from tfbuild.process import Completed, ProcessError

# What TensorFlow's own check says before it aborts (tensorflow/core/platform/cpu_feature_guard.cc).
_GUARD = re.compile(r"compiled to use (.+?) instructions, but these aren't available")
_LAST_LINES = 12


def explain(name: str, doing: str, done: Completed, error: str = "") -> TfbuildError:
    """Return the error for a process that failed.

    Args:
        name: the environment in the user's words.
        doing: the architecture in training, or "" outside one.
        done: how the process ended.
        error: the text of its `error` event, if it sent one.
    """
    where = f" while training {doing}" if doing else ""
    if guard := _GUARD.search(done.stderr):
        return _lacks(name, f"TensorFlow's own check: it was compiled to use {guard[1]}.")
    match done.signal_name:
        case "SIGILL":
            return _lacks(name, f"It died of an illegal instruction (SIGILL){where}.")
        case "SIGKILL":
            return BenchError(
                f"The training process of {name} was killed{where} (SIGKILL).",
                why="Most often the kernel does that when memory runs out.",
                do="Close other programs, or train less at once with --architectures.",
            )
        case None if error:
            return BenchError(f"{name} cannot train{where}.", why=error)
        case None:
            how = f"failed with exit code {done.exit_code}"
        case signal_name:
            how = f"was killed by {signal_name}"
    return BenchError(f"The training process of {name} {how}{where}.", why=_last(done))


def from_process(name: str, doing: str, error: ProcessError) -> TfbuildError:
    """Return the error for a process that did not start, or did not end in time."""
    where = f" It was training {doing}." if doing else ""
    if error.completed is None:
        return BenchError(f"{name} cannot be measured: {error.what}", why=error.why)
    return BenchError(
        f"The training process of {name} took too long: {error.what}{where}",
        why=_last(error.completed),
        do="Raise --timeout, or choose a smaller --scale.",
    )


def _lacks(name: str, evidence: str) -> HostError:
    return HostError(
        f"This CPU cannot run {name}.",
        why=f"{evidence}\nThe wheel uses instructions that this CPU lacks.",
        do="`tfbuild detect` shows what this CPU has, `tfbuild inspect` what a wheel uses.",
    )


def _last(done: Completed) -> str:
    return "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
