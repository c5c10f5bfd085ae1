"""SIGTERM and SIGHUP end work as Ctrl-C does."""

import os
import signal

import pytest

from tfbuild import signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), signals.stoppable():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_nohup_stays() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_clearing_up_is_not_disturbed() -> None:
    done = False
    with signals.held():
        os.kill(os.getpid(), signal.SIGINT)
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
