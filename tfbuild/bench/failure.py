"""Why a training process died, in words."""

import re
from dataclasses import dataclass

from tfbuild.bench import oom
from tfbuild.bench.oom import Kills
from tfbuild.errors import BenchError, HostError, TfbuildError
from tfbuild.process import Completed, ProcessError

# What TensorFlow's own check says before it aborts (tensorflow/core/platform/cpu_feature_guard.cc).
_GUARD = re.compile(r"compiled to use (.+?) instructions, but these aren't available")
# TensorFlow's allocator, NumPy, Python, C++ and the C library, when they are refused memory.
_MEMORY = re.compile(
    r"ResourceExhausted|MemoryError|bad_alloc|Cannot allocate memory"
    r"|Unable to allocate .+ for an array|[Oo]ut of memory|ENOMEM"
)
_TENSOR = re.compile(r"OOM when allocating tensor[^\n\"]*")
"""What TensorFlow says of the tensor for which there was no room."""
_LAST_LINES = 12
_LONGEST = 500
_LESS = (
    "Close other programs, raise the limit (ulimit -v, memory.max), or train less at once with "
    "--architectures or --batch."
)


class IllegalInstructionError(HostError):
    """A process died of SIGILL; which instruction that was can still be found out."""

    doing = "while TensorFlow was imported"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A process that has ended, and not well."""

    name: str
    """The contender in the user's words."""
    doing: str
    """The architecture in training, or "" outside one."""
    done: Completed
    error: str = ""
    """The text of its `error` event, if it sent one."""
    before: Kills | None = None
    """The kernel's counts before it began, as `after` when it had ended."""
    after: Kills | None = None

    @property
    def where(self) -> str:
        """What is said behind a verb: "while training mnist_cnn" after a space, or nothing."""
        return f" while training {self.doing}" if self.doing else ""


def explain(failed: Failure) -> TfbuildError:
    """Return the error for a process that failed."""
    name, where, done = failed.name, failed.where, failed.done
    if guard := _GUARD.search(done.stderr):
        return _lacks(name, f"TensorFlow's own check: it was compiled to use {guard[1]}.")
    if done.signal_name == "SIGILL":
        what, why, do = _lacking(name, f"It died of an illegal instruction (SIGILL){where}.")
        error = IllegalInstructionError(what, why=why, do=do)
        error.doing = where.strip() or error.doing
        return error
    if done.signal_name == "SIGKILL":
        return _killed(failed)
    if why := _lack_of_memory(f"{failed.error}\n{done.stderr}"):
        return BenchError(f"{name} ran out of memory{where}.", why=why, do=_LESS)
    if failed.error:
        return BenchError(f"{name} cannot train{where}.", why=failed.error)
    how = f"failed with exit code {done.exit_code}"
    if done.signal_name is not None:
        how = f"was killed by {done.signal_name}"
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


def _killed(failed: Failure) -> BenchError:
    why = "Most often the kernel does that when memory runs out."
    if failed.before is not None and failed.after is not None:
        why = oom.verdict(failed.before, failed.after)
    return BenchError(
        f"The training process of {failed.name} was killed{failed.where} (SIGKILL).",
        why=why,
        do=_LESS if "not for lack" not in why else "Find out who; then go on with --resume.",
    )


def _lacks(name: str, evidence: str) -> HostError:
    what, why, do = _lacking(name, evidence)
    return HostError(what, why=why, do=do)


def _lacking(name: str, evidence: str) -> tuple[str, str, str]:
    return (
        f"This CPU cannot run {name}.",
        f"{evidence}\nThe wheel uses instructions that this CPU lacks.",
        "`tfbuild detect` shows what this CPU has, `tfbuild inspect` what a wheel uses.",
    )


def _lack_of_memory(said: str) -> str:
    """Return the words that say that memory ran out, "" if none do."""
    if tensor := _TENSOR.search(said):
        return tensor[0]
    lines = (line.strip() for line in said.splitlines() if _MEMORY.search(line))
    return next(lines, "")[:_LONGEST]


def _last(done: Completed) -> str:
    return "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
