"""Event lines: those that a real Bazel 4.2.3 caused on the bundled workspace, and bad ones."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import DATA
from tfbuild.engine import bazel, events
from tfbuild.engine.events import PREFIX, Action
from tfbuild.engine.watch import Watch
from tfbuild.progress import Course
from tfbuild.record import Actions

RECORDED = sorted((DATA / "events").glob("bazel_4.2.3_*.txt"))


class Told:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.courses: list[Course] = []

    def phase(self, text: str, total: int | None = None) -> None:  # noqa: ARG002
        self.phases.append(text)

    def step(self, done: int, total: int | None = None, text: str = "") -> None: ...

    def course(self, course: Course) -> None:
        self.courses.append(course)

    def note(self, text: str) -> None: ...


def watched(lines: list[str], tmp_path: Path) -> tuple[Watch, Told]:
    told = Told()
    with Watch(tmp_path / "log", told) as run:
        run.phase("Compiling")
        for line in lines:
            run.line(line)
    return run, told


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_build(path: Path, tmp_path: Path) -> None:
    lines = path.read_text().splitlines()
    run, told = watched(lines, tmp_path)
    # Bazel's own closing lines are the oracle.
    line = next(text for text in lines if re.match(r"INFO: \d+ processes", text))
    assert run.actions == bazel.summary(line)
    assert run.actions is not None
    assert len(run.finished) == len(set(run.finished)) == run.actions.total
    programs = [action for action in run.finished if not action.is_internal]
    assert len(programs) == run.actions.cached + run.actions.executed
    stored = [event.stored for _, event in map(events.split, lines) if event and event.stored]
    assert stored[-1] == run.actions.executed
    last = told.courses[-1]
    assert (last.phase, last.done, last.total) == ("Packaging", run.actions.total, 30)
    assert last.cached == run.actions.cached
    assert run.exit_name == "SUCCESS"
    phases = list(dict.fromkeys(course.phase for course in told.courses if course.phase))
    assert phases == ["Starting Bazel", "Loading", "Analysing", "Compiling", "Packaging"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_log_holds_the_other_lines(path: Path, tmp_path: Path) -> None:
    lines = path.read_text().splitlines()
    watched(lines, tmp_path)
    rest = [line for line in lines if not line.startswith(PREFIX)]
    assert (tmp_path / "log").read_text().splitlines() == rest


def test_live_hits_are_those_that_bazel_counts_at_the_end(tmp_path: Path) -> None:
    lines = (DATA / "events/bazel_4.2.3_one_changed.txt").read_text().splitlines()
    without_end = [line for line in lines if "processes:" not in line and '"counts"' not in line]
    _, told = watched(without_end, tmp_path)
    assert told.courses[-1].cached == 20
    assert "20 remote cache hit" in "\n".join(lines)


def test_lines_told_twice_count_once(tmp_path: Path) -> None:
    lines = (DATA / "events/bazel_4.2.3_one_changed.txt").read_text().splitlines()
    half = len(lines) // 2
    run, told = watched(lines[:half] + lines[half - 8 :], tmp_path)
    assert len(run.finished) == 30
    assert told.courses[-1].done == 30


def test_finished_actions_are_handed_on(tmp_path: Path) -> None:
    got: list[Action] = []
    told = Told()
    lines = (DATA / "events/bazel_4.2.3_empty_cache.txt").read_text().splitlines()
    with Watch(tmp_path / "log", told, on_finished=got.extend) as run:
        for line in lines:
            run.line(line)
    assert got == run.finished
    kinds = Counter(action.kind for action in got)
    assert (kinds["CppCompile"], kinds["CppLink"], kinds["Genrule"]) == (18, 2, 1)
    assert "bazel-out/k8-opt/bin/tensorflow/core/kernels/_objs/dot/dot.pic.o" in {
        action.output for action in got
    }


def test_an_event_behind_an_unfinished_line() -> None:
    line, event = events.split('tensorflow/a.cctfbuild-event: {"n":3,"done":7}')
    assert line == "tensorflow/a.cc"
    assert event is not None
    assert (event.number, event.done) == (3, 7)


@pytest.mark.parametrize(
    "line",
    [
        "tfbuild-event: ",
        "tfbuild-event: {",
        "tfbuild-event: []",
        'tfbuild-event: {"n":"x"}',
        'tfbuild-event: {"n":1,"actions":[1]}',
        'tfbuild-event: {"n":1,"failed":["a"]}',
        'tfbuild-event: {"n":1,"counts":{"total":"many"}}',
        "[1 / 2] Compiling a.cc",
        "",
    ],
)
def test_what_is_no_event_goes_into_the_log(line: str) -> None:
    assert events.split(line) == (line, None)


def test_a_failed_action() -> None:
    _, event = events.split('tfbuild-event: {"n":4,"done":3,"failed":["Genrule","a/b","//a:b",3]}')
    assert event is not None
    assert event.failed == events.Failed(kind="Genrule", output="a/b", label="//a:b", code=3)


# actionSummary.runnerCount as Bazel 6.5.0, 9.2.0 and others gave it, names and numbers.
COUNTS = [
    ({"total": 8, "internal": 3, "darwin-sandbox": 5}, Actions(total=8, cached=0, executed=5)),
    (
        {"total": 100, "disk cache hit": 80, "internal": 10, "processwrapper-sandbox": 10},
        Actions(total=100, cached=80, executed=10),
    ),
    (
        {"total": 9, "remote cache hit": 2, "internal": 3, "worker": 4},
        Actions(total=9, cached=2, executed=4),
    ),
    # Bazel 4 counts nothing here.
    ({}, None),
]


@pytest.mark.parametrize(("counts", "actions"), COUNTS)
def test_bazels_closing_count(counts: dict[str, int], actions: Actions | None) -> None:
    assert events.counted(counts) == actions
