"""The six architectures and a user's script, really trained: Keras 2 and Keras 3.

All that one release shows is seen in two processes: a worker, and `examine_suite.py`.
"""

import json
import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scipy import stats as scipy_stats

from tests.conftest import DATA, need
from tests.integration import real_sets
from tfbuild import environment, host, reference, resources, spec
from tfbuild.bench.suite import Layer
from tfbuild.choice import choose
from tfbuild.environment import Installer
from tfbuild.progress import Silent
from tfbuild.roofline import flops
from tfbuild.spec import Environment

pytestmark = pytest.mark.tensorflow

FOLDER = resources.folder("benchmarks")
# The study's where it gives them; the others counted by hand from the layers.
PARAMETERS = {
    "mnist_mlp": 669_706,
    "mnist_cnn": 1_199_882,
    "cifar10_cnn": 1_250_858,
    "imdb_fasttext": (20_001 + 1_180_000) * 50 + 51,
    "imdb_bidirectional_lstm": 2_658_945,
    "lstm_text_generation": 4 * 128 * (57 + 128 + 1) + 128 * 57 + 57,
}
# The study's: training and validation samples, epochs, batch, and steps of an epoch. So say its
# scripts (test_files/ in its repository) and the sizes of the sets; epochs are in its logs too.
STUDY = {
    "mnist_mlp": (60_000, 10_000, 20, 128, 469),
    "mnist_cnn": (60_000, 10_000, 12, 128, 469),
    "cifar10_cnn": (49_984, 10_000, 20, 32, 1562),
    "imdb_fasttext": (25_000, 25_000, 5, 32, 782),
    "imdb_bidirectional_lstm": (25_000, 25_000, 4, 32, 782),
    "lstm_text_generation": (200_285, 0, 10, 128, 1565),
}
ORDER = list(reversed(PARAMETERS))
SCRIPTS = {
    "syntax": "def train(context):\n    x = = 3\n",
    "no function": "model = None\n",
    "raises": "import helper\ndef train(context):\n    helper.fail()\n",
    "helper": "def fail():\n    raise KeyError('no such column')\n",
    "exits": "import sys\nsys.exit(3)\n",
    "exits well": "def train(context):\n    exit()\n",
    "nothing": "def train(context):\n    print('did nothing')\n",
    "no sizes": "def train(context):\n    context.clock(samples='all')\n",
    "own batch": "def train(context):\n    pass\n",
    "loop": (
        "def train(context):\n"
        "    assert context.arguments == ['-v']\n"
        "    import sys; assert sys.argv[1:] == ['-v']\n"
        "    for n in range(3):\n"
        "        with context.epoch(samples=100, validation_samples=10) as epoch:\n"
        "            epoch.loss = 3.0 - n\n"
    ),
    "two sizes": (
        "def train(context):\n"
        "    for n in (10, 10, 20):\n"
        "        with context.epoch(samples=n):\n"
        "            pass\n"
    ),
}


@dataclass(frozen=True)
class Seen:
    """What one release showed."""

    tensorflow: Environment
    events: list[dict[str, Any]]
    """Of a worker that trained all six at the smallest scale, seed 11."""
    said: str
    """By TensorFlow meanwhile."""
    examined: dict[str, Any]
    """By `examine_suite.py`."""
    examined_said: str

    @property
    def samples(self) -> dict[str, dict[str, Any]]:
        return {one["architecture"]: one for one in self.events if one["event"] == "sample"}


@pytest.fixture(scope="module", params=["tensorflow-cpu==2.8.4", "tensorflow-cpu==2.21.0"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """An environment in the user's own cache, so that the next run finds it, and what it shows."""
    cpu = host.detect()
    at = environment.here(cpu, Path("wheels"), Installer())
    (choice,) = choose([spec.parse(request.param)], at).choices
    need(choice.interpreter, f"no Python {choice.python} for {request.param}")
    tensorflow = environment.prepare(choice, Installer(), cpu, Silent())
    setting = {
        "cpus": [min(os.sched_getaffinity(0))],
        "intra_threads": 1,
        "inter_threads": 2,
        "onednn": True,
    }
    events, said = train(
        tensorflow.python,
        {
            "architectures": ORDER,
            "scale": "smoke",
            "seed": 11,
            "setting": setting,
            "data": {"folder": None, "mode": "generated"},
            "layers": True,
            "peak": True,
        },
    )
    examined, examined_said = examine(tensorflow.python, tmp_path_factory.mktemp("real"))
    return Seen(tensorflow, events, said, examined, examined_said)


def train(python: Path, request: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    done = subprocess.run(
        [python, FOLDER / "worker.py"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def examine(python: Path, folder: Path) -> tuple[dict[str, Any], str]:
    real_sets.write(folder)
    scripts = folder / "scripts"
    scripts.mkdir()
    for name, text in SCRIPTS.items():
        (scripts / f"{name}.py").write_text(text)
    (scripts / "zeros.py").write_bytes(b"x = 1\0\n")
    asked: dict[str, Any] = {name: {"path": str(scripts / f"{name}.py")} for name in SCRIPTS}
    asked["own batch"]["setting"] = {"batch": 64}
    asked["missing"] = {"path": str(scripts / "missing.py")}
    asked["zeros"] = {"path": str(scripts / "zeros.py")}
    done = subprocess.run(
        [python, DATA / "examine_suite.py", FOLDER, folder, FOLDER / "examples" / "bars.py"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout), done.stderr


def test_all_six_at_the_smallest_scale(seen: Seen) -> None:
    first, *middle, peak, last = seen.events
    assert first["event"] == "environment"
    assert first["tensorflow"] == seen.tensorflow.tensorflow
    assert (first["intra_threads"], first["inter_threads"]) == (1, 2)
    assert first["onednn"] is True
    assert "oneDNN custom operations are on" in seen.said
    assert first["startup_seconds"] > 0
    assert (peak["event"], last["event"]) == ("peak", "done")
    # 60 million parameters and Adam's two moments, four bytes each, are the least.
    assert last["peak_rss_bytes"] > 3 * 4 * PARAMETERS["imdb_fasttext"]
    assert [(one["event"], one["architecture"]) for one in middle] == [
        (event, name) for name in ORDER for event in ("start", "sample")
    ]
    for name, sample in seen.samples.items():
        assert sample["parameters"] == PARAMETERS[name], name
        assert sample["data"] == "generated"
        train_, validation, epochs, batch, _ = STUDY[name]
        assert sample["full_train_samples"] == train_
        assert sample["full_validation_samples"] == validation
        assert (sample["full_epochs"], sample["batch_size"]) == (epochs, batch)
        assert sample["steps_per_epoch"] * batch == sample["train_samples"]
        ratio = sample["validation_samples"] / sample["train_samples"]
        assert ratio == pytest.approx(validation / train_, abs=0.01)
        assert len(sample["epoch_seconds"]) == len(sample["losses"]) == 1
        assert sample["epoch_seconds"][0] > 0
        assert 0 < sample["first_step_seconds"] < sample["warmup_seconds"]


def test_the_full_scale_is_the_studys(seen: Seen) -> None:
    text = (FOLDER / "README.md").read_text()
    logged = {run.architecture: run.epochs for run in reference.runs().values()}
    for name, (train_, validation, epochs, batch, steps) in STUDY.items():
        assert logged[name] == epochs
        told = seen.examined["full"][name]
        assert told == {"steps": steps, "train": train_, "validation": validation, "epochs": epochs}
        cells = f"| {batch} | {epochs} | {train_:,} / {f'{validation:,}' if validation else 'none'}"
        assert cells in text


def test_keras_runs_the_steps_and_samples_that_are_told(seen: Seen) -> None:
    # As `examine_suite.py` asked for: training and validation samples, epochs.
    asked = {
        "mnist_mlp": (700, 300, 3),
        "mnist_cnn": (300, 150, 2),
        "cifar10_cnn": (320, 100, 3),
        "imdb_fasttext": (100, 50, 3),
        "imdb_bidirectional_lstm": (192, 64, 3),
        "lstm_text_generation": (1280, 0, 3),
    }
    for name, (train_, validation, epochs) in asked.items():
        found, batch = seen.examined["counted"][name], STUDY[name][3]
        steps = math.ceil(train_ / batch)
        assert found["batches"] == epochs * steps, name
        assert found["checks"] == epochs * math.ceil(validation / batch), name
        assert found["steps_per_epoch"] == steps
        assert len(found["epoch_seconds"]) == epochs
        assert (found["train_samples"], found["validation_samples"]) == (train_, validation)
        if validation:
            assert found["samples"] == [train_] * epochs, name
        assert found["checked"] == [validation or train_] * epochs, name


def test_nothing_is_traced_while_the_clock_runs(seen: Seen) -> None:
    # Epochs that end with a smaller batch, as some do here, are traced twice, all of it before.
    assert {name: one["traced"] for name, one in seen.examined["counted"].items()} == dict.fromkeys(
        PARAMETERS, 0
    )


def test_the_models_have_the_studys_size_on_other_data_too(seen: Seen) -> None:
    for name in ("mnist_mlp", "mnist_cnn", "cifar10_cnn", "imdb_bidirectional_lstm"):
        assert seen.examined["counted"][name]["parameters"] == PARAMETERS[name]


def test_every_model_learns_from_generated_data(seen: Seen) -> None:
    quick = {"mnist_mlp", "mnist_cnn", "lstm_text_generation"}
    for name in quick:
        sample = seen.samples[name]
        assert sample["losses"][0] < sample["first_loss"], name
    assert set(seen.examined["learned"]) == set(PARAMETERS) - quick
    for name, losses in seen.examined["learned"].items():
        assert losses[-1] < losses[0], name


def test_every_model_learns_from_real_data(seen: Seen) -> None:
    for name in PARAMETERS:
        found = seen.examined["counted"][name]
        assert found["data"] == "real"
        assert found["losses"][-1] < found["losses"][0], name


def test_a_seed_repeats_the_first_loss(seen: Seen) -> None:
    first = seen.samples["mnist_mlp"]["first_loss"]
    # Another process, other architectures before it, as many threads as there are CPUs.
    seeds = seen.examined["seeds"]
    assert seeds["again"]["first_loss"] == pytest.approx(first, rel=1e-5)
    assert seeds["other"]["first_loss"] != pytest.approx(first, rel=1e-3)


def test_a_batch_size_and_xla_are_what_was_asked_for(seen: Seen) -> None:
    sample = seen.examined["seeds"]["compiled"]
    assert (sample["batch_size"], sample["steps_per_epoch"]) == (256, 30)
    assert sample["train_samples"] == seen.examined["seeds"]["again"]["train_samples"]
    assert sample["losses"][0] < sample["first_loss"]
    # TensorFlow says so once in a process: only the other one was asked for it.
    assert "Compiled cluster using XLA" in seen.examined_said
    assert "Compiled cluster using XLA" not in seen.said


def test_real_reviews_are_read_as_keras_and_the_study_read_them(seen: Seen) -> None:
    assert seen.examined["same_as_keras"] is True


def layers(told: list[dict[str, Any]]) -> list[Layer]:
    return [msgspec.convert(one, Layer) for one in told]


def test_layers_are_those_of_the_models_and_all_have_formulas(seen: Seen) -> None:
    for name, sample in seen.samples.items():
        told = layers(sample["layers"])
        assert sum(math.prod(shape) for one in told for shape in one.weights) == PARAMETERS[name]
        assert flops.of_layers(told).coverage == 1, name


def test_formulas_agree_with_tensorflows_own_count(seen: Seen) -> None:
    assert set(seen.examined["profiled"]) >= {"dense", "conv", "depthwise", "LSTM", "GRU"}
    for name, found in seen.examined["profiled"].items():
        assert flops.of_layers(layers(found["layers"])).forward == found["total"], (name, found)


def test_peaks_are_what_the_hardware_can_do(seen: Seen) -> None:
    peak = seen.events[-2]
    # No core does more than two products of 16 numbers each in a cycle at 6 GHz, with one thread.
    assert 1 < peak["gflops"] < 2 * 2 * 16 * 6
    assert 0.5 < peak["gbytes"] < 500
    cache = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    if cache.exists() and cache.read_text().strip().endswith("K"):
        assert peak["array_bytes"] >= 4 * int(cache.read_text().strip()[:-1]) * 1024


def test_an_ordinary_script_is_a_workload(seen: Seen) -> None:
    sample = seen.examined["scripts"]["example"]["sample"]
    assert (sample["train_samples"], sample["validation_samples"]) == (8192, 1024)
    assert (sample["batch_size"], sample["steps_per_epoch"]) == (64, 128)
    # 3 x 3 x 16 + 16, 784 x 64 + 64, 64 x 32 + 32.
    assert sample["parameters"] == 52_480
    assert len(sample["epoch_seconds"]) == len(sample["losses"]) == 1
    assert sample["losses"][0] < sample["first_loss"]
    assert flops.of_layers(layers(sample["layers"])).coverage == 1
    other = seen.examined["scripts"]["example in other batches"]["sample"]
    assert (other["batch_size"], other["steps_per_epoch"]) == (512, 16)
    loop = seen.examined["scripts"]["loop"]["sample"]
    assert (len(loop["epoch_seconds"]), loop["first_loss"], loop["losses"]) == (2, 3.0, [2.0, 1.0])
    assert (loop["train_samples"], loop["validation_samples"]) == (100, 10)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("syntax", ["syntax.py, line 2", "x = = 3"]),
        ("no function", ["no function train(context)"]),
        (
            "raises",
            ["KeyError: 'no such column'", "raises.py, line 3, in train", "helper.py, line 2"],
        ),
        ("exits", ["sys.exit(3)", "exits.py, line 2"]),
        ("exits well", ["exits well.py, line 2, in train"]),
        ("nothing", ["no epoch was timed"]),
        ("no sizes", ["'all' is no number", "no sizes.py, line 2"]),
        ("own batch", ["never uses context.batch"]),
        ("two sizes", ["same number of samples", "two sizes.py, line 3"]),
        ("missing", ["missing.py is no file"]),
        ("zeros", ["null bytes"]),
    ],
)
def test_a_script_that_fails_is_told_with_its_line(seen: Seen, name: str, parts: list[str]) -> None:
    message = seen.examined["scripts"][name]["error"]
    assert message.startswith("ScriptError: ")
    for part in parts:
        assert part in message


def test_keras_runs_no_python_of_ours_between_steps(seen: Seen) -> None:
    few, many = seen.examined["clocked"]["calls"].values()
    assert few == many
    # Two epochs; both ends of each ask how many steps there were.
    assert (few["on_epoch_begin"], few["on_epoch_end"], few["updates"]) == (2, 2, 4)
    assert not [name for name in few if "batch" in name and name.startswith("on_")]


@pytest.mark.parametrize("kind", ["call", "cpu"])
def test_the_clock_costs_less_than_one_percent(seen: Seen, kind: str) -> None:
    pairs = seen.examined["clocked"]["pairs"]
    logs = [math.log(pair[f"suite_{kind}"] / pair[f"bare_{kind}"]) for pair in pairs]
    middle, error = scipy_stats.tmean(logs), scipy_stats.sem(logs)
    # So wide that chance spoils one run in a thousand; what must hold always is tested above.
    half = float(scipy_stats.t.ppf(0.9995, len(logs) - 1)) * error
    assert middle - half <= math.log(1.01)
    assert middle + half >= math.log(0.99)
