"""`tfbuild bench` and `tfbuild compare` from the command line to the table and the files."""

import errno
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import DATA, need, pyenv_python
from tests.fake_tensorflow import environment, tfbuild_here
from tests.unit.test_compare import drifting, subject, suite
from tfbuild import artifact, choice
from tfbuild.bench import ARCHITECTURES, Suite
from tfbuild.choice import Choice, Choices
from tfbuild.compare import Comparison
from tfbuild.errors import SaveError

if TYPE_CHECKING:
    import subprocess

Run = Callable[..., "subprocess.CompletedProcess[str]"]

RATIOS = dict(zip(ARCHITECTURES, (1.5, 0.7, 1.0, 1.2, 1.02, 1.0), strict=True))


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, Path]:
    """Result files: one environment each, and both of one session."""
    levels = drifting(RATIOS)

    def candidate(_who: int, number: int, name: str) -> float:
        return levels(1, number, name)

    intel = subject("intel-tensorflow==2.8.0", "2.8.0")
    made = {
        "pip": suite(drifting(RATIOS), subjects=[subject("pip")]),
        "other": suite(candidate, subjects=[subject("other")]),
        "both": suite(drifting(RATIOS), subjects=[subject("pip"), intel]),
        "three": suite(drifting(RATIOS), subjects=[subject("pip"), intel, subject("third")]),
    }
    return {name: artifact.save(each, tmp_path / f"{name}.json") for name, each in made.items()}


@pytest.mark.parametrize("columns", [80, 100])
def test_the_table_of_a_saved_session(tfbuild: Run, saved: dict[str, Path], columns: int) -> None:
    done = tfbuild("compare", saved["both"], env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    table = [line for line in lines if not line.startswith("Saved: ")]
    assert max(map(len, table)) <= columns
    assert "\x1b" not in done.stdout
    golden = (DATA / f"compare_{columns}.txt").read_text()
    assert "\n".join(line.rstrip() for line in table) + "\n" == golden


def test_a_narrow_terminal_loses_no_digit(tfbuild: Run, saved: dict[str, Path]) -> None:
    tables = []
    for columns in ("40", "80"):
        done = tfbuild("compare", saved["both"], env={"COLUMNS": columns})
        assert "…" not in done.stdout
        lines = done.stdout.splitlines()
        found = [each for each in lines if each.startswith((*ARCHITECTURES,)) and "│" not in each]
        tables.append([line.split() for line in found])
    assert len(tables[0]) == 12
    assert tables[0] == tables[1]
    assert "…" not in tfbuild("bench", saved["pip"], env={"COLUMNS": "40"}).stdout


def test_the_comparison_is_saved_and_is_what_json_prints(
    tfbuild: Run, saved: dict[str, Path], tmp_path: Path
) -> None:
    shown = tfbuild("compare", saved["both"])
    path = Path(shown.stdout.splitlines()[-1].removeprefix("Saved: "))
    comparison = artifact.load(Comparison, tmp_path / path)
    done = tfbuild("compare", saved["both"], "--json")
    assert artifact.from_json(Comparison, done.stdout) == comparison
    found = {row.architecture: row.speedup.ratio for row in comparison.contrasts[0].rows}
    assert found == pytest.approx(RATIOS, rel=0.002)
    overall = math.prod(RATIOS.values()) ** (1 / 6)
    assert comparison.contrasts[0].overall.ratio == pytest.approx(overall, rel=0.002)


def test_results_of_two_sessions_compare_as_not_interleaved(
    tfbuild: Run, saved: dict[str, Path]
) -> None:
    done = tfbuild("compare", saved["pip"], saved["other"])
    assert done.returncode == 0
    assert "not interleaved" in done.stdout


def test_several_candidates_have_a_table_each(tfbuild: Run, saved: dict[str, Path]) -> None:
    done = tfbuild("compare", saved["three"])
    assert done.stdout.count("\ngeometric mean ") == 2
    assert "\nC  tensorflow-cpu" in done.stdout


def test_comparisons_of_many_results_keep_a_file_each(
    tfbuild: Run, saved: dict[str, Path], tmp_path: Path
) -> None:
    one, *others = (tmp_path / f"{letter * 100}.suite.json" for letter in "abc")
    shutil.copy(saved["pip"], one)
    for each in others:
        shutil.copy(saved["other"], each)
        assert tfbuild("compare", one, each, "-o", "out").returncode == 0
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_noise_moves_the_verdict(tfbuild: Run, saved: dict[str, Path]) -> None:
    loose = json.loads(tfbuild("compare", saved["both"], "--noise", "0.3", "--json").stdout)
    verdicts = {row["architecture"]: row["verdict"] for row in loose["contrasts"][0]["rows"]}
    assert verdicts["imdb_fasttext"] == "equivalent"  # 1.2
    assert verdicts["mnist_mlp"] == "faster"  # 1.5


def test_bench_shows_a_saved_result(tfbuild: Run, saved: dict[str, Path]) -> None:
    done = tfbuild("bench", saved["pip"], env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert all(name in done.stdout for name in ARCHITECTURES)
    assert "307" in done.stdout  # seconds that the K80 took for an epoch of the LSTM
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["compare", "pip"], 2, "with what?"),
        (["compare", "{pip}"], 2, "alone"),
        (["compare", "{pip}", "{pip}"], 2, "very same samples"),
        (["compare", "{damaged}", "{pip}"], 2, "damaged"),
        (["compare", "x.comparison.json"], 2, ".suite.json"),
        (["compare", "{both}", "{pip}"], 2, "holds 2 contenders"),
        (["bench", "{both}"], 2, "holds 2 contenders"),
        (["compare", "nothing.json", "pip"], 2, "nothing.json does not exist"),
        (["compare", "{pip}", "{text}"], 2, "not JSON"),
        (["bench", "pip", "--architectures", "mnist_nlp"], 2, "Did you mean 'mnist_mlp'?"),
        (["bench", "pip", "--architectures", "mnist_mlp,mnist_mlp"], 2, "names one twice"),
        (["bench", "pip", "--architectures", ","], 2, "names none"),
        (["compare", "pip", "{pip}", "--scale", "full"], 2, "was measured at scale quick"),
        (["compare", "pip", "{pip}", "--architectures", "mnist_mlp"], 2, "different architect"),
        (["bench", "pip", "--rounds", "0"], 2, "--rounds"),
    ],
)
def test_refusals(
    tfbuild: Run, saved: dict[str, Path], tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    (tmp_path / "text.json").write_text("no")
    (tmp_path / "x.comparison.json").write_text("{}")
    document = json.loads(saved["pip"].read_text())
    document["runs"][2]["samples"][0]["epoch_seconds"] = []
    (tmp_path / "damaged.json").write_text(json.dumps(document))
    names = {name: str(path) for name, path in saved.items()}
    names |= {"text": "text.json", "damaged": "damaged.json"}
    done = tfbuild(*(word.format(**names) for word in words))
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "results").exists()


# --- Measuring, with the worker that needs no TensorFlow ----------------------------------------


def test_measure_and_compare(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = environment(here, "slow", seconds=dict.fromkeys(ARCHITECTURES, 3.0))
    fast = environment(here, "fast", seconds=dict.fromkeys(ARCHITECTURES, 2.0))
    words = ["--rounds", "5", "--seed", "1", "--threads", "2"]
    assert tfbuild_here(monkeypatch, "compare", slow, fast, *words) == 0
    out, _ = capsys.readouterr()
    assert out.count("faster") == 7  # six rows and their mean
    assert out.count("1.50x") == 7
    assert "Data: generated for all." in out
    files = [Path(line.split(": ")[1]) for line in out.splitlines() if line.startswith("Saved: ")]
    measured, comparison = artifact.load(Suite, files[0]), artifact.load(Comparison, files[1])
    assert (measured.rounds, measured.plan.seed, measured.subjects[0].setting.intra_threads) == (
        5,
        1,
        2,
    )
    assert comparison.samples == (str(files[0]),)
    assert comparison.contrasts[0].rows[0].speedup.ratio == pytest.approx(1.5)


def test_a_saved_result_against_one_measured_now(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    words = ["--rounds", "2", "--architectures", "mnist_mlp", "--scale", "smoke", "--json"]
    assert tfbuild_here(monkeypatch, "bench", python, *words) == 0
    first = artifact.from_json(Suite, capsys.readouterr().out)
    path = artifact.save(first, here / "first.json")
    assert tfbuild_here(monkeypatch, "compare", path, python, *words) == 0
    found = artifact.from_json(Comparison, capsys.readouterr().out)
    assert not found.contrasts[0].rows[0].speedup.paired
    assert len(found.samples) == 2


@pytest.mark.parametrize("as_json", [False, True])
def test_what_stands_in_for_a_compiled_wheel_is_said_first(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    line = "No wheel has been compiled yet: compiled = another one."
    python = environment(here, "one")

    def choose(specs: Any, _here: Any) -> Choices:
        choices = tuple(
            Choice(
                spec=spec,
                distribution="tensorflow-cpu",
                version="2.8.4",
                tensorflow="2.8.4",
                python="3.11",
                interpreter=python,
                install=None,
            )
            for spec in specs
        )
        return Choices(choices=choices, first_line=line, notes=("Something else.",))

    monkeypatch.setattr(choice, "choose", choose)
    words = ["--rounds", "1", "--architectures", "mnist_mlp", *(["--json"] if as_json else [])]
    assert tfbuild_here(monkeypatch, "compare", "pip", "compiled", *words) == 0
    out, err = capsys.readouterr()
    if as_json:
        assert artifact.from_json(Comparison, out).notes == (line, "Something else.")
        assert line in err
    else:
        assert out.splitlines()[0] == line
        assert "Something else." in err
    # Later, too: the sentence lies with the samples.
    path = next(here.glob("results/*.suite.json"))
    assert tfbuild_here(monkeypatch, "compare", path, "--json") == 0
    out, err = capsys.readouterr()
    assert artifact.from_json(Comparison, out).notes == (line, "Something else.")
    assert err.splitlines()[:2] == [line, "Something else."]


def test_a_cpu_that_lacks_instructions_is_exit_4(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = environment(here, "good"), environment(here, "bad", trouble="SIGILL", at="")
    assert tfbuild_here(monkeypatch, "compare", good, bad) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "This CPU cannot run" in err
    assert "tfbuild inspect" in err
    assert not list(here.glob("results/*"))


def test_a_full_disk_is_exit_11_and_names_what_is_kept(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    real, calls = os.fsync, []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    words = ["--rounds", "3", "--architectures", "mnist_mlp"]
    assert tfbuild_here(monkeypatch, "bench", python, *words) == 11
    err = capsys.readouterr().err
    assert "the disk is full" in err
    kept = next(here.glob("results/*.suite.json"))
    assert artifact.load(Suite, kept).rounds == 1
    assert f"1 of 3 rounds are kept in results/{kept.name}" in err


def test_a_disk_that_is_full_at_the_end_does_not_cost_the_table(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = environment(here, "slow", seconds={"mnist_mlp": 3.0})
    fast = environment(here, "fast", seconds={"mnist_mlp": 2.0})
    real = artifact.save

    def save(value: Any, path: Path) -> Path:
        if path.name.endswith(".comparison.json"):
            raise SaveError("The disk is full.")
        return real(value, path)

    monkeypatch.setattr(artifact, "save", save)
    words = ["--rounds", "2", "--architectures", "mnist_mlp"]
    assert tfbuild_here(monkeypatch, "compare", slow, fast, *words) == 11
    assert "1.50x" in capsys.readouterr().out


def test_a_results_folder_that_cannot_be_written_is_found_out_before_the_work(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment(here, "one")
    (here / "file").write_text("")
    assert tfbuild_here(monkeypatch, "bench", python, "-o", "file/results") == 11
    assert "Cannot save file/results/" in capsys.readouterr().err
    assert not (python.parent.parent / "log.jsonl").exists()


def test_one_interpreter_may_stand_on_both_sides(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An A/A comparison shows the noise: two subjects, two processes in each round."""
    python = environment(here, "one")
    words = ["--rounds", "2", "--architectures", "mnist_mlp", "--json"]
    assert tfbuild_here(monkeypatch, "compare", python, python, *words) == 0
    found = artifact.from_json(Comparison, capsys.readouterr().out)
    assert found.contrasts[0].rows[0].speedup.paired
    assert found.contrasts[0].overall_verdict == "equivalent"
    measured = artifact.load(Suite, Path(found.samples[0]))
    assert [each.subject for each in sorted(measured.runs, key=lambda run: run.subject)] == [
        *(0, 0, 1, 1)
    ]


# --- The real thing -----------------------------------------------------------------------------


@pytest.mark.tensorflow
def test_real_wheels_compare(tfbuild: Run) -> None:
    need(pyenv_python("3.10"), "no Python 3.10 here")
    # One round: what more of them give is tested without TensorFlow.
    words = ["--scale", "smoke", "--rounds", "1", "--data", "generated", "--seed", "3"]
    done = tfbuild(
        "compare", "tensorflow-cpu==2.8.4", "intel-tensorflow==2.8.0", *words, timeout=3000
    )
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ARCHITECTURES)
    assert "TensorFlow 2.8.4 against 2.8.0" in done.stdout
    assert "other losses" not in done.stdout  # both wheels compute the same


@pytest.mark.tensorflow
def test_the_wheel_for_avx512_is_faster_in_convolutions_or_refused_before_a_download(
    tfbuild: Run,
) -> None:
    """The kernel says what this CPU has; on one with AVX-512 the speedup must be found."""
    need(pyenv_python("3.10"), "no Python 3.10 here")
    words = ["compare", "tensorflow-cpu==2.8.4", "intel-tensorflow-avx512==2.8.0"]
    flags = Path("/proc/cpuinfo").read_text().split()
    if not {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags):
        done = tfbuild(*words)
        assert done.returncode == 4
        assert "lacks avx512" in done.stderr
        assert "Downloading" not in done.stderr
        return
    convolutions = ("mnist_cnn", "cifar10_cnn")
    more = ["--rounds", "4", "--architectures", ",".join(convolutions), "--json"]
    found = artifact.from_json(Comparison, tfbuild(*words, *more, timeout=3000).stdout)
    verdicts = {row.architecture: row.verdict for row in found.contrasts[0].rows}
    assert verdicts == dict.fromkeys(convolutions, "faster")
