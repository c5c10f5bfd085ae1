"""What a worker process does that decodes chunks of one library: see `parallel`."""

from tfbuild.code import crew, library, whole
from tfbuild.code.source import FileSource


def main() -> None:
    """Count chunks of a library that is open as a file, until there are none left."""
    job = crew.job_given()
    with crew.reporting():
        opened = library.opened(FileSource(job["file"]), job["name"])
        bounds = whole.chunks(opened)
        counter = whole.Counter(opened)
        for number in crew.Tickets(job["tickets"]).below(len(bounds)):
            counter.add(*bounds[number])
            crew.answer({"done": number})
        crew.answer({"partial": counter.result().to_builtins()})


if __name__ == "__main__":
    main()
