"""The scheduler and its talk with workers, with a worker that needs no TensorFlow."""

import errno
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tfbuild import artifact, bench, machine, stopping
from tfbuild.bench import Around, Contender, Plan, Scale, Setting, Suite, variables
from tfbuild.bench.schedule import schedule
from tfbuild.bench.session import names
from tfbuild.bench.suite import Stopped
from tfbuild.errors import BenchError, HostError, SaveError, TfbuildError
from tfbuild.host import Host
from tfbuild.spec import Environment

HOST = Host(
    system="Linux",
    architecture="x86_64",
    vendor="AuthenticAMD",
    brand="Test CPU",
    microarchitecture="zen",
    features=frozenset({"avx2", "fma"}),
    cpus=2,
    source="test",
)
SETTING = Setting(cpus=(0, 1), intra_threads=3, inter_threads=3, omp_threads=3)
PLAN = Plan(
    rounds=4,
    scale=Scale.SMOKE,
    architectures=("mnist_mlp", "mnist_cnn", "imdb_fasttext"),
    seed=7,
    timeout=60,
)


@dataclass
class Told:
    """Progress that remembers, and may interrupt."""

    steps: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    on_step: Callable[[int], None] = lambda _: None

    def phase(self, text: str, total: int | None = None) -> None:  # noqa: ARG002
        self.steps.clear()

    def step(self, done: int, total: int | None = None, text: str = "") -> None:  # noqa: ARG002
        self.steps.append((done, text))
        self.on_step(len(self.steps))

    def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class Lab:
    """Environments whose interpreter is a link, with the worker's behaviour beside it."""

    folder: Path
    told: Told = field(default_factory=Told)

    def environment(self, name: str, **behaviour: Any) -> Environment:
        home = self.folder / name
        home.mkdir()
        (home / "python").symlink_to(sys.executable)
        (home / "behaviour.json").write_text(json.dumps(behaviour))
        return self.known(name)

    def known(self, name: str) -> Environment:
        """Return an environment that is there."""
        return Environment(
            spec=name,
            description=f"the environment {name}",
            python=self.folder / name / "python",
            python_version="3.10",
            distribution="tensorflow-cpu",
            version="2.8.4",
            tensorflow="2.8.4",
            wheel_sha256=None,
            packages=("numpy==1.26.4",),
        )

    @property
    def path(self) -> Path:
        return self.folder / "results" / "suite.json"

    @property
    def resume(self) -> str:
        return f"tfbuild compare --resume {self.path}"

    def measure(
        self,
        *environments: Environment,
        plan: Plan = PLAN,
        control: bool = False,
        has_peaks: bool = False,
    ) -> Suite:
        contenders = [Contender(environment=each, setting=SETTING) for each in environments]
        contenders += [replace(contenders[0], is_control=True)] if control else []
        around = Around(
            here=machine.read(HOST),
            data_folder=Path("/data"),
            path=self.path,
            command=("tfbuild", "compare", "a", "b"),
            resume_command=tuple(self.resume.split()),
            has_peaks=has_peaks,
            worker=DATA / "fake_worker.py",
        )
        return bench.measure(contenders, plan, around, self.told)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_each_round_is_one_fresh_process_of_each_environment(lab: Lab) -> None:
    lab.measure(lab.environment("a"), lab.environment("b"), lab.environment("c"))
    met, log = lab.log()[:3], lab.log()[3:]
    assert [entry["request"]["architectures"] for entry in met] == [[], [], []]
    assert len({entry["pid"] for entry in log}) == 12
    rounds = [log[start : start + 3] for start in range(0, 12, 3)]
    for number, entries in enumerate(rounds):
        assert {entry["name"] for entry in entries} == {"a", "b", "c"}
        # The same seed, and the same order of architectures, for all of a round.
        assert {entry["request"]["seed"] for entry in entries} == {7 + number}
        assert len({tuple(entry["request"]["architectures"]) for entry in entries}) == 1
        assert set(entries[0]["request"]["architectures"]) == set(PLAN.architectures)
    assert len({tuple(entry["name"] for entry in entries) for entries in rounds}) > 1
    assert len({tuple(entries[0]["request"]["architectures"]) for entries in rounds}) > 1


def test_the_request_is_what_the_plan_says(lab: Lab) -> None:
    lab.measure(lab.environment("a"))
    request = lab.log()[-1]["request"]
    assert (request["scale"], request["setting"]["intra_threads"]) == ("smoke", 3)
    assert request["data"] == {"folder": "/data", "mode": "auto"}


def test_every_place_in_the_order_is_as_likely_for_each_environment() -> None:
    rounds = list(schedule(replace(PLAN, rounds=3_000), 3))
    for position in range(3):
        counts = Counter(each.subjects[position] for each in rounds)
        # 1000 expected; 5 standard deviations of the binomial are 129.
        assert all(870 < counts[subject] < 1_130 for subject in range(3))
    firsts = Counter(each.architectures[0] for each in rounds)
    assert all(870 < firsts[name] < 1_130 for name in PLAN.architectures)


def test_the_seed_decides_the_order() -> None:
    def orders(seed: int) -> list[tuple[int, ...]]:
        return [each.subjects for each in schedule(replace(PLAN, rounds=20, seed=seed), 3)]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


def test_all_environments_get_the_same_settings_and_nothing_of_the_users(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setenv("KMP_AFFINITY", "compact")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    suite = lab.measure(lab.environment("a"), lab.environment("b"))
    for entry in lab.log():
        environ = entry["environ"]
        assert environ["OMP_NUM_THREADS"] == "3"
        assert environ["TF_NUM_INTRAOP_THREADS"] == environ["TF_NUM_INTEROP_THREADS"] == "3"
        assert environ["TF_ENABLE_ONEDNN_OPTS"] == "0"  # the user's choice holds for all alike
        assert not {"KMP_AFFINITY", "PYTHONPATH", "KERAS_BACKEND"} & environ.keys()
    assert suite.settings[0]["OMP_NUM_THREADS"] == "3"
    assert suite.settings[0]["TF_ENABLE_ONEDNN_OPTS"] == "0"


def test_layers_are_asked_for_in_the_first_round_alone(lab: Lab) -> None:
    suite = lab.measure(lab.environment("a"), lab.environment("b"))
    layers = [[bool(sample.layers) for sample in run.samples] for run in suite.runs]
    assert layers == [[True] * 3] * 2 + [[False] * 3] * 6
    assert suite.runs[0].samples[0].layers[0].weights == ((784, 10), (10,))


def test_starting_and_the_first_step_are_told_apart(lab: Lab) -> None:
    run = lab.measure(lab.environment("a"), plan=replace(PLAN, rounds=1)).runs[0]
    assert run.startup_seconds == 1.5
    assert run.samples[0].first_step_seconds == 0.3


def test_peaks_are_measured_once_for_each_contender_after_the_rounds(lab: Lab) -> None:
    suite = lab.measure(lab.environment("a"), lab.environment("b"), control=True, has_peaks=True)
    asked = [(entry["name"], entry["request"]["peak"]) for entry in lab.log()]
    # The control is the first contender: nothing new would be learned.
    assert [name for name, peak in asked if peak] == ["a", "b"]
    assert [peak for _, peak in asked[-2:]] == [True, True]
    assert [peak and peak.gflops for peak in suite.peaks] == [80.0, 80.0, 80.0]
    assert artifact.load(Suite, lab.path) == suite


def test_a_peak_that_cannot_be_measured_costs_no_sample(lab: Lab) -> None:
    suite = lab.measure(lab.environment("a", trouble="SIGSEGV", at="peak"), has_peaks=True)
    assert (suite.rounds, suite.peaks) == (4, (None,))
    assert "SIGSEGV" in suite.notes[0]


def test_the_control_is_the_first_contender_once_more(lab: Lab) -> None:
    suite = lab.measure(lab.environment("a"), lab.environment("b"), control=True)
    assert [(each.spec, each.is_control) for each in suite.subjects] == [
        *(("a", False), ("b", False), ("a", True))
    ]
    assert Counter(run.subject for run in suite.runs) == {0: 4, 1: 4, 2: 4}
    assert {text.split(", ")[1] for _, text in lab.told.steps} >= {"again"}


def test_contenders_are_called_by_what_tells_them_apart(lab: Lab) -> None:
    a = Contender(environment=lab.environment("a"), setting=SETTING)
    fast = replace(a, setting=replace(SETTING, onednn=True, cpus=(0,)))
    again = replace(a, is_control=True)
    assert names([a, replace(a, environment=lab.environment("b"))]) == ("a", "b")
    assert names([a, again]) == ("a", "a, again")
    assert names([a, fast, again]) == ("a, 2 CPUs", "a, 1 CPU, oneDNN on", "a, again, 2 CPUs")


def test_rounds_end_when_the_rule_says_so(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule has tests of its own; here: what it is told, and that it is obeyed."""
    told: list[tuple[list[list[float]], list[float]]] = []

    def after(
        plan: Plan, ratios: Sequence[Sequence[float]], seconds: Sequence[float]
    ) -> stopping.Decision:
        told.append(([list(each) for each in ratios], list(seconds)))
        done = len(seconds)
        return stopping.Decision(
            stop=Stopped.VERDICT if done == 2 else None,
            planned=plan.rounds,
            looks=(2,) if done >= 2 else (),
            level=0.97,
        )

    monkeypatch.setattr(stopping, "after", after)
    slow = lab.environment("slow", seconds={"mnist_cnn": 3.0})
    suite = lab.measure(slow, lab.environment("fast"), control=True)
    assert (suite.rounds, suite.stopped, suite.looks, suite.level) == (2, "verdict", (2,), 0.97)
    ratios, seconds = told[-1]
    # Three architectures of one pair; the control decides nothing.
    assert ratios == [pytest.approx([0.0] * 2), pytest.approx([math.log(3)] * 2), [0.0] * 2]
    processes = [sum(run.seconds for run in suite.runs if run.round == r) for r in range(2)]
    assert seconds == pytest.approx(processes)


def test_samples_come_back_whole_and_survive_the_file(lab: Lab) -> None:
    seconds = {"mnist_mlp": 0.5, "mnist_cnn": 2.0}
    suite = lab.measure(lab.environment("a", seconds=seconds), lab.environment("b"))
    assert suite.rounds == 4
    assert suite.finished_at is not None
    # 0.5 s for 700 samples is 50 s for the study's 70,000.
    assert suite.seconds(0, "mnist_mlp") == pytest.approx((50.0,) * 4)
    assert suite.seconds(0, "mnist_cnn") == pytest.approx((200.0,) * 4)
    assert suite.seconds(1, "mnist_mlp") == pytest.approx((100.0,) * 4)
    run = suite.of(0)[0]
    assert run.peak_rss_bytes == 123_456
    assert run.seconds > 0
    assert run.samples[0].losses == (1.0, None)  # NaN is not JSON
    assert artifact.load(Suite, lab.path) == suite
    assert os.uname().nodename not in lab.path.read_text()


def test_what_else_the_machine_did_is_known(lab: Lab) -> None:
    run = lab.measure(lab.environment("a"), plan=replace(PLAN, rounds=1)).runs[0]

    def at(busy: float, steal: float) -> machine.Load:
        return replace(run.before, busy_seconds=busy, steal_seconds=steal)

    run = replace(run, seconds=10.0, cpu_seconds=15.0, before=at(100, 1), after=at(125, 3))
    assert run.others_cpus == pytest.approx(1.2)  # 25 - 15 + 2 stolen, in 10 s
    assert replace(run, cpu_seconds=None).others_cpus is None


def test_progress_counts_every_training(lab: Lab) -> None:
    lab.measure(lab.environment("a"), lab.environment("b"))
    assert [done for done, _ in lab.told.steps] == list(range(4 * 2 * 3))
    assert {text.split(", ")[0] for _, text in lab.told.steps} == {"a", "b"}


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        # Sent, not met: the CPU is not to blame. Instructions have tests of their own.
        ({"trouble": "SIGILL", "at": "mnist_cnn"}, BenchError, ["SIGILL", "mnist_cnn", "was sent"]),
        ({"trouble": "SIGKILL", "at": "mnist_mlp"}, BenchError, ["SIGKILL", "not for lack of mem"]),
        ({"trouble": "SIGSEGV", "at": "mnist_mlp"}, BenchError, ["SIGSEGV", "mnist_mlp"]),
        (
            {
                "trouble": "SIGABRT",
                "at": "",
                "stderr": "2026 F cpu_feature_guard.cc:37] The TensorFlow library was compiled to "
                "use AVX512F instructions, but these aren't available on your machine.\n",
            },
            HostError,
            ["AVX512F", "This CPU cannot run b"],
        ),
        ({"trouble": "error", "at": ""}, BenchError, ["ImportError: no module named 'tensorflow'"]),
        (
            {"trouble": "exit", "at": "mnist_mlp", "stderr": "Killed by a gremlin\n"},
            BenchError,
            ["exit code 3", "gremlin"],
        ),
        ({"trouble": "Hello from a library", "at": "mnist_mlp"}, BenchError, ["Hello from a lib"]),
        ({"trouble": "[1, 2]", "at": "mnist_mlp"}, BenchError, ["unexpected", "[1, 2]"]),
        ({"trouble": '{"event": "sample"}', "at": "mnist_mlp"}, BenchError, ["unexpected"]),
        ({"trouble": "leave", "at": "mnist_cnn"}, BenchError, ["ended early"]),
    ],
)
def test_a_process_that_fails_is_explained(
    lab: Lab, behaviour: dict[str, str], kind: type[TfbuildError], words: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        lab.measure(lab.environment("a"), lab.environment("b", **behaviour))
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not list(lab.folder.glob("results/*"))  # no round is finished: nothing is left behind


def test_a_process_that_hangs_is_ended(lab: Lab) -> None:
    hanging = lab.environment("b", trouble="hang", at="mnist_cnn")
    with pytest.raises(BenchError, match="took too long") as caught:
        lab.measure(hanging, plan=replace(PLAN, timeout=2))
    assert "--timeout" in caught.value.do
    assert "mnist_cnn" in caught.value.what
    with pytest.raises(ProcessLookupError):
        os.kill(lab.log()[-1]["pid"], 0)


def test_an_interpreter_that_is_not_there_is_said(lab: Lab) -> None:
    environment = replace(lab.environment("a"), python=lab.folder / "nothing")
    with pytest.raises(BenchError, match="cannot be measured"):
        lab.measure(environment)


def test_a_later_failure_keeps_the_finished_rounds(lab: Lab) -> None:
    a, b = lab.environment("a"), lab.environment("b")

    def break_b(steps: int) -> None:
        if steps == 2 * 6 + 1:
            (lab.folder / "a/behaviour.json").write_text(
                '{"trouble": "SIGSEGV", "at": "mnist_mlp"}'
            )
            (lab.folder / "b/behaviour.json").write_text(
                '{"trouble": "SIGSEGV", "at": "mnist_mlp"}'
            )

    lab.told.on_step = break_b
    with pytest.raises(BenchError, match="SIGSEGV"):
        lab.measure(a, b)
    kept = artifact.load(Suite, lab.path)
    assert kept.finished_at is None
    assert 1 <= kept.rounds < 4
    assert any(f"{kept.rounds} of 4 rounds are kept" in note for note in lab.told.notes)


def test_an_interrupt_ends_the_process_and_keeps_the_finished_rounds(lab: Lab) -> None:
    def interrupt(steps: int) -> None:
        if steps == 2 * 6 + 2:
            raise KeyboardInterrupt

    lab.told.on_step = interrupt
    with pytest.raises(KeyboardInterrupt):
        lab.measure(lab.environment("a"), lab.environment("b"))
    assert artifact.load(Suite, lab.path).rounds == 2
    assert lab.told.notes == [f"2 of 4 rounds are kept in {lab.path}; go on with: {lab.resume}"]
    with pytest.raises(ProcessLookupError):
        os.kill(lab.log()[-1]["pid"], 0)


def test_a_full_disk_leaves_the_earlier_rounds_intact(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 4:  # the empty suite, two rounds, and now the third
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(SaveError, match="disk is full"):
        lab.measure(lab.environment("a"))
    assert artifact.load(Suite, lab.path).rounds == 2
    assert [path.name for path in lab.path.parent.iterdir()] == ["suite.json"]
    assert lab.told.notes == [f"2 of 4 rounds are kept in {lab.path}; go on with: {lab.resume}"]


def test_a_place_that_cannot_be_written_is_found_out_before_any_training(lab: Lab) -> None:
    (lab.folder / "results").write_text("a file where the folder should be")
    with pytest.raises(SaveError):
        lab.measure(lab.environment("a"))
    assert all(entry["request"]["architectures"] == [] for entry in lab.log())


def test_settings_name_threads_for_every_library() -> None:
    chosen = variables.settings(
        replace(SETTING, intra_threads=5, inter_threads=5, omp_threads=5), {}
    )
    assert {name for name, value in chosen.items() if value == "5"} == {
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
    }
    assert "TF_ENABLE_ONEDNN_OPTS" not in chosen
