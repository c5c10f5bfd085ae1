"""Decodes all code of a large library, with as many processes as there are CPUs."""

from pathlib import Path
from typing import Any, BinaryIO

from tfbuild import machine
from tfbuild.code import crew, library, whole
from tfbuild.code.evidence import Evidence
from tfbuild.code.ledger import Library
from tfbuild.code.source import FileSource
from tfbuild.code.whole import Partial
from tfbuild.errors import WheelError
from tfbuild.progress import Progress, Silent

_WORKER = "tfbuild.code.worker"
# Each holds TensorFlow's table of symbols, some 140 MB; together they stay below 1 GiB.
_MOST = 5
_SILENT = Silent()


def workers() -> int:
    """Return how many processes to start on this machine."""
    return min(machine.threads(), _MOST)


def read(path: Path, name: str = "", *, progress: Progress = _SILENT) -> Evidence:
    """Decode all code of a library; else as `library.read`.

    Raises:
        WheelError: it cannot be read, is not ELF for x86, or is damaged.
        TfbuildError: a process that decodes was killed.
    """
    try:
        with path.open("rb") as file:
            opened = library.opened(FileSource(file.fileno()), name or path.name)
            return evidence(opened, file, progress)
    except OSError as error:
        raise WheelError(f"Cannot read {path}.", why=error.strerror or str(error)) from error


def evidence(opened: Library, file: BinaryIO, progress: Progress) -> Evidence:
    """Return what all code of a library shows; `file` is where it is open."""
    partials: list[Partial] = []
    total = len(whole.chunks(opened))
    done = 0

    def hear(said: dict[str, Any]) -> None:
        nonlocal done
        if "partial" in said:
            partials.append(Partial.from_builtins(said["partial"]))
        else:
            done += 1
            progress.step(done, total)

    progress.phase("Reading code (MB)", total)
    number = file.fileno()
    with crew.tickets() as tickets:
        job = {"file": number, "name": opened.name, "tickets": tickets}
        crew.run(_WORKER, job, hear, workers=workers(), files=[number, tickets])
    crew.check_all_done(done, total)
    return library.counted(opened, partials)
