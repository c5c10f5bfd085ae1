"""Lets SIGTERM and SIGHUP end work as Ctrl-C does: what was started is stopped, results stay."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stoppable() -> Iterator[None]:
    """Within the block, SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in _SIGNALS:
        # `nohup` asks that SIGHUP be ignored; that stays.
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held() -> Iterator[None]:
    """Within the block, a second Ctrl-C does not disturb the clearing up after the first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, *_SIGNALS)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
