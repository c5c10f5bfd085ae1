"""Sessions of `tfbuild bench` and `tfbuild compare`: their options, their ends, their files."""

import hashlib
import json
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import need, pyenv_python
from tests.fake_tensorflow import environment, tfbuild_here
from tests.unit.test_bench_failure import beyond, library
from tests.unit.test_compare import drifting, subject, suite
from tfbuild import artifact, resources
from tfbuild.bench import ARCHITECTURES, Suite
from tfbuild.cli import repeating
from tfbuild.compare import Comparison

ONE = ("--architectures", "mnist_mlp")
PLAIN = ("--data", "generated", *ONE)


def code(here: Path, ends: str = "") -> str:
    """The command line with the fake worker, and what shall happen to it meanwhile."""
    return (
        "import threading, time, os, signal; from pathlib import Path\n"
        "from tfbuild import resources; from tfbuild.cli import main\n"
        f"resources.folder = lambda _: Path({str(here / 'benchmarks')!r})\n"
        "def watch():\n"
        f"    log = Path({str(here / 'one/log.jsonl')!r})\n"
        "    while not log.exists() or len(log.read_text().splitlines()) < 4: time.sleep(0.01)\n"
        f"    {ends or 'pass'}\n"
        "threading.Thread(target=watch, daemon=True).start()\n"
        "main()\n"
    )


def run(here: Path, *words: str | Path, ends: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code(here, ends), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_after_an_interrupt_the_command_that_was_named_goes_on(here: Path, number: str) -> None:
    """A real Ctrl-C, what a service manager sends, and a crash, in the third round."""
    python = environment(here, "one")
    words: list[str | Path] = ["bench", python, "--rounds", "8", "--seed", "5", *PLAIN]
    done = run(here, *words, ends=f"os.kill(os.getpid(), signal.{number})")
    path = next(here.glob("results/*.suite.json"))
    kept = artifact.load(Suite, path)
    assert 2 <= kept.rounds < 8
    again = ["bench", "--resume", str(path.relative_to(here))]
    if number == "SIGKILL":
        assert done.returncode == -signal.SIGKILL
    else:
        assert done.returncode == 130, done.stderr
        said = re.search(r"(\d+) of 8 rounds are kept in (\S+); go on with: (.*)", done.stderr)
        assert said is not None, done.stderr
        assert (int(said[1]), here / said[2]) == (kept.rounds, path)
        assert shlex.split(said[3]) == ["tfbuild", *again]
    assert run(here, *again).returncode == 0
    suite = artifact.load(Suite, path)
    assert (suite.rounds, suite.runs[: len(kept.runs)]) == (8, kept.runs)
    assert [run.seed for run in suite.runs] == list(range(5, 13))


def test_a_comparison_goes_on_and_ends_in_its_table(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, fast = environment(here, "slow", seconds={"mnist_mlp": 3.0}), environment(here, "fast")
    assert tfbuild_here(monkeypatch, "compare", slow, fast, "--rounds", "3", *ONE) == 0
    path = next(here.glob("results/*.suite.json"))
    whole = artifact.load(Suite, path)
    document = json.loads(path.read_text())
    document["runs"] = document["runs"][:2]
    document |= {"finished_at": None, "stopped": None}
    path.write_text(json.dumps(document))
    capsys.readouterr()
    assert tfbuild_here(monkeypatch, "compare", "--resume", path, "--json") == 0
    comparison = artifact.from_json(Comparison, capsys.readouterr().out)
    assert comparison.contrasts[0].rows[0].speedup.ratio == pytest.approx(3)
    suite = artifact.load(Suite, path)
    assert [(run.subject, run.seed) for run in suite.runs] == [
        (run.subject, run.seed) for run in whole.runs
    ]
    assert suite.subjects == whole.subjects
    assert "Interrupted after 1 round" in comparison.notes[0]


def test_the_command_that_repeats_it_is_recorded_without_secrets(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment(here, "one")
    monkeypatch.setenv("TFBUILD_NOISE", "5%")
    words = ["--pip-index", "https://me:secret@example.org/simple?token=hidden", "--rounds", "1"]
    words += ["--max-time", "1h30m", "--inter-threads", "1", "--control", "--scale", "smoke"]
    assert tfbuild_here(monkeypatch, "bench", python, *words, *PLAIN) == 0
    path = next(here.glob("results/*.suite.json"))
    suite = artifact.load(Suite, path)
    assert shlex.join(suite.command) == (
        f"tfbuild bench {python} --scale smoke --architectures mnist_mlp --data generated "
        "--rounds 1 --max-time 5400s --noise 0.05 --control --inter-threads 1 "
        f"--pip-index https://example.org/simple --seed {suite.plan.seed}"
    )
    assert not re.search("secret|hidden", path.read_text())
    assert (suite.plan.max_seconds, suite.plan.noise) == (5400, 0.05)
    # It repeats the session: the same words, the same plan, and the same words again.
    assert tfbuild_here(monkeypatch, *suite.command[1:], "-o", "again") == 0
    again = artifact.load(Suite, next(here.glob("again/*.suite.json")))
    assert (again.plan, again.command) == (suite.plan, suite.command)
    assert [each.setting for each in again.subjects] == [each.setting for each in suite.subjects]


def test_one_tensorflow_in_several_settings_is_a_comparison(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    words = ["--rounds", "2", "--onednn", "both", "--threads", "1,2", "--json", *ONE]
    assert tfbuild_here(monkeypatch, "compare", python, *words) == 0
    found = artifact.from_json(Comparison, capsys.readouterr().out)
    settings = [found.baseline, *(each.candidate for each in found.contrasts)]
    assert [(each.setting.intra_threads, each.setting.onednn) for each in settings] == [
        *((1, False), (1, True), (2, False), (2, True))
    ]
    log = [json.loads(line) for line in (here / "one/log.jsonl").read_text().splitlines()]
    switches = {
        (each["request"]["setting"]["intra_threads"], each["environ"]["TF_ENABLE_ONEDNN_OPTS"])
        for each in log
    }
    assert switches == {(1, "0"), (1, "1"), (2, "0"), (2, "1")}


def test_peaks_are_measured_except_at_scale_smoke(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    for words, count in ((("--scale", "smoke"), 0), (("--scale", "quick"), 1)):
        told = ("--rounds", "1", "--json", *words, *ONE)
        assert tfbuild_here(monkeypatch, "bench", python, *told) == 0
        assert len(artifact.from_json(Suite, capsys.readouterr().out).peaks) == count


def test_the_first_is_measured_again_at_scale_full(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    words = ["--rounds", "1", "--scale", "full", "--json", *ONE]
    for more, expected in (((), [False, True]), (("--no-control",), [False])):
        assert tfbuild_here(monkeypatch, "bench", python, *words, *more) == 0
        found = artifact.from_json(Suite, capsys.readouterr().out)
        assert [each.is_control for each in found.subjects] == expected
        assert found.plan.timeout is None


def test_a_script_of_ones_own_is_trained(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "train.py").write_text("def train(context): ...")
    python = environment(here, "one")
    words = ["--rounds", "2", "--workload", "train.py --size 7", "--json"]
    assert tfbuild_here(monkeypatch, "bench", python, *words) == 0
    found = artifact.from_json(Suite, capsys.readouterr().out)
    assert found.plan.architectures == ("train",)
    assert found.plan.script is not None
    assert found.plan.script.arguments == ("--size", "7")
    assert found.plan.timeout is None
    # It is shown again, and compared, as the six are.
    path = next(here.glob("results/*.suite.json"))
    assert tfbuild_here(monkeypatch, "bench", path) == 0
    assert "train" in capsys.readouterr().out
    del words[-1]
    assert tfbuild_here(monkeypatch, "compare", python, python, *words) == 0
    assert re.search(r"^train +100 +100 .*equivalent", capsys.readouterr().out, re.MULTILINE)
    # Under the same name it is another script by now.
    (here / "train.py").write_text("def train(context): ...  # twice")
    assert tfbuild_here(monkeypatch, "compare", path, python, *words) == 2
    assert "train different scripts" in capsys.readouterr().err


def test_documents_keep_what_the_schemas_promise(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    words = ["--rounds", "2", "--roofline", "--json", *ONE]
    for command, specs, key in (
        ("bench", [python], "runs"),
        ("compare", [python, python], "contrasts"),
    ):
        assert tfbuild_here(monkeypatch, command, "--json-schema") == 0
        schema = Draft202012Validator(json.loads(capsys.readouterr().out))
        assert tfbuild_here(monkeypatch, command, *specs, *words) == 0
        document = json.loads(capsys.readouterr().out)
        assert [error.message for error in schema.iter_errors(document)] == []
        assert not schema.is_valid({**document, key: 7})
        assert not schema.is_valid({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rounds", "3", "--precision", "2%"], "--rounds and --precision exclude each other"),
        (["--max-rounds", "9"], "--max-rounds bounds --precision or --max-time"),
        (["--precision", "2"], "is no share; write 2% or 0.02"),
        (["--precision", "much"], "is no share"),
        (["--precision", "0"], "gives an interval without width"),
        (["--max-time", "soon"], "is no time; write 90s, 30m, 2h"),
        (["--max-time", "0s"], "is no time"),
        (["--timeout", "nan"], "is no number of seconds"),
        (["--timeout", "inf"], "is no number of seconds"),
        (["--workload", "nothing.py"], "nothing.py is no file"),
        (["--vcpus", "1,100000"], "--vcpus 100000 is more than this machine has"),
        (["--cpus", "1", "--affinity", "0"], "exclude each other"),
        (["--allocator", "nomalloc"], "no allocator 'nomalloc'"),
        (["--threads", "none"], "--threads takes whole numbers"),
        (["--onednn", "maybe"], "--onednn"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_refused_before_anything_is_started(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    python = environment(here, "one")
    assert tfbuild_here(monkeypatch, "compare", python, python, *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in " ".join(err.replace("│", " ").split())
    assert not (here / "one/log.jsonl").exists()
    assert not (here / "results").exists()


def test_a_precision_needs_a_ratio(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    path = artifact.save(suite(drifting(dict.fromkeys(ARCHITECTURES, 1.0))), here / "a.suite.json")
    document = json.loads(path.read_text())
    document["runs"] = [run for run in document["runs"] if run["subject"] == 0]
    document |= {"subjects": document["subjects"][:1], "settings": document["settings"][:1]}
    path.write_text(json.dumps(document))
    for words in (("bench", python), ("compare", path, python)):
        assert tfbuild_here(monkeypatch, *words, "--precision", "2%") == 2
        assert "a single contender has none" in capsys.readouterr().err


def test_rounds_end_early_where_the_precision_is_reached(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, fast = environment(here, "slow", seconds={"mnist_mlp": 3.0}), environment(here, "fast")
    words = ["--precision", "2%", "--max-rounds", "30", "--json", *ONE]
    assert tfbuild_here(monkeypatch, "compare", slow, fast, *words) == 0
    found = artifact.from_json(Comparison, capsys.readouterr().out)
    suite = artifact.load(Suite, Path(found.samples[0]))
    assert suite.plan.precision == 0.02
    assert suite.stopped in {"precision", "verdict"}
    assert suite.rounds < 30


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--resume", "{path}", "pip"], "pip would change that"),
        (["--resume", "{path}", "--rounds", "9"], "--rounds would change that"),
        (["--resume", "nothing.json"], "nothing.json does not exist"),
        (["--resume", "x.comparison.json"], "ends in .suite.json"),
        ([], "needs something to measure"),
    ],
    ids=["spec", "option", "missing", "comparison", "nothing"],
)
def test_what_cannot_be_resumed(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    path = artifact.save(suite(drifting(dict.fromkeys(ARCHITECTURES, 1.0))), here / "a.suite.json")
    (here / "x.comparison.json").write_text("{}")
    told = [word.format(path=path) for word in words] or ["--scale", "smoke"]
    assert tfbuild_here(monkeypatch, "compare", *told) == 2
    assert said in capsys.readouterr().err


def test_what_a_word_meant_is_taken_again_whatever_it_would_mean_by_now(tmp_path: Path) -> None:
    for word in (
        "pip",
        "compiled",
        "tensorflow-cpu",
        "tensorflow-cpu>=2.8",
        "tensorflow-cpu==2.8.4",
    ):
        was = replace(subject(word), wheel_sha256=None)
        assert repeating.spec(was, tmp_path).requirement == "tensorflow-cpu==2.8.4"
    # A newer wheel has come meanwhile; the one that was measured is known by its hash.
    for build, content in (("1", b"old"), ("2", b"new")):
        name = f"tensorflow_cpu-2.8.4+zen-{build}-cp310-cp310-linux_x86_64.whl"
        (tmp_path / name).write_bytes(content)
    old = hashlib.sha256(b"old").hexdigest()
    was = replace(subject("compiled"), version="2.8.4+zen", wheel_sha256=old)
    found = repeating.spec(was, tmp_path).path
    assert found is not None
    assert found.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://pypi.org/simple", "https://pypi.org/simple"),
        ("https://u:p@host:8080/a?token=t#f", "https://host:8080/a"),
        ("https://token@host/a", "https://host/a"),
        ("http://[broken", "URL"),
    ],
)
def test_addresses_are_shown_without_secrets(url: str, shown: str) -> None:
    assert repeating.without_secrets(url) == shown


# --- Files of strangers -------------------------------------------------------------------------


def changed(document: dict[str, Any], where: str, value: Any) -> dict[str, Any]:
    *path, last = (int(word) if word.isdigit() else word for word in where.split("."))
    place: Any = document
    for word in path:
        place = place[word]
    place[last] = value
    return document


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("schema", "tfbuild.suite/1", "has version 1 of tfbuild.suite"),
        ("runs.3.samples.0.epoch_seconds", [1e999], "out of range"),
        ("runs.3.samples.0.epoch_seconds", [1e300], "holds no time"),
        ("runs.3.samples.0.epoch_seconds", [-1.0], "holds no time"),
        ("runs.3.samples.0.epoch_seconds", ["1"], "Expected `float`"),
        ("runs.3.samples.0.train_samples", 0, None),
        ("runs.3.samples.0.train_samples", -5000, "holds no time"),
        ("runs.3.samples.0.train_samples", -900, "holds no time"),
        ("runs.3.samples.0.architecture", "mnist_nlp", "has not trained what was planned"),
        ("runs.3.round", 7, "does not hold each contender once"),
        ("runs.3.subject", 9, "does not hold each contender once"),
        ("runs.3.seconds", -1.0, "took no time"),
        ("plan.architectures", [], "names no architecture"),
        ("plan.architectures", ["../../etc/passwd"], "names no architecture"),
        ("plan.rounds", 2, "more rounds than were planned"),
        ("plan.noise", -1.0, "no share"),
        ("plan.precision", -0.5, "not possible"),
        ("plan.timeout", 1e300, "not possible"),
        ("level", 1.0, "no probability"),
        ("settings", [], "Not all of its contenders have settings"),
        ("peaks", [None], "or peaks"),
        ("subjects", [], "names no environment"),
        ("subjects.0.is_control", True, "control"),
        ("runs", None, "Expected `array`"),
        ("machine", "mine", "Expected `object`"),
    ],
)
def test_a_file_that_no_session_wrote(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: str,
    value: Any,
    said: str | None,
) -> None:
    made = suite(drifting(dict.fromkeys(ARCHITECTURES, 1.1)))
    text = json.dumps(changed(artifact.to_dict(made), where, value)).replace("Infinity", "1e999")
    path = tmp_path / "x.suite.json"
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    exit_code = tfbuild_here(monkeypatch, "compare", path)
    out, err = capsys.readouterr()
    if said is None:
        assert exit_code == 0
        return
    assert (exit_code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b'{"schema": "tfbuild.suite/2"}', "is damaged"),
        (b"[]", "is not a tfbuild.suite file"),
        (b'{"schema": ["tfbuild.suite/2"]}', "is not a tfbuild.suite file"),
    ],
    ids=["empty", "deep", "binary", "bare", "list", "schema"],
)
def test_a_file_that_is_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    said: str,
) -> None:
    path = tmp_path / "x.suite.json"
    path.write_bytes(content)
    assert tfbuild_here(monkeypatch, "compare", path) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.suite.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    assert tfbuild_here(monkeypatch, "compare", path) == 2
    assert "too large for a result" in capsys.readouterr().err


# --- What this CPU lacks ------------------------------------------------------------------------


def test_the_instruction_and_the_cpu_for_it_are_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library stands in the package, so its code is inspected too; it dies on import."""
    extension, instruction = beyond()
    python = environment(here, "bad")
    package = next(here.glob("bad/lib/python*/site-packages/tensorflow"))
    deadly = library(here / "made", instruction)
    deadly.rename(package / deadly.name)
    with (package / "__init__.py").open("a") as file:
        file.write(f"import ctypes; ctypes.CDLL({str(package / deadly.name)!r}).f()\n")
    record = next(package.parent.glob("*.dist-info")) / "RECORD"
    record.write_text(f"tensorflow/__init__.py,,\ntensorflow/{deadly.name},,\n")
    (here / "bad/bin/behaviour.json").write_text(
        json.dumps({"trouble": f"call {package / deadly.name}", "at": ""})
    )
    benchmarks = resources.folder("benchmarks")
    (benchmarks / "trace.py").write_text(TRACE.read_text())
    assert tfbuild_here(monkeypatch, "compare", python, python) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "This CPU cannot run" in err
    assert "illegal instruction (SIGILL) while TensorFlow was imported" in err
    assert f"The instruction is {instruction.split()[0]}" in err
    assert f"in {deadly.name}, which needs {extension}." in err
    assert f"The wheel's code needs {extension}, which this CPU lacks. It runs on" in err
    assert f"{extension}: f in tensorflow/{deadly.name}, for one." in err
    assert not list(here.glob("results/*"))


TRACE = resources.folder("benchmarks") / "trace.py"


@pytest.mark.tensorflow
def test_a_real_tensorflow_runs_into_a_real_limit(tmp_path: Path) -> None:
    need(pyenv_python("3.10"), "no Python 3.10 here")
    words = ["bench", "tensorflow-cpu==2.8.4", "--architectures", "imdb_fasttext", "--rounds", "1"]
    words += ["--scale", "smoke", "--data", "generated", "--threads", "2"]
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"ulimit -v 2000000; {shlex.join([sys.executable, '-m', 'tfbuild', *words])}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 8, done.stderr
    assert "ran out of memory while training imdb_fasttext" in done.stderr
    assert "OOM when allocating tensor with shape[1200001,50]" in done.stderr
    assert not list(tmp_path.glob("results/*"))
