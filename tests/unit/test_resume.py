"""Sessions that were interrupted, and how they go on."""

import contextlib
import errno
import fcntl
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.unit.test_bench import HOST, SETTING, Lab
from tests.unit.test_bench import PLAN as LONG
from tfbuild import artifact, bench, machine
from tfbuild.bench import Around, Contender, Plan, Suite, lock, workload
from tfbuild.bench.suite import Stopped
from tfbuild.errors import BenchError, NothingToDoError, TfbuildError, UsageError
from tfbuild.machine import Machine
from tfbuild.spec import Environment

HERE = machine.read(HOST)
PLAN = replace(LONG, rounds=3)


def orders(suite: Suite) -> list[tuple[Any, ...]]:
    """Everything that the plan decides."""
    return [
        (
            run.round,
            run.position,
            run.subject,
            run.seed,
            [each.architecture for each in run.samples],
        )
        for run in suite.runs
    ]


def interrupt(lab: Lab, *environments: Environment, plan: Plan = PLAN) -> None:
    """Leave a session of two that was interrupted in its second round."""

    def stop(steps: int) -> None:
        if steps == 2 * len(plan.architectures) + 2:
            raise KeyboardInterrupt

    lab.told.on_step = stop
    with pytest.raises(KeyboardInterrupt):
        lab.measure(*environments, plan=plan)
    lab.told.on_step = lambda _: None


def resumed(lab: Lab, *environments: Environment, here: Machine = HERE) -> Suite:
    return bench.resume(
        artifact.load(Suite, lab.path),
        [Contender(environment=each, setting=SETTING) for each in environments],
        Around(
            here=here,
            data_folder=Path("/data"),
            path=lab.path,
            worker=DATA / "fake_worker.py",
        ),
        lab.told,
    )


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lab = Lab(tmp_path_factory.mktemp("begun"))
    interrupt(lab, lab.environment("a"), lab.environment("b"))
    return lab.folder


@pytest.fixture
def lab(begun: Path, tmp_path: Path) -> Lab:
    """A session of two that was interrupted in its second of three rounds."""
    return Lab(shutil.copytree(begun, tmp_path / "lab", symlinks=True))


@pytest.fixture
def kept(lab: Lab) -> Suite:
    return artifact.load(Suite, lab.path)


@pytest.fixture
def pair(lab: Lab) -> tuple[Environment, Environment]:
    return lab.known("a"), lab.known("b")


def test_it_goes_on_as_if_nothing_had_happened(
    lab: Lab, pair: tuple[Environment, Environment], kept: Suite
) -> None:
    assert kept.rounds == 1
    before = len(lab.log())
    suite = resumed(lab, *pair)
    # Two environments are met, and two rounds of two are run: nothing is measured twice.
    assert len(lab.log()) - before == 2 + 2 * 2
    assert suite.runs[:2] == kept.runs
    assert (suite.rounds, suite.stopped, suite.started_at) == (3, "rounds", kept.started_at)
    assert "Interrupted after 1 round and resumed" in suite.notes[0]
    assert artifact.load(Suite, lab.path) == suite
    lab.path.unlink()
    assert orders(lab.measure(*pair, plan=PLAN)) == orders(suite)


def test_the_variables_are_those_of_the_first_rounds(
    lab: Lab, pair: tuple[Environment, Environment], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(lab.log())
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    resumed(lab, *pair)
    entries = lab.log()
    assert len(entries) > before
    assert not any("TF_ENABLE_ONEDNN_OPTS" in entry["environ"] for entry in entries)


def test_a_worker_that_crashes_in_the_fifth_of_eight_rounds_costs_no_round_before(
    lab: Lab, pair: tuple[Environment, Environment]
) -> None:
    broken = lab.folder / "b/behaviour.json"

    def crash(steps: int) -> None:
        if steps == 4 * 6 + 1:
            broken.write_text(json.dumps({"trouble": "SIGSEGV", "at": "imdb_fasttext"}))

    lab.told.on_step = crash
    plan = replace(PLAN, rounds=8)
    lab.path.unlink()
    with pytest.raises(BenchError, match="killed by SIGSEGV while training imdb_fasttext"):
        lab.measure(*pair, plan=plan)
    assert artifact.load(Suite, lab.path).rounds == 4
    assert lab.told.notes == [f"4 of 8 rounds are kept in {lab.path}; go on with: {lab.resume}"]
    broken.write_text("{}")
    assert resumed(lab, *pair).rounds == 8


def test_a_finished_session_has_nothing_to_resume(
    lab: Lab, pair: tuple[Environment, Environment], kept: Suite
) -> None:
    artifact.save(replace(kept, finished_at=datetime.now(UTC), stopped=Stopped.TIME), lab.path)
    before = lab.path.read_bytes()
    with pytest.raises(NothingToDoError, match="is finished: 1 round"):
        resumed(lab, *pair)
    assert lab.path.read_bytes() == before


Change = Callable[[Machine], Machine]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda here: replace(here, brand="Other CPU"), ["CPU: Test CPU then, Other CPU now"]),
        (lambda here: replace(here, features=frozenset({"avx2"})), ["features: without fma"]),
        (lambda here: replace(here, cpus=64), ["number of CPUs: 2 then, 64 now"]),
        (lambda here: replace(here, memory_bytes=2**30), ["memory:", "1.0 GiB now"]),
        (lambda here: replace(here, cpu_quota=0.5), ["quota of CPU time", "0.5 now"]),
    ],
    ids=["brand", "features", "cpus", "memory", "quota"],
)
def test_another_machine_is_refused_before_anything_is_started(
    lab: Lab,
    pair: tuple[Environment, Environment],
    kept: Suite,
    change: Change,
    words: list[str],
) -> None:
    here = replace(HERE, cpus=2, memory_bytes=2**34)
    kept = replace(kept, machine=here)
    artifact.save(kept, lab.path)
    before = len(lab.log())
    with pytest.raises(UsageError, match="another machine") as caught:
        resumed(lab, *pair, here=change(here))
    assert all(word in caught.value.why for word in words), caught.value.why
    assert len(lab.log()) == before
    assert artifact.load(Suite, lab.path) == kept


def test_a_new_kernel_and_a_new_tfbuild_are_noted(
    lab: Lab, pair: tuple[Environment, Environment], kept: Suite
) -> None:
    artifact.save(replace(kept, tfbuild="0.0.1"), lab.path)
    suite = resumed(lab, *pair, here=replace(HERE, kernel="99.1"))
    assert "other kernel, tfbuild 0.0.1 before" in suite.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wheel_sha256": "f" * 64}, ["wheel's SHA-256"]),
        ({"packages": ("numpy==2.0.0",)}, ["without numpy==1.26.4; now also numpy==2.0.0"]),
        ({"version": "2.8.5"}, ["version: 2.8.4 then, 2.8.5 now"]),
    ],
    ids=["wheel", "packages", "version"],
)
def test_another_environment_is_refused(
    lab: Lab,
    pair: tuple[Environment, Environment],
    kept: Suite,
    change: dict[str, Any],
    words: list[str],
) -> None:
    with pytest.raises(UsageError, match="b is not what it was") as caught:
        resumed(lab, pair[0], replace(pair[1], **change))
    assert all(word in caught.value.why for word in words), caught.value.why
    assert artifact.load(Suite, lab.path) == kept


def test_another_python_is_refused(lab: Lab, pair: tuple[Environment, Environment]) -> None:
    (lab.folder / "a/behaviour.json").write_text(json.dumps({"tensorflow": "2.9.0"}))
    with pytest.raises(UsageError, match="a is not what it was") as caught:
        resumed(lab, *pair)
    assert caught.value.why == "TensorFlow: 2.8.4 then, 2.9.0 now"


def test_other_data_is_refused_and_the_earlier_rounds_stay(
    lab: Lab, pair: tuple[Environment, Environment], kept: Suite
) -> None:
    for name in "ab":
        (lab.folder / name / "behaviour.json").write_text(json.dumps({"data": "real"}))
    with pytest.raises(BenchError, match="on generated data, and now on real data"):
        resumed(lab, *pair)
    assert artifact.load(Suite, lab.path).runs == kept.runs


def test_a_script_that_has_changed_is_refused(
    lab: Lab, pair: tuple[Environment, Environment]
) -> None:
    path = lab.folder / "my train.py"
    path.write_text("def train(context): ...")
    script = workload.parse(f"'{path}' --size 'large one'")
    assert (script.name, script.arguments) == ("my-train", ("--size", "large one"))
    assert workload.parse(str(path)) == replace(script, arguments=())
    assert workload.parse(f"'{path}' {'x' * 5_000}").arguments == ("x" * 5_000,)
    plan = replace(PLAN, architectures=(script.name,), script=script)
    lab.path.unlink()
    interrupt(lab, *pair, plan=plan)
    assert lab.log()[-1]["request"]["script"] == {
        "path": str(path),
        "name": "my-train",
        "arguments": ["--size", "large one"],
    }
    path.write_text("def train(context): 2")
    with pytest.raises(UsageError, match="has changed since"):
        resumed(lab, *pair)
    path.unlink()
    with pytest.raises(UsageError, match="not there any more"):
        resumed(lab, *pair)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with lock.alone(tmp_path / "x.suite.json"):
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_its_holder_has_just_taken_away_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our opening the file and our locking it, one holder ends and the next begins."""
    path, real = tmp_path / "x.suite.json", fcntl.flock

    def late(file: Any, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        with lock.alone(path):
            pass
        held.enter_context(lock.alone(path))
        real(file, how)

    with contextlib.ExitStack() as held:
        (tmp_path / ".x.suite.json.lock").touch()
        monkeypatch.setattr(fcntl, "flock", late)
        with pytest.raises(UsageError, match="is in use"), lock.alone(path):
            pass


def test_two_processes_never_measure_into_one_file(
    lab: Lab, pair: tuple[Environment, Environment], kept: Suite
) -> None:
    with lab.path.with_name(f".{lab.path.name}.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="is in use"):
            resumed(lab, *pair)
    assert artifact.load(Suite, lab.path) == kept
    assert resumed(lab, *pair).rounds == 3


def test_peaks_that_are_missing_are_measured_and_no_round_is_run(
    lab: Lab, pair: tuple[Environment, Environment], kept: Suite
) -> None:
    # As when it was interrupted while the peaks were measured.
    artifact.save(replace(kept, plan=replace(kept.plan, rounds=1)), lab.path)
    before = len(lab.log())
    suite = bench.resume(
        artifact.load(Suite, lab.path),
        [Contender(environment=each, setting=SETTING) for each in pair],
        Around(
            here=HERE,
            data_folder=None,
            path=lab.path,
            has_peaks=True,
            worker=DATA / "fake_worker.py",
        ),
        lab.told,
    )
    assert [entry["request"]["peak"] for entry in lab.log()[before:]] == [False] * 2 + [True] * 2
    assert (len(suite.peaks), suite.stopped, suite.runs) == (2, "rounds", kept.runs)
    assert suite.finished_at is not None
    assert suite.finished_at > datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no script"),
        ("nothing.py", "nothing.py is no file"),
        ("'open", "cannot be read"),
    ],
)
def test_workloads_that_are_none(text: str, words: str) -> None:
    with pytest.raises(TfbuildError, match=words):
        workload.parse(text)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("model.fit(x, y)  # train(context)", False),
        ("x_train = 'def train(context):'", False),
        ("def main():\n    def training(context): ...", False),
        ("def train(context): ...", True),
        ("try:\n    from mine import train\nexcept ImportError:\n    raise", True),
        ("from mine import run as train", True),
        ("from mine import *", True),
        ("train = lambda context: None", True),
        ("this is of another Python", True),
    ],
)
def test_a_script_without_train_is_refused_before_anything_is_made(
    tmp_path: Path, text: str, is_taken: bool
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    if is_taken:
        assert workload.parse(str(path)).name == "mine"
        return
    with pytest.raises(UsageError, match=r"no function train\(context\)") as caught:
        workload.parse(str(path))
    assert "context.clock(samples=len(x))" in str(caught.value.do)
