"""What a worker process does: libraries of a distribution, or chunks of one large library."""

from typing import Any

import msgspec

from tfbuild.code import crew, library, whole
from tfbuild.code.source import FileSource
from tfbuild.wheel import libraries
from tfbuild.wheel.contents import FilesAgain


def main() -> None:
    """Do the job that standard input tells."""
    job = crew.job_given()
    with crew.reporting():
        if "chunks" in job:
            _chunks(job)
        else:
            _libraries(job)


def _chunks(job: dict[str, Any]) -> None:
    """Count chunks of a library that is open as a file."""
    opened = library.opened(FileSource(job["chunks"]), job["name"])
    bounds = whole.chunks(opened)
    counter = whole.Counter(opened)
    for number in crew.Tickets(job["tickets"]).below(len(bounds)):
        counter.add(*bounds[number])
        crew.answer({"done": 1, "of": len(bounds)})
    crew.answer({"partial": counter.result().to_builtins()})


def _libraries(job: dict[str, Any]) -> None:
    """Examine libraries, each from its file to the end."""
    files = FilesAgain(job)
    names: list[str] = job["names"]
    for number in crew.Tickets(job["tickets"]).below(len(names)):
        found = libraries.examined(files, names[number], full=job["full"])
        crew.answer({"found": msgspec.to_builtins(found, str_keys=True)})


if __name__ == "__main__":
    main()
