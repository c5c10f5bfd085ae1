"""The one door to other programs.

Arguments are always a list, so no shell reads them. Secrets go into `env`, never into `args`:
argument lists are visible to every user of the machine and are repeated in errors.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from tfbuild.errors import TfbuildError

LAST_LINES = 20
_GRACE_SECONDS = 10.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A program that has ended. `stdout` and `stderr` are text, invalid UTF-8 replaced."""

    args: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether the program returned 0."""
        return self.exit_code == 0

    @property
    def signal_name(self) -> str | None:
        """The signal that killed the program ("SIGILL"), or None if it ended by itself."""
        if self.exit_code >= 0:
            return None
        try:
            return signal.Signals(-self.exit_code).name
        except ValueError:
            return f"signal {-self.exit_code}"


class ProcessError(TfbuildError):
    """A program is missing, failed, or took too long. Rooms turn it into their own error."""

    def __init__(
        self, what: str, *, why: str = "", do: str = "", completed: Completed | None = None
    ) -> None:
        super().__init__(what, why=why, do=do)
        self.completed = completed


def shown(args: Sequence[str | Path]) -> str:
    """Return the command as it could be typed into a shell."""
    return shlex.join(str(arg) for arg in args)


def run(
    args: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    input_text: str | None = None,
    check: bool = True,
) -> Completed:
    """Run a program to its end and return its output.

    Args:
        args: program and arguments.
        cwd: working folder.
        env: the whole environment; None inherits this process's.
        timeout: seconds after which the program and its children are killed.
        input_text: text for its standard input, which is empty otherwise.
        check: raise when the program does not return 0.

    Raises:
        ProcessError: missing program, time-out, or (with `check`) a non-zero exit.
    """
    words = tuple(str(arg) for arg in args)
    process = _start(words, cwd=cwd, env=env, merge=False, has_input=input_text is not None)
    try:
        out, err = process.communicate(input_text, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        _kill(process, signal.SIGKILL)
        process.communicate()
        raise ProcessError(
            f"{words[0]} did not finish within {timeout:g} s.", why=f"Command: {shown(words)}"
        ) from error
    except BaseException:
        stop(process)
        raise
    done = Completed(args=words, exit_code=process.returncode, stdout=out, stderr=err)
    if check and not done.ok:
        raise failed(done)
    return done


def stream(
    args: Sequence[str | Path],
    on_line: Callable[[str], None],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    input_text: str | None = None,
    merge: bool = True,
    check: bool = True,
    on_start: Callable[[int], None] | None = None,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Run a program and hand over each line of its output at once.

    The lines are those of stdout and stderr together, or with `merge=False` of stdout alone. The
    result holds the last lines only. An interrupt stops the program and its children.
    `on_start` is told the program's number, which is that of its process group too; `pass_fds` are
    open files that it gets under the same numbers.
    Other arguments and errors as for `run`.
    """
    words = tuple(str(arg) for arg in args)
    process = _start(
        words, cwd=cwd, env=env, merge=merge, has_input=input_text is not None, pass_fds=pass_fds
    )
    last: deque[str] = deque(maxlen=LAST_LINES * 10)
    errors: deque[str] = deque(maxlen=LAST_LINES * 10)
    helpers = _serve(process, input_text, errors)
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        _kill(process, signal.SIGKILL)

    timer = threading.Timer(timeout, expire) if timeout is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        if on_start is not None:
            on_start(process.pid)
        for line in cast("IO[str]", process.stdout):
            text = line.rstrip("\r\n")
            last.append(text)
            on_line(text)
        process.wait()
    except BaseException:
        stop(process)
        raise
    finally:
        if timer is not None:
            timer.cancel()
        for helper in helpers:
            helper.join(_GRACE_SECONDS)
        cast("IO[str]", process.stdout).close()
    done = Completed(
        args=words,
        exit_code=process.returncode,
        stdout="\n".join(last),
        stderr="\n".join(errors),
    )
    if expired.is_set():
        raise ProcessError(
            f"{words[0]} did not finish within {timeout:g} s.",
            why=f"Command: {shown(words)}",
            completed=done,
        )
    if check and not done.ok:
        raise failed(done)
    return done


def failed(done: Completed) -> ProcessError:
    """Return the error for a program that did not return 0, with its last lines."""
    how = (
        f"was killed by {done.signal_name}" if done.signal_name else f"failed with {done.exit_code}"
    )
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-LAST_LINES:]
    return ProcessError(
        f"{done.args[0]} {how}.",
        why="\n".join([f"Command: {shown(done.args)}", *lines]),
        completed=done,
    )


def stop(process: subprocess.Popen[str]) -> None:
    """End a program and its children: politely, then not."""
    _kill(process, signal.SIGTERM)
    try:
        process.wait(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(process, signal.SIGKILL)
        process.wait()


def end_group(number: int) -> bool:
    """End a process group of an earlier run: politely, then not; return whether it is gone."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(number, way)
        deadline = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < deadline:
            if not _living(number):
                return True
            time.sleep(_POLL_SECONDS)
    return False


def _living(group: int) -> bool:
    """Return whether the process group has a member that is more than an entry in a table."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The second field is the program's name in parentheses and may hold anything.
            state, _, number = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(number) == group and state not in "ZX":
                return True
    return False


def _serve(
    process: "subprocess.Popen[str]", input_text: str | None, errors: deque[str]
) -> list[threading.Thread]:
    """Feed stdin and empty stderr in threads, so that no full pipe stops the program."""

    def feed(pipe: IO[str], text: str) -> None:
        with contextlib.suppress(BrokenPipeError), pipe:
            pipe.write(text)

    def empty(pipe: IO[str]) -> None:
        with pipe:
            errors.extend(line.rstrip("\r\n") for line in pipe)

    threads = []
    if process.stdin is not None and input_text is not None:
        threads.append(threading.Thread(target=feed, args=(process.stdin, input_text), daemon=True))
    if process.stderr is not None:
        threads.append(threading.Thread(target=empty, args=(process.stderr,), daemon=True))
    for thread in threads:
        thread.start()
    return threads


def _start(
    words: tuple[str, ...],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    merge: bool,
    has_input: bool,
    pass_fds: Sequence[int] = (),
) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            words,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            # A group of its own, so that children of children can be ended too.
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except FileNotFoundError as error:
        missing = cwd if cwd is not None and not cwd.exists() else words[0]
        raise ProcessError(f"{missing} was not found.", why=f"Command: {shown(words)}") from error
    except OSError as error:
        raise ProcessError(
            f"{words[0]} cannot be started.", why=error.strerror or str(error)
        ) from error


def _kill(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        if process.poll() is None:
            process.send_signal(number)
