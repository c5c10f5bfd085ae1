"""Compares full counts with `objdump -d | awk` on the same library, CPUs and run.

    PYTHONPATH=. python tests/disassembly_speed.py WHEEL [--library PART_OF_NAME]

Prints both times, their ratio, what each counted by class, and the peak memory of our processes.
Not a test: it takes minutes for a whole TensorFlow.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.libraries import AWK_CLASSES, classes_of, counted_by_awk
from tfbuild.code import parallel

_EVERY = 0.05
_KB_PER_MB = 1024


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--library", default="", help="part of a library's name; else the largest")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(given.wheel) as wheel:
        infos = [info for info in wheel.infolist() if ".so" in info.filename]
        infos = [info for info in infos if given.library in info.filename]
        largest = max(infos, key=lambda info: info.file_size)
        compare(Path(wheel.extract(largest, folder)))


def compare(library: Path) -> None:
    """Count one library both ways."""
    cpus = len(os.sched_getaffinity(0))
    print(f"{library.name}: {library.stat().st_size / 1e6:.0f} MB, {cpus} CPUs")
    while_running: list[int] = []
    with watched(while_running):
        ours, our_time = timed(lambda: classes_of(parallel.read(library)), "ours")
    theirs, their_time = timed(lambda: counted_by_awk(library), "objdump -d | awk")
    print(f"ratio of times {their_time / our_time:.1f}; our peak memory {max(while_running)} MB")
    print(f"{'class':12} {'objdump':>12} {'ours':>12} {'difference':>11}")
    for name in AWK_CLASSES:
        there, here = theirs[name], ours[name]
        difference = f"{(here - there) / there:+.3%}" if there else str(here - there)
        print(f"{name:12} {there:12,} {here:12,} {difference:>11}")


def timed(work: Callable[[], dict[str, int]], title: str) -> tuple[dict[str, int], float]:
    """Return a result and the seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    result = work()
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    load = os.getloadavg()[0]
    print(f"{title}: {seconds:.1f} s, {cpu:.1f} s of processor time (load {load:.1f})")
    return result, seconds


@contextmanager
def watched(peaks: list[int]) -> Iterator[None]:
    """Note the memory of this process and its children in MB, files' pages left out."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_EVERY):
            peaks.append(sum(map(anonymous, family(os.getpid()))) // _KB_PER_MB)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def family(process: int) -> list[int]:
    """Return a process and its descendants."""
    said = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in said.stdout.splitlines()[1:]]
    found = [process]
    for parent in found:
        found += [child for child, its in pairs if its == parent]
    return found


def anonymous(process: int) -> int:
    """Return a process's own memory in kB, 0 if it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    rows = dict(line.split(":", 1) for line in status.splitlines())
    keys = ("RssAnon", "RssShmem")
    return sum(int(rows[key].split()[0]) for key in keys if key in rows)


if __name__ == "__main__":
    main()
