"""Shares work among processes that run beside this one.

Each is a fresh interpreter that runs a module of tfbuild: it is told its job on standard input and
answers with JSON, a line for each piece of work. So nothing is forked, a caller's own main module
is never run again, and an interrupt ends them all. Which piece comes next, they ask a counter in a
file that all have open.
"""

import fcntl
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tfbuild import errors, process
from tfbuild.errors import TfbuildError

_NUMBER = 8
_PACKAGE = Path(__file__).parent.parent.parent


class Tickets:
    """Numbers 0, 1, 2, ...: each is given out once, whoever asks."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def next(self) -> int:
        """Take the next number."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        try:
            number = int.from_bytes(os.pread(self._descriptor, _NUMBER, 0), "little")
            os.pwrite(self._descriptor, (number + 1).to_bytes(_NUMBER, "little"), 0)
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        return number

    def below(self, limit: int) -> Iterator[int]:
        """Take numbers until they reach a limit, or the process that gave the job is gone."""
        parent = os.getppid()
        while (number := self.next()) < limit and os.getppid() == parent:
            yield number


@contextmanager
def tickets() -> Iterator[int]:
    """Open a counter for workers; yield its file's number."""
    # In memory: a full disk must not stop it.
    descriptor = os.memfd_create("tickets")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def run(
    module: str,
    job: Mapping[str, Any],
    on_answer: Callable[[dict[str, Any]], None],
    *,
    workers: int,
    files: Sequence[int] = (),
) -> None:
    """Give several workers the same job and wait for all.

    Args:
        module: what each runs; it calls `job_given` and `answer`.
        job: what they are told.
        on_answer: receives the answers, one at a time.
        workers: how many.
        files: open files that they get under the same numbers.

    Raises:
        TfbuildError: as a worker raised it; or a worker was killed, or failed otherwise.
    """
    one = threading.Lock()
    running: set[int] = set()

    def hear(line: str) -> None:
        said = json.loads(line)
        if error := said.get("error"):
            raise _error(error)
        with one:
            on_answer(said)

    def work() -> None:
        process.stream(
            # Without -P a module that lies in the user's folder would be run in place of ours.
            [sys.executable, "-P", "-m", module],
            hear,
            env=_environment(),
            input_text=json.dumps(job),
            merge=False,
            on_start=running.add,
            pass_fds=files,
        )

    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(work) for _ in range(workers)]
        try:
            done, _ = wait(tasks, return_when=FIRST_EXCEPTION)
            for task in done:
                task.result()
        except BaseException as error:
            for number in list(running):
                process.end_group(number)
            if isinstance(error, process.ProcessError):
                raise _died(error) from error
            raise


def check_all_done(done: int, pieces: int) -> None:
    """Make sure that workers which ended without an error did every piece of work.

    Raises:
        TfbuildError: they did not.
    """
    if done != pieces:
        raise TfbuildError(
            "A process that decodes machine code ended too early.",
            why=f"{done} of {pieces} pieces of work are done.",
            do="Try again.",
        )


def job_given() -> dict[str, Any]:
    """Return, in a worker, the job that it was told."""
    job: dict[str, Any] = json.loads(sys.stdin.read())
    return job


def answer(said: Mapping[str, Any]) -> None:
    """Tell, in a worker, one answer."""
    data = memoryview(json.dumps(said).encode() + b"\n")
    while data:
        data = data[os.write(1, data) :]


@contextmanager
def reporting() -> Iterator[None]:
    """Tell, in a worker, an error that is raised on purpose as an answer."""
    try:
        yield
    except TfbuildError as error:
        kind = type(error).__name__
        answer({"error": {"kind": kind, "what": error.what, "why": error.why, "do": error.do}})


def _environment() -> dict[str, str]:
    # A worker imports what this process imports, wherever it found it.
    places = [str(_PACKAGE), *(place for place in sys.path if place)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}


def _error(told: Mapping[str, str]) -> TfbuildError:
    kind = getattr(errors, told["kind"], TfbuildError)
    error: TfbuildError = kind(told["what"], why=told["why"], do=told["do"])
    return error


def _died(error: process.ProcessError) -> TfbuildError:
    killed = error.completed.signal_name if error.completed else ""
    if killed:
        return TfbuildError(
            f"A process that decodes machine code was killed by {killed}.",
            why="SIGKILL mostly means that the machine ran out of memory."
            if killed == "SIGKILL"
            else "",
            do="Try again with more memory free.",
        )
    return TfbuildError("A process that decodes machine code failed.", why=error.why)
