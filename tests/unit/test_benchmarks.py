"""The benchmark's data and workloads; needs numpy, no TensorFlow."""

import importlib
import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tfbuild import resources

np = pytest.importorskip("numpy")
FOLDER = resources.folder("benchmarks")


@pytest.fixture(autouse=True)
def _suite_on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in [name for name in sys.modules if name == "suite" or name.startswith("suite.")]:
        del sys.modules[name]


def suite(name: str) -> ModuleType:
    return importlib.import_module(f"suite.{name}")


def size(train: int, validation: int) -> Any:
    return suite("workload").Size(train, validation, 1)


def source(folder: Path | None = None, mode: str = "auto", seed: int = 3) -> Any:
    return suite("data").Source(folder=folder, mode=mode, seed=seed)


def test_shorter_scales_keep_the_studys_ratio_and_whole_batches() -> None:
    workload = suite("workload").Workload(
        "w", 32, 50_000, 10_000, 20, quick_steps=30, smoke_steps=5
    )
    assert workload.size("full") == suite("workload").Size(50_000, 10_000, 20)
    quick = workload.size("quick")
    assert (quick.train, quick.validation) == (960, 192)
    assert workload.steps(workload.size("full")) == 1563
    assert workload.first(quick) == suite("workload").Size(32, 0, 1)
    warm = workload.warmup(quick)
    assert (warm.train, warm.validation, warm.epochs) == (32, 32, 1)
    # 1562 batches of 32 and one of 16: a batch of that size has to be traced before the clock.
    assert workload.warmup(workload.size("full")) == suite("workload").Size(48, 32 + 16, 1)


def test_another_batch_keeps_the_epochs_samples() -> None:
    models = {
        "mlp": suite("workload").Workload("w", 128, 60_000, 10_000, 20, 240, 60),
        "cifar": suite("workload").Workload("w", 32, 49_984, 10_000, 20, 30, 10, whole=True),
        "fasttext": suite("workload").Workload("w", 32, 25_000, 25_000, 5, 4, 2),
    }
    sizes = {
        (name, batch, scale): models[name].with_batch(batch).size(scale)
        for name, batch, scale in (
            ("mlp", 512, "quick"), ("mlp", 512, "full"), ("mlp", 60_000, "quick"),
            ("cifar", 64, "full"), ("cifar", 512, "smoke"), ("fasttext", 512, "smoke"),
        )
    }  # fmt: skip
    found = {key: (size.train, size.validation) for key, size in sizes.items()}
    assert found == {
        ("mlp", 512, "quick"): (60 * 512, 5120),
        ("mlp", 512, "full"): (60_000, 10_000),
        ("mlp", 60_000, "quick"): (60_000, 10_000),
        ("cifar", 64, "full"): (49_984, 10_000),
        ("cifar", 512, "smoke"): (4 * 512, round(4 * 512 * 10_000 / (97 * 512))),
        ("fasttext", 512, "smoke"): (2 * 512, 2 * 512),
    }
    assert models["mlp"].with_batch(None) is models["mlp"]
    with pytest.raises(ValueError, match="25001 is more than the 25000"):
        models["fasttext"].with_batch(25_001)


def test_images_show_their_class() -> None:
    arrays = suite("data").cifar10(source(), size(600, 100))
    assert arrays.kind == "generated"
    assert (arrays.x.shape, arrays.x.dtype) == ((600, 32, 32, 3), np.float32)
    assert (arrays.x_validation.shape, arrays.y.shape) == ((100, 32, 32, 3), (600, 10))
    assert 0 <= arrays.x.min() < arrays.x.max() <= 1
    # Nearest mean of the training classes: ten classes would give a tenth by chance.
    labels = arrays.y.argmax(axis=1)
    means = np.stack([arrays.x[labels == n].mean(axis=0) for n in range(10)])
    distance = ((arrays.x_validation[:, None] - means) ** 2).sum(axis=(2, 3, 4))
    assert (distance.argmin(axis=1) == arrays.y_validation.argmax(axis=1)).mean() > 0.9


def test_reviews_have_imdbs_lengths_and_zipfs_words() -> None:
    generated = suite("generated")
    rng = np.random.default_rng(0)
    lengths = generated.lengths(25_000, rng)
    # IMDB: mean 238.7, median 178, from 11 to 2494 words.
    assert np.median(lengths) == pytest.approx(178, rel=0.03)
    assert lengths.mean() == pytest.approx(238.7, rel=0.03)
    assert (lengths.min() >= 11, lengths.max() <= 2494) == (True, True)
    words, _, labels = generated.reviews(3000, 100, rng)
    assert (words.dtype, words.shape) == (np.int32, (3000, 100))
    assert words.min() >= 0
    assert words.max() < generated.WORDS
    counts = Counter(words[words > 2].tolist())
    common = [counts[word] for word in (3, 4, 5, 10, 20)]
    assert common == sorted(common, reverse=True)
    assert set(labels.tolist()) == {0, 1}


def test_words_tell_the_sentiment() -> None:
    arrays = suite("data").imdb_words(source(), size(2000, 500), 100)
    totals = np.zeros((2, 20_000))
    for label in (0, 1):
        np.add.at(totals[label], arrays.x[arrays.y == label].ravel(), 1)
    weight = np.log((totals[1] + 1) / (totals[0] + 1))
    weight[0] = 0
    guess = weight[arrays.x_validation].sum(axis=1) > 0
    assert (guess == arrays.y_validation).mean() > 0.9


def test_pairs_stand_after_the_words_and_the_last_400_are_kept() -> None:
    data, generated = suite("data"), suite("generated")
    arrays = data.imdb_bigrams(source(), size(300, 50), 400)
    assert arrays.facts == {"vocabulary": 20_001 + generated.BIGRAMS}
    assert (arrays.x.shape, arrays.x.dtype) == ((300, 400), np.int32)
    words, lengths, _ = generated.reviews(350, 401, source().rng())
    for row in range(20):
        spoken = words[row, : min(lengths[row], 401)][::-1]
        pairs = generated.bigram(spoken[:-1], spoken[1:])
        whole = [*spoken, *pairs][-400:] if lengths[row] <= 401 else list(pairs[-400:])
        expected = [0] * (400 - len(whole)) + whole
        assert arrays.x[row].tolist() == expected


def test_the_text_has_few_likely_next_characters() -> None:
    codes = suite("generated").text(60_000, np.random.default_rng(1))
    assert set(codes.tolist()) <= set(range(57))
    pairs = Counter(zip(codes[:-1].tolist(), codes[1:].tolist(), strict=True))
    seen = Counter(codes[:-1].tolist())
    total = sum(pairs.values())
    conditional = -sum(
        count / total * np.log(count / seen[first]) for (first, _), count in pairs.items()
    )
    unconditional = -sum(count / total * np.log(count / total) for count in seen.values())
    assert conditional < 0.7 * unconditional
    arrays = suite("data").text_windows(source(), size(256, 0))
    assert (arrays.x.shape, arrays.x.dtype, arrays.y.shape) == ((256, 40, 57), bool, (256, 57))
    assert (arrays.x.sum(axis=2) == 1).all()
    # Every third window: the character after one window is the 37th of the next.
    assert (arrays.x[1:, 37] == arrays.y[:-1]).all()


def test_a_seed_repeats_the_data() -> None:
    first, again, other = (
        suite("data").mnist(source(seed=seed), size(64, 0)).x for seed in (5, 5, 6)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_real_images(tmp_path: Path) -> None:
    x = np.arange(6 * 28 * 28, dtype=np.uint8).reshape(6, 28, 28)
    np.savez(
        tmp_path / "mnist.npz",
        x_train=x,
        y_train=np.arange(6),
        x_test=x[:2],
        y_test=np.array([7, 9]),
    )
    arrays = suite("data").mnist(source(tmp_path), size(4, 2))
    assert arrays.kind == "real"
    assert arrays.x.shape == (4, 28, 28, 1)
    assert arrays.x[1, 0, 3, 0] == pytest.approx(x[1, 0, 3] / 255)
    assert arrays.y.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert arrays.y_validation.argmax(axis=1).tolist() == [7, 9]


def test_real_colour_images(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "cifar-10-python.tar.gz", "w:gz") as archive:
        for number, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
            pixels = np.zeros((2, 3, 32, 32), dtype=np.uint8)
            pixels[:, 1, 4, 5] = 10 * (number + 1)
            content = pickle.dumps(
                {b"data": pixels.reshape(2, 3072), b"labels": [number, 9 - number]}
            )
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    arrays = suite("data").cifar10(source(tmp_path), size(10, 2))
    assert arrays.kind == "real"
    assert arrays.x[8, 4, 5].tolist() == [0, pytest.approx(50 / 255), 0]
    assert arrays.y.argmax(axis=1).tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert arrays.y_validation.argmax(axis=1).tolist() == [5, 4]


def test_real_reviews_are_those_that_keras_gives(tmp_path: Path) -> None:
    reviews = np.empty(40, dtype=object)
    for n in range(40):
        reviews[n] = [n + 1, 5, 19_998, 30_000, n + 1]
    labels = np.arange(40) % 2
    np.savez(
        tmp_path / "imdb.npz",
        x_train=reviews, y_train=labels, x_test=reviews[:8], y_test=labels[:8],
    )  # fmt: skip
    arrays = suite("data").imdb_words(source(tmp_path), size(40, 8), 10)
    # Keras 2.8's imdb.load_data(num_words=20000) and pad_sequences(maxlen=10) on this very file.
    order = np.arange(40)
    np.random.RandomState(113).shuffle(order)
    first = order[0]
    assert arrays.x[0].tolist() == [0, 0, 0, 0, 1, first + 4, 8, 2, 2, first + 4]
    assert arrays.y.tolist() == labels[order].tolist()

    wide = suite("data").imdb_bigrams(source(tmp_path), size(40, 8), 12)
    # Pairs: (1, n+4), (n+4, 8), (8, 2), (2, 2), (2, n+4): the two with no n are shared.
    assert wide.facts["vocabulary"] == 20_001 + 3 * 40 + 2
    assert (wide.x[:, 0] == 0).all()
    assert wide.x[:, 1:7].tolist() == arrays.x[:, 4:].tolist()
    assert len(set(wide.x[:, 9].tolist())) == 1
    assert wide.x.max() == wide.facts["vocabulary"] - 1


def test_real_text(tmp_path: Path) -> None:
    (tmp_path / "nietzsche.txt").write_text("Thus Spoke, " * 30, encoding="utf-8")
    arrays = suite("data").text_windows(source(tmp_path), size(20, 0))
    alphabet = sorted(set("thus spoke, "))
    assert arrays.facts == {"alphabet": len(alphabet)}
    spoken = "".join(alphabet[code] for code in arrays.x[1].argmax(axis=1))
    assert spoken == ("thus spoke, " * 30)[3:43]


def test_only_real_data_will_do(tmp_path: Path) -> None:
    with pytest.raises(suite("data").DataError, match=r"mnist\.npz"):
        suite("data").mnist(source(tmp_path, "real"), size(4, 2))
    (tmp_path / "mnist.npz").write_bytes(b"not read at all")
    assert suite("data").mnist(source(tmp_path, "generated"), size(4, 2)).kind == "generated"


def worker(text: str, *args: str, script: str = "worker.py") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, FOLDER / script, *args],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("request_text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"architectures": ["mnist_mpl"]}', "mnist_mpl"),
        ('{"scale": "tiny"}', "tiny"),
        ('{"data": {"mode": "best"}}', "mode"),
        ('{"seed": -1}', "seed"),
        ('{"setting": {"intra_threads": 0}}', "intra_threads"),
        ('{"setting": {"omp_threads": true}}', "omp_threads"),
        ('{"setting": {"batch": 1.5}}', "batch"),
        ('{"setting": {"threads": 2}}', "unknown setting 'threads'"),
        ('{"setting": []}', "No module named 'tensorflow'"),
        ('{"setting": [1]}', "setting must be an object"),
        ('{"setting": {"cpus": []}}', "cpus"),
        ('{"setting": {"cpus": [0, "1"]}}', "cpus"),
        ('{"setting": {"cpus": [0, 100000]}}', "cpus [0, 100000]"),
        ('{"setting": {"cpus": [99999999999999999999]}}', "cpus [99999999999999999999]"),
        ('{"setting": {"onednn": "on"}}', "onednn"),
        ('{"setting": {"xla": 1}}', "xla"),
        ('{"setting": {"allocator": "malloc"}}', "malloc"),
        ('{"setting": {"allocator": "jemalloc"}}', "jemalloc was asked for and is not loaded"),
        ('{"layers": 1}', "layers"),
        ('{"peak": "yes"}', "peak"),
        ('{"architectures": "mnist_mlp"}', "architectures"),
        ('{"architectures": [["mnist_mlp"]]}', "unknown architecture"),
        ('{"data": {"folder": 3}}', "data.folder"),
        ('{"script": "train.py"}', "script must be null or an object"),
        ('{"script": {}}', "script.path"),
        ('{"script": {"path": "train.py", "arguments": "-v"}}', "script.arguments"),
        ('{"script": {"path": "train.py"}, "architectures": ["mnist_mlp"]}', "known: train"),
    ],
)
def test_the_worker_refuses_in_one_line_of_json(request_text: str, message: str) -> None:
    done = worker(request_text)
    assert done.returncode == 1
    event = json.loads(done.stdout)
    assert event["event"] == "error"
    assert event["architecture"] is None
    assert message in event["message"]


def test_the_worker_runs_on_the_cpus_asked_for(tmp_path: Path) -> None:
    # A TensorFlow that says where it was imported; the kernel is asked, not our code.
    (tmp_path / "tensorflow.py").write_text(
        "import subprocess, os\n"
        "said = open('/proc/self/status').read()\n"
        "raise ImportError(said[said.index('Cpus_allowed_list'):].split()[1])\n"
    )
    cpu = max(os.sched_getaffinity(0))
    done = subprocess.run(
        [sys.executable, FOLDER / "worker.py"],
        input=json.dumps({"setting": {"cpus": [cpu]}}),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert json.loads(done.stdout)["message"] == f"ImportError: {cpu}"


def test_the_time_since_the_start_counts_the_interpreters_own() -> None:
    program = (
        "import time; time.sleep(0.5); import sys; sys.path.insert(0, sys.argv[1]); "
        "from suite.talk import since_start; print(since_start())"
    )
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, FOLDER], capture_output=True, text=True, check=True
    )
    # The kernel counts in hundredths of a second.
    assert 0.5 <= float(done.stdout) <= time.monotonic() - begun + 0.02


def test_the_worker_without_tensorflow_says_so() -> None:
    done = worker("{}")
    assert done.returncode == 1
    assert "tensorflow" in json.loads(done.stdout)["message"]


def test_the_worker_wrongly_used_explains_itself() -> None:
    done = worker("", "--help")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "standard input" in done.stderr


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
def test_numbers_for_quantised_ops_tell_every_place_apart(kind: Any) -> None:
    levels, limits = suite("levels"), np.iinfo(kind)
    numbers = levels.levels(1000, kind)
    assert all(len(set(numbers[begin : begin + 256])) == 256 for begin in range(744))
    assert limits.min <= numbers.min() < numbers.max() <= limits.max
    # What rounds to a number lies nearer to it than to any other, or beyond the ends.
    real = levels.beside(numbers, kind) * 8
    inside = (numbers > limits.min) & (numbers < limits.max)
    assert (np.abs(real - numbers)[inside] <= 0.25).all()
    assert (np.clip(np.round(real), limits.min, limits.max) == numbers).all()


@pytest.mark.parametrize(
    ("request_text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"tasks": ["trian"]}', "trian"),
        ('{"tasks": ["steps"]}', "folder"),
        ('{"tasks": []}', "No module named 'tensorflow'"),
    ],
)
def test_the_checker_refuses_in_one_line_of_json(request_text: str, message: str) -> None:
    done = worker(request_text, script="checker.py")
    assert done.returncode == 1
    event = json.loads(done.stdout)
    assert event["event"] == "error"
    assert message in event["message"]


def test_the_tracer_watches_a_script_that_ends_by_itself(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(sys.stdin.read())\nsys.exit(3)\n")
    done = worker("{}", str(script), script="trace.py")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"ended": "otherwise"})


def test_the_worker_needs_only_the_oldest_python(tmp_path: Path) -> None:
    import ast

    for path in FOLDER.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 8))


def test_names_are_those_of_the_study_and_its_figures() -> None:
    names = suite("request").ARCHITECTURES
    rows = (resources.DATA / "k80_2017.csv").read_text().splitlines()
    studied = {
        row.split(",")[0] for row in rows if row.startswith(("mnist", "cifar", "imdb", "lstm"))
    }
    assert set(names) == studied
    modules = {path.stem for path in (FOLDER / "suite" / "models").glob("[!_]*.py")}
    assert modules == set(names)
