"""The search for the fastest setting, from end to end, with a worker that needs no TensorFlow."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.unit.test_bench import HOST, Lab
from tfbuild import artifact, machine
from tfbuild import tune as tuning
from tfbuild.bench import Plan, Scale, Suite
from tfbuild.bench.manager import Around
from tfbuild.bench.placement import Asked, resolve
from tfbuild.errors import UsageError
from tfbuild.machine.topology import Cpu, Topology
from tfbuild.stats import Verdict
from tfbuild.tune import Step, Task, Tuning, search, tune
from tfbuild.tune.candidates import named


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def task(lab: Lab, dimensions: str, *, rounds: int = 6, **behaviour: Any) -> Task:
    """A search with the fake worker, which is bound to no CPU, on a machine that has two."""
    here = Topology(cpus=tuple(Cpu(number=number, siblings=(number,)) for number in (0, 1)))
    return Task(
        environment=lab.environment("a", **behaviour),
        default=resolve(Asked(threads="2"), here),
        dimensions=named(dimensions),
        plan=Plan(
            rounds=rounds, scale=Scale.SMOKE, architectures=("mnist_mlp",), seed=3, timeout=60
        ),
        around=Around(
            here=machine.read(HOST),
            data_folder=None,
            path=lab.folder / "results/one.tuning.json",
            worker=DATA / "fake_worker.py",
        ),
        topology=here,
    )


def test_the_gain_is_confirmed_in_fresh_rounds_and_said(lab: Lab) -> None:
    factors = {"inter_threads": {"1": 0.8}, "xla": {"True": 1.5}}
    asked = task(lab, "inter,xla", factors=factors, noise=0.01)
    found = tune(asked, lab.told)
    assert found.best == replace(asked.default, inter_threads=1)
    assert found.confirmed is not None
    assert found.confirmed.overall_verdict is Verdict.FASTER
    assert found.confirmed.overall.ratio == pytest.approx(1.25, rel=0.05)
    assert found.confirmed.overall.pairs == 6
    assert [each.line for each in found.advice] == ["export TF_NUM_INTEROP_THREADS=1"]
    assert found.finished_at is not None
    assert artifact.load(Tuning, asked.around.path) == found
    # Fresh: the confirmation shares no process and no seed with the search.
    chosen = {name for step in found.steps for name in step.samples}
    assert not chosen & set(found.samples)
    folder = asked.around.path.parent
    seeds: dict[str, set[int]] = {
        name: {run.seed for run in artifact.load(Suite, folder / name).runs}
        for name in (*chosen, *found.samples)
    }
    assert all(not a & b for a, b in itertools.combinations(seeds.values(), 2))
    assert any("inter: 1 thread" in note or "inter: threads" in note for note in lab.told.notes)


def test_where_there_is_only_noise_nothing_is_set(lab: Lab) -> None:
    found = tune(task(lab, "threads,inter,xla", noise=0.06), lab.told)
    assert not found.is_worth_it
    assert found.advice == ()
    assert found.best is not None  # whatever the noise has chosen, it was not confirmed


def test_a_failing_setting_and_a_missing_allocator_are_reported(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tfbuild.bench import allocators

    def missing(name: str, _root: Path = Path("/")) -> Path:
        raise UsageError(f"The allocator {name} is not installed here.", do="apt-get install x")

    monkeypatch.setattr(allocators, "library", missing)
    found = tune(task(lab, "xla,allocator", fails={"xla": [True]}), lab.told)
    failures = [trial.failure for step in found.steps for trial in step.trials]
    assert len(failures) == 4
    assert "no xla here" in failures[0]
    assert "jemalloc is not installed" in failures[1]
    assert found.best == found.default
    assert found.confirmed is None
    assert found.advice == ()
    left = sorted(path.name for path in lab.folder.glob("results/*"))
    assert left == ["one.tuning.json"]


def test_the_size_of_batches_is_reported_apart(lab: Lab) -> None:
    factors = {"batch": {"256": 0.5}, "xla": {"True": 0.7}}
    found = tune(task(lab, "xla,batch", factors=factors, noise=0.01), lab.told)
    assert [each.line for each in found.advice] == ["model.compile(..., jit_compile=True)"]
    assert found.confirmed is not None
    assert found.confirmed.overall.ratio == pytest.approx(1 / 0.7, rel=0.05)
    assert found.best is not None
    assert found.best.batch is None
    assert [each.line for each in found.batch_advice] == ["model.fit(..., batch_size=256)"]
    assert found.batch is not None
    assert found.batch.overall.ratio == pytest.approx(2, rel=0.05)
    assert found.batch.baseline.setting == found.best


def test_an_interrupted_search_keeps_its_steps_and_goes_on(lab: Lab) -> None:
    asked = task(lab, "inter,xla", factors={"xla": {"True": 0.7}})

    def interrupt(_steps: int) -> None:
        log = lab.folder / "log.jsonl"
        last = log.read_text().splitlines()[-1:] if log.exists() else []
        if last and json.loads(last[0])["request"]["setting"]["xla"]:
            raise KeyboardInterrupt

    lab.told.on_step = interrupt
    with pytest.raises(KeyboardInterrupt):
        tune(asked, lab.told)
    kept = artifact.load(Tuning, asked.around.path)
    assert kept.finished_at is None
    assert [step.dimension for step in kept.steps] == ["inter"]
    assert "go on with: tfbuild tune --resume" in lab.told.notes[-1]
    before = len(lab.log())
    lab.told.on_step = lambda _: None
    found = tune(replace(asked, known=kept), lab.told)
    assert found.steps[0] == kept.steps[0]
    assert found.is_worth_it
    assert found.started_at == kept.started_at
    fresh = [entry["request"]["setting"] for entry in lab.log()[before:]]
    # What was known is not measured again: one op at a time without XLA.
    assert not [each for each in fresh if each["inter_threads"] == 1 and not each["xla"]]
    names = [name for step in found.steps for name in step.samples] + list(found.samples)
    assert len(set(names)) == len(names)
    assert all((asked.around.path.parent / name).exists() for name in names)


def test_a_search_that_is_stopped_as_soon_as_it_goes_on_keeps_its_steps(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = replace(task(lab, "inter", rounds=2), dimensions=())
    step = Step(dimension="inter", base=asked.default, trials=(), chosen=asked.default)
    kept = replace(tune(asked, lab.told), steps=(step,), finished_at=None, best=None)
    artifact.save(kept, asked.around.path)

    def stop(*_: object) -> Iterator[Step]:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "steps", stop)
    with pytest.raises(KeyboardInterrupt):
        tune(replace(asked, known=kept), lab.told)
    assert artifact.load(Tuning, asked.around.path) == kept


def test_a_file_with_odd_names_of_samples_is_gone_on_with(lab: Lab) -> None:
    asked = task(lab, "xla", rounds=2)
    done = tune(replace(asked, dimensions=()), lab.told)
    step = Step(dimension="inter", base=asked.default, trials=(), chosen=asked.default)
    odd = ("", "x", "../../x.99999999-xla.suite.json", "a.x-y.suite.json")
    known = replace(done, steps=(replace(step, samples=odd),), finished_at=None)
    assert tune(replace(asked, known=known, dimensions=()), lab.told).finished_at is not None


def test_a_file_that_no_search_wrote_is_refused(lab: Lab) -> None:
    asked = task(lab, "inter", rounds=2)
    path = artifact.save(tune(replace(asked, dimensions=()), lab.told), asked.around.path)
    good = json.loads(path.read_text()) | {"dimensions": ["inter"]}
    for field, value, said in (
        ("dimensions", [], "no dimension"),
        ("dimensions", ["xla", "speed"], "not known"),
        ("plan", good["plan"] | {"rounds": 0}, "number of rounds"),
        ("plan", good["plan"] | {"architectures": ["../x"]}, "not known"),
        ("plan", good["plan"] | {"noise": -1}, "no share"),
        ("steps", 7, "Expected `array`"),
    ):
        path.write_text(json.dumps(good | {field: value}))
        with pytest.raises(UsageError) as refused:
            tuning.load(path)
        assert said in refused.value.why
    path.write_text(json.dumps(good))
    assert tuning.load(path).dimensions == ("inter",)
