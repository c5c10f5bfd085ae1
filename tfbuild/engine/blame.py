"""Says what is to blame when a build script has failed."""

import re

from tfbuild.engine import known, servers, trouble
from tfbuild.engine.base import Exit, Facts
from tfbuild.engine.course import COMPILING
from tfbuild.engine.watch import Watch
from tfbuild.errors import BuildError, EngineError

# Killed (by a person, or by the kernel without a trace) and ended politely.
_KILLED = frozenset({137, 143, -9, -15})
_DOWNLOAD = re.compile(r"Error downloading \[([^\]]*)\](?: to \S+)?: (.*)")
_SERVER_DIED = re.compile(
    r"Server terminated abruptly|Server crashed|server died unexpectedly", re.IGNORECASE
)
_LAST_LINES = 12
_LONGEST = 400


def failure(
    end: Exit, run: Watch, facts: Facts, jobs: int | None = None, *, network: bool = True
) -> BuildError | EngineError:
    """Return the error for a build script that failed: what is to blame, and where to read on.

    Args:
        end: how the script ended.
        run: its output.
        facts: the engine that it ran on.
        jobs: parallel actions that the recipe allows; None: as many as there are CPUs.
        network: the build had one; else everything was to come from a fetched folder.
    """
    log = f"The whole output is in {run.log}"
    lines = run.excerpt.lines
    first = "\n".join(lines or [line for line in run.last if line.strip()][-_LAST_LINES:])
    if end.out_of_memory or run.excerpt.memory or run.exit_name == "OOM_ERROR":
        return _memory(run, facts, jobs or facts.cpus, first, log)
    if died := next((line for line in run.last if _SERVER_DIED.search(line)), ""):
        return BuildError(
            "Bazel's own server died in the middle of the compile.",
            why=f"{died.strip()[:_LONGEST]}\nMost often the kernel killed it for want of memory.",
            do=f"Run again with fewer parallel actions: {_fewer(jobs or facts.cpus)}. "
            f"What is done is kept.\n{log}",
        )
    if line := trouble.distrusted(line for line in run.last if "ERROR" in line or "Error" in line):
        return trouble.certificate_error(line)
    fetching = _download if network else _lacking
    if error := servers.error(end.code, run.last, log) or fetching(run, log):
        return error
    if end.code in _KILLED and not lines:
        return BuildError(
            "The compile was killed from outside.",
            why=f"The build script ended with {end.code}.",
            do=f"Run the same command again: what is done is kept. {log}",
        )
    return _failed(end, run, first, log)


def _failed(end: Exit, run: Watch, first: str, log: str) -> BuildError:
    """Return the error for what the compile itself says; with its cause where others met it."""
    what = f"The compile failed with {end.code}{_while(run)}."
    why = _counted(run) + first
    meaning = known.explain([*run.excerpt.lines, *run.last])
    if meaning is None:
        return BuildError(what, why=why, do=log)
    cause = f"{meaning.cause} Others have met it: {meaning.source}."
    return BuildError(what, why=f"{cause}\n{why}", do=f"{meaning.fix}\n{log}")


def _memory(run: Watch, facts: Facts, jobs: int, first: str, log: str) -> BuildError:
    has = f"{facts} has {facts.memory / 2**30:.0f} GiB for {facts.cpus} CPUs"
    told = "\n".join(dict.fromkeys(filter(None, (run.excerpt.memory, first))))
    if "OutOfMemoryError" in run.excerpt.memory or run.exit_name == "OOM_ERROR":
        return BuildError(
            "Bazel ran out of memory of its own: its Java heap is full.",
            why=f"{has}; Java takes a quarter of that.\n{told}",
            do=f"Give the engine more memory, or run with fewer: {_fewer(jobs)}. "
            f"What is done is kept.\n{log}",
        )
    return BuildError(
        "The compile ran out of memory, and the kernel killed a part of it.",
        why=f"{has}; each parallel action of TensorFlow may need 2 GiB.\n{told}",
        do=f"Run again with fewer: {_fewer(jobs)}. What is done is kept.\n{log}",
    )


def _fewer(jobs: int) -> str:
    return f"--jobs {jobs // 2}" if jobs > 1 else "--jobs 1, on an engine with more memory"


def _download(run: Watch, log: str) -> EngineError | None:
    """Return the error for a source that Bazel could not get, if that is what went wrong."""
    if run.actions is not None and run.actions.executed:
        return None
    fetches = [line for line in run.last if line.startswith("ERROR") and _is_fetch(line)]
    unreachable = trouble.unreachable(fetches)
    if unreachable:
        return EngineError(
            "Bazel cannot reach a server that the release's sources come from.",
            why=unreachable[:_LONGEST],
            do=f"Check the network of containers. {log}",
        )
    found = next(filter(None, map(_DOWNLOAD.search, fetches)), None)
    if found is None:
        return None
    return EngineError(
        "Bazel cannot download a file that the release needs.",
        why=f"{found[1]}: {found[2]}"[:_LONGEST],
        do=f"Is there a mirror, or a proxy that answers in the server's place? {log}",
    )


def _lacking(run: Watch, log: str) -> EngineError | None:
    """Return the error for something that a fetched folder does not hold."""
    found = [line for line in run.last if line.startswith("ERROR") and _is_fetch(line)]
    if not found:
        return None
    # The first only says that there is one; the last tells who needs it, and why it failed.
    line = found[-1]
    return EngineError(
        "The fetched folder lacks something that this recipe needs.",
        why=line.strip()[:_LONGEST],
        do="On a machine with a network, run tfbuild fetch into the same folder with the target "
        f"and the options of this build; it adds what is missing. {log}",
    )


def _is_fetch(line: str) -> bool:
    return "ownload" in line or "fetch" in line


def _while(run: Watch) -> str:
    phase = run.course.phase
    return "" if phase in {"", COMPILING} else f" while {phase[0].lower()}{phase[1:]}"


def _counted(run: Watch) -> str:
    """Return a line that names all that has failed, if it is more than one action."""
    labels = list(dict.fromkeys(failed.label or failed.output for failed in run.failed))
    if len(run.failed) < 2:  # noqa: PLR2004 - more than one
        return ""
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""  # noqa: PLR2004
    return f"{len(run.failed)} actions failed, of {', '.join(labels[:3])}{more}.\n"
