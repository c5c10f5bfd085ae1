"""Whether an interrupted session may go on here: only where its rounds still belong together."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tfbuild import __version__
from tfbuild.bench import workload
from tfbuild.bench.suite import Run, Subject, Suite
from tfbuild.errors import BenchError, NothingToDoError, UsageError
from tfbuild.machine import Machine

_MEMORY = 0.01
"""Share by which a kernel's update may change the memory that is left to use."""
_MACHINE = {
    "system": "operating system",
    "architecture": "architecture",
    "brand": "CPU",
    "features": "CPU's features",
    "cpus": "number of CPUs",
    "cpus_allowed": "number of CPUs that may be used",
    "cpu_quota": "quota of CPU time",
    "smt": "hyper-threading",
}
_SUBJECT = {
    "distribution": "package",
    "version": "version",
    "wheel_sha256": "wheel's SHA-256",
    "tensorflow": "TensorFlow",
    "python": "Python",
    "keras": "Keras",
    "numpy": "NumPy",
    "packages": "installed packages",
    "onednn": "oneDNN",
    "intra_threads": "threads within an op",
    "inter_threads": "ops at a time",
}
_CHANGING = {"kernel": "kernel", "libc": "C library", "governor": "governor", "turbo": "turbo"}


def check(suite: Suite, here: Machine, path: Path) -> None:
    """Refuse what cannot go on here, before anything is installed or started.

    Raises:
        NothingToDoError: the session is finished.
        UsageError: this is another machine, or the script has changed.
    """
    if suite.finished_at is not None:
        raise NothingToDoError(
            f"{path} is finished: {_rounds(suite)}.",
            do=f"Show it with: tfbuild {_shows(suite)} {path}",
        )
    same_machine(suite.machine, here, path)
    workload.check(suite.plan.script)


def same_machine(before: Machine, here: Machine, path: Path) -> None:
    """Refuse to go on with what was begun on another machine, or within other limits.

    Raises:
        UsageError: it says what differs.
    """
    if other := list(_other(before, here, _MACHINE)) + list(_memory(before, here)):
        raise UsageError(
            f"{path} was begun on another machine.",
            why=_told(other),
            do="Go on there, or measure anew here: rounds of two machines make no pairs.",
        )


def same(suite: Suite, subjects: Sequence[Subject], path: Path) -> None:
    """Refuse environments that are not those of the earlier rounds.

    Raises:
        UsageError: one of them is another by now; it says in what.
    """
    for before, now in zip(suite.subjects, subjects, strict=True):
        if other := list(_other(before, now, _SUBJECT)):
            raise UsageError(
                f"{before.spec} is not what it was when {path} was begun.",
                why=_told(other),
                do="Bring back what it was, or measure anew.",
            )


def same_data(suite: Suite, runs: Sequence[Run]) -> None:
    """Refuse a round that was trained on other data than the rounds before.

    Raises:
        BenchError: real data has come or gone meanwhile.
    """
    for name in suite.plan.architectures:
        before = {run.sample(name).data for run in suite.runs}
        now = {run.sample(name).data for run in runs}
        if before and before != now:
            raise BenchError(
                f"{name} was trained on {_kinds(before)} data, and now on {_kinds(now)} data.",
                do="Bring the data sets back to where they were, or measure anew.",
            )


def note(suite: Suite, here: Machine) -> str:
    """Return what a reader must know of a session that was interrupted."""
    changed = [f"other {name}" for name, *_ in _other(suite.machine, here, _CHANGING)]
    if suite.tfbuild != __version__:
        changed.append(f"tfbuild {suite.tfbuild} before, {__version__} after")
    but = f" ({', '.join(changed)})" if changed else ""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Interrupted after {_rounds(suite)} and resumed on {when}{but}."


def _rounds(suite: Suite) -> str:
    return "1 round" if suite.rounds == 1 else f"{suite.rounds} rounds"


def _shows(suite: Suite) -> str:
    return "bench" if len(suite.subjects) == 1 else "compare"


_Difference = tuple[str, object, object]


def _other(before: object, now: object, names: dict[str, str]) -> Iterator[_Difference]:
    for field, name in names.items():
        old, new = getattr(before, field), getattr(now, field)
        if old != new:
            yield name, old, new


def _memory(before: Machine, now: Machine) -> Iterator[_Difference]:
    old, new = before.memory_bytes, now.memory_bytes
    if old is not None and new is not None and abs(old - new) > _MEMORY * old:
        yield "memory", f"{old / 2**30:.1f} GiB", f"{new / 2**30:.1f} GiB"


def _told(other: Sequence[_Difference]) -> str:
    return "\n".join(f"{name}: {_change(old, new)}" for name, old, new in other)


def _change(old: object, new: object) -> str:
    if isinstance(old, frozenset | tuple) and isinstance(new, frozenset | tuple):
        gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
        parts = [("without", gone), ("now also", come)]
        return "; ".join(f"{word} {', '.join(map(str, names))}" for word, names in parts if names)
    return f"{old} then, {new} now"


def _kinds(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds))
