"""What a worker process does that reads libraries of a distribution: see `examine`."""

import msgspec

from tfbuild.code import crew
from tfbuild.wheel import libraries
from tfbuild.wheel.contents import FilesAgain


def main() -> None:
    """Examine one library after the other, until there are none left."""
    job = crew.job_given()
    with crew.reporting():
        files = FilesAgain(job)
        names: list[str] = job["names"]
        for number in crew.Tickets(job["tickets"]).below(len(names)):
            found = libraries.examined(files, names[number], full=job["full"])
            crew.answer({"found": msgspec.to_builtins(found, str_keys=True)})


if __name__ == "__main__":
    main()
