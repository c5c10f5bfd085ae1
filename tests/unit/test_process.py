import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfbuild import process
from tfbuild.process import ProcessError


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_and_exit_code_come_back() -> None:
    done = process.run(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), check=False
    )
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert not done.ok
    assert done.signal_name is None


def test_input_reaches_the_program_and_is_empty_otherwise() -> None:
    read = python("import sys; print(repr(sys.stdin.read()))")
    assert process.run(read, input_text="häh").stdout == "'häh'\n"
    assert process.run(read).stdout == "''\n"


def test_a_failure_shows_the_command_and_the_last_lines() -> None:
    with pytest.raises(ProcessError) as caught:
        process.run(python("import sys; print('reason 17', file=sys.stderr); sys.exit(2)"))
    assert "failed with 2" in caught.value.what
    assert "reason 17" in caught.value.why
    assert caught.value.completed is not None


def test_death_by_signal_is_named() -> None:
    with pytest.raises(ProcessError, match="was killed by SIGILL"):
        process.run(python("import os, signal; os.kill(os.getpid(), signal.SIGILL)"))


def test_a_missing_program_and_a_missing_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="no-such-program was not found"):
        process.run(["no-such-program"])
    with pytest.raises(ProcessError, match="nowhere was not found"):
        process.run(python("pass"), cwd=tmp_path / "nowhere")


@pytest.mark.parametrize("streaming", [False, True])
def test_a_time_limit_ends_the_children_too(tmp_path: Path, streaming: bool) -> None:
    child_file = tmp_path / "child"
    code = (
        "import subprocess, sys, time; "
        "child = subprocess.Popen(['sleep', '600']); "
        f"open({str(child_file)!r}, 'w').write(str(child.pid)); "
        "time.sleep(600)"
    )

    def start() -> None:
        if streaming:
            process.stream(python(code), lambda _: None, timeout=2)
        else:
            process.run(python(code), timeout=2)

    with pytest.raises(ProcessError, match="did not finish within 2 s"):
        start()
    assert_gone(int(child_file.read_text()))


def assert_gone(pid: int) -> None:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} still runs")


def test_streamed_lines_arrive_while_the_program_runs() -> None:
    seen: list[tuple[str, float]] = []
    code = "import time; print('a', flush=True); time.sleep(0.5); print('b', flush=True)"
    process.stream(python(code), lambda line: seen.append((line, time.monotonic())))
    assert [line for line, _ in seen] == ["a", "b"]
    assert seen[1][1] - seen[0][1] > 0.3


def test_a_streamed_failure_keeps_its_last_lines() -> None:
    code = "import sys; [print(i) for i in range(1000)]; sys.exit('last words')"
    with pytest.raises(ProcessError, match="failed with 1") as caught:
        process.stream(python(code), lambda _: None)
    assert "last words" in caught.value.why
    assert "999" in caught.value.why


def test_an_interrupt_stops_the_program() -> None:
    code = (
        "import sys\nfrom tfbuild import process\n"
        "process.stream([sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True);"
        " time.sleep(600)'], lambda line: print(line, flush=True))"
    )
    outer = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert outer.stdout is not None
    inner = int(outer.stdout.readline())
    outer.send_signal(signal.SIGINT)
    _, errors = outer.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert_gone(inner)


def test_the_shown_command_can_be_typed() -> None:
    words = ["echo", "a b", "$HOME", "it's"]
    typed = subprocess.run(
        ["sh", "-c", process.shown(words)], capture_output=True, text=True, check=True
    )
    assert typed.stdout == "a b $HOME it's\n"


def test_bytes_that_are_not_text_do_not_break_the_reading() -> None:
    code = "import os; os.write(1, b'\\xff\\xfe ok\\n')"
    assert process.run(python(code)).stdout.endswith(" ok\n")


def test_env_replaces_the_environment() -> None:
    done = process.run(["/usr/bin/env"], env={"ONLY": "this", "PATH": os.environ["PATH"]})
    assert "ONLY=this" in done.stdout.splitlines()
    assert "HOME=" not in done.stdout


def test_a_streamed_program_gets_input_and_keeps_stderr_apart() -> None:
    # More than a pipe holds in each direction: none of them may wait for another.
    code = "import sys; t = sys.stdin.read(); sys.stderr.write(t); print(len(t))"
    lines: list[str] = []
    text = "warning\n" * 40_000
    done = process.stream(python(code), lines.append, input_text=text, merge=False)
    assert lines == [str(len(text))]
    assert set(done.stderr.splitlines()) == {"warning"}


def test_a_streamed_program_may_ignore_its_input() -> None:
    done = process.stream(python(""), print, input_text="x" * 1_000_000, merge=False)
    assert done.ok


def test_a_program_whose_number_cannot_be_noted_does_not_go_on() -> None:
    """A full disk, or an interrupt just then."""
    numbers = []

    def note(number: int) -> None:
        numbers.append(number)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        process.stream(["sleep", "60"], print, on_start=note)
    with pytest.raises(ProcessLookupError):
        os.killpg(numbers[0], 0)
