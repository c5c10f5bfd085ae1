"""Workers: the same counts as alone, their errors, their death, and their end."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.libraries import assembled, need_tools
from tfbuild.code import crew, library, parallel, whole
from tfbuild.code.source import FileSource
from tfbuild.errors import TfbuildError, WheelError


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """Return four megabytes of code: several chunks, with needs in each."""
    need_tools()
    rows = [
        f".type f{n}, @function\nf{n}: vfmadd231ps %ymm1, %ymm2, %ymm3\n"
        f".fill 150, 8, 0x841f0f\nret\n.size f{n}, . - f{n}"
        for n in range(3500)
    ]
    return assembled(tmp_path, "\n".join([*rows, "last: vpaddd %zmm1, %zmm2, %zmm3"]))


def test_together_they_count_what_one_counts(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = library.read(kernels)
    assert alone.total.fused.value == 3500
    assert [need.extension for need in alone.needs] == ["fma", "avx512f"]
    monkeypatch.setattr(parallel, "workers", lambda: 3)
    assert parallel.read(kernels) == alone
    with kernels.open("rb") as file:
        assert len(whole.chunks(library.opened(FileSource(file.fileno()), "x"))) > 3


def test_partial_results_survive_the_way(kernels: Path) -> None:
    with kernels.open("rb") as file:
        opened = library.opened(FileSource(file.fileno()), "x")
        partial = whole.count(opened)
        told = json.loads(json.dumps(partial.to_builtins()))
        again = whole.Partial.from_builtins(told)
        assert library.counted(opened, [again]) == library.counted(opened, [partial])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the place of a module that workers run: "worker_for_tests"."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "worker_for_tests.py"


def run(module: Path, body: str) -> list[object]:
    head = "from tfbuild.code import crew\nfrom tfbuild.errors import WheelError\nimport os, time\n"
    module.write_text(head + textwrap.dedent(body))
    heard: list[object] = []
    crew.run("worker_for_tests", {"x": 1}, heard.append, workers=2)
    return heard


def test_answers_are_heard(module: Path) -> None:
    assert run(module, "crew.answer(crew.job_given())") == [{"x": 1}, {"x": 1}]


def test_numbers_are_given_out_once(module: Path) -> None:
    module.write_text(
        "from tfbuild.code import crew\n"
        "for number in crew.Tickets(crew.job_given()['tickets']).below(2000):\n"
        "    crew.answer({'number': number})\n"
    )
    taken: list[int] = []
    with crew.tickets() as tickets:
        crew.run(
            "worker_for_tests",
            {"tickets": tickets},
            lambda said: taken.append(said["number"]),
            workers=3,
            files=[tickets],
        )
    assert sorted(taken) == list(range(2000))


def test_an_error_comes_over_as_it_was_raised(module: Path) -> None:
    body = """
    with crew.reporting():
        raise WheelError("It is damaged.", why="So it is.", do="Make it anew.")
    """
    with pytest.raises(WheelError, match="It is damaged") as caught:
        run(module, body)
    assert (caught.value.why, caught.value.do) == ("So it is.", "Make it anew.")


def test_a_killed_worker_is_a_clear_error_and_ends_the_other(module: Path) -> None:
    body = """
    first = crew.Tickets(os.open("TICKETS", os.O_RDWR)).next()
    if first == 0:
        os.kill(os.getpid(), 9)
    open("PID", "w").write(str(os.getpid()))
    time.sleep(600)
    """
    tickets = module.with_name("tickets")
    tickets.touch()
    other = module.with_name("pid")
    with pytest.raises(TfbuildError, match="killed by SIGKILL") as caught:
        run(module, body.replace("TICKETS", str(tickets)).replace("PID", str(other)))
    assert "out of memory" in caught.value.why
    assert caught.value.exit_code == 1
    if other.exists():
        assert not is_alive(int(other.read_text() or 0))


def test_modules_in_the_current_folder_are_not_run(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = library.read(kernels)
    folder = tmp_path / "somebody's"
    folder.mkdir()
    for name in ("json", "numpy", "msgspec", "tfbuild"):
        (folder / f"{name}.py").write_text("open('was run', 'w').close(); raise SystemExit(0)\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(parallel, "workers", lambda: 1)
    assert parallel.read(kernels) == alone
    assert not (folder / "was run").exists()


def test_work_that_is_left_over_is_no_result() -> None:
    crew.check_all_done(3, 3)
    with pytest.raises(TfbuildError, match="too early") as caught:
        crew.check_all_done(2, 3)
    assert "2 of 3" in caught.value.why


def test_a_worker_that_fails_says_why(module: Path) -> None:
    with pytest.raises(TfbuildError, match="failed") as caught:
        run(module, "raise RuntimeError('odd thing')")
    assert "odd thing" in caught.value.why


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_an_interrupt_ends_all_and_needs_no_guard_around_main(tmp_path: Path) -> None:
    # A script without `if __name__ == "__main__"`, which forking or spawning would run again.
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, time\n"
        f"(pathlib.Path({str(tmp_path)!r}) / f'worker-{{os.getpid()}}').touch()\n"
        "time.sleep(600)\n"
    )
    (tmp_path / "main.py").write_text(
        "from tfbuild.code import crew\ncrew.run('slow', {}, print, workers=2)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    started = subprocess.Popen(
        [sys.executable, "main.py"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("worker-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert b"KeyboardInterrupt" in said
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    assert len(workers) == 2
    assert not any(map(is_alive, workers))
