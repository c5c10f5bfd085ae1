"""What is shown while a build runs: lines with a clock of ours, and the bar at a real terminal."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tfbuild.cli import console, live
from tfbuild.progress import Course, Silent

COURSE = Course(
    phase="Compiling",
    seconds=4980,
    done=12345,
    total=34131,
    cached=600,
    running=4,
    left=2463,
    now="Compiling tensorflow/core/kernels/conv_ops.cc",
)
LINE = (
    "Compiling: 1 h 23 min, 12,345 of 34,131 actions, 600 from the cache, 4 running, "
    "about 41 min left; Compiling tensorflow/core/kernels/conv_ops.cc"
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_line_each_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = live.Lines(clock)
    lines.phase("Compiling")
    for _ in range(600):
        # Events come several times a second, for five minutes.
        clock.now += 0.5
        lines.course(COURSE)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["Compiling", *[LINE] * 10]


def test_a_quiet_time_costs_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = live.Lines(clock)
    lines.phase("Compiling")
    for _ in range(3):
        clock.now += 200
        lines.course(COURSE)
    assert capsys.readouterr().err.count(LINE) == 3


def test_what_is_not_known_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = live.Lines(clock)
    lines.phase("Toolchain")
    clock.now += 31
    lines.course(Course(phase="", seconds=31))
    assert capsys.readouterr().err.splitlines() == ["Toolchain", "Toolchain: 31 s"]
    clock.now += 31
    lines.course(Course(phase="Analysing", seconds=62, now="22 packages loaded"))
    assert capsys.readouterr().err == "Analysing: 62 s; 22 packages loaded\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (12, "about 1 min left"),
        (89, "about 1 min left"),
        (100, "about 2 min left"),
        (3500, "about 58 min left"),
        (4980, "about 1 h 25 min left"),
        (4900, "about 1 h 20 min left"),
        (36000, "about 10 h 0 min left"),
    ],
)
def test_an_estimate_is_as_exact_as_it_deserves(seconds: float, words: str) -> None:
    assert live.left(seconds) == words


def test_without_a_terminal_and_in_ci_lines_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with console.progress() as shown:
        assert isinstance(shown, live.Lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("CI", "true")
    with console.progress() as shown:
        assert isinstance(shown, live.Lines)
    with console.progress(quiet=True) as shown:
        assert isinstance(shown, Silent)


PROGRAM = f"""
import time
from tfbuild.cli import console
from tfbuild.progress import Course
with console.progress() as shown:
    shown.phase("Compiling")
    shown.course({COURSE!r})
    shown.note("a [note] stays")
    time.sleep(1.2)  # it is drawn twice a second
    shown.course(Course(phase="Packaging", seconds=5000, done=34131, total=34131, cached=600))
    time.sleep(2.2)
    shown.phase("Labelling the wheel")
    shown.step(1, 2, "twice [a]")
print("the result")
"""


def test_a_bar_at_a_terminal() -> None:
    leader, follower = pty.openpty()
    environment = {
        **{key: text for key, text in os.environ.items() if key not in {"CI", "NO_COLOR"}},
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        "LINES": "30",
    }
    done = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=follower, env=environment
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(leader)
    out, _ = done.communicate()
    assert (done.returncode, out) == (0, b"the result\n")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "a [note] stays" in text
    assert "12345/34131" in text
    assert "600 from the cache, 4 running, about 41 min left" in text
    assert "Compiling tensorflow/core/kernels/conv_ops.cc" in text
    assert "Labelling the wheel: twice [a]" in text
    # Nothing stands still because all actions are done.
    packing = [line for line in text.replace("\r", "\n").splitlines() if "Packaging" in line]
    assert len({line[0] for line in packing}) > 1, "the spinner"
    assert len({line.split()[-1] for line in packing}) > 1, "the time"
