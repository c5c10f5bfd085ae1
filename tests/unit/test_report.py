"""What a report says, what it is read from, and its exports."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import results
from tests.conftest import DATA
from tests.unit.test_compare import flat, suite
from tfbuild import artifact, report
from tfbuild.bench import ARCHITECTURES
from tfbuild.compare import Comparison
from tfbuild.errors import NothingToDoError, UsageError
from tfbuild.report import sentences, words
from tfbuild.report.ratios import COLUMNS as RATIO_COLUMNS
from tfbuild.report.samples import COLUMNS
from tfbuild.report.view import view
from tfbuild.stats import Estimate, Verdict


def saved(name: str, folder: Path) -> Path:
    return results.save(results.SUITES[name](), folder, name)


def headline(name: str, folder: Path) -> str:
    return sentences.headline(view(report.load(saved(name, folder))))


# --- The answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "ratio", "high", "verdict", "text"),
    [
        (1.2, 1.31, 1.4, "faster", "b is 1.31 times as fast as a on this machine"),
        (0.7, 0.8, 0.9, "slower", "b is 0.80 times as fast as a on this machine"),
        (0.99, 1.0, 1.01, "equivalent", "b is as fast as a on this machine, within 2 %"),
        (0.9, 1.05, 1.2, "inconclusive", "It is not clear whether b is faster than a"),
        (None, 1.5, None, "inconclusive", "In one round, b was 1.50 times as fast as a"),
    ],
)
def test_the_answer_says_no_more_than_the_verdict(
    low: float | None, ratio: float, high: float | None, verdict: str, text: str
) -> None:
    found = Estimate(ratio=ratio, low=low, high=high, pairs=6)
    said = words.claim("b", "a", found, Verdict(verdict), 0.02)
    assert said.startswith(text)
    assert (f"95 % interval {low:.2f} to {high:.2f}" in said) if low and high else "sure" in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("two", "intel-tensorflow 2.8.0 is 1.19 times as fast as tensorflow-cpu 2.8.4 on this"),
        ("several", "The best of 2: intel-tensorflow 2.8.0 is 1."),
        # 1.838 is the geometric mean of results.LEVELS over the K80's seconds.
        ("alone", "tensorflow-cpu 2.8.4 needs 1.84 times as long as the K80 of 2017 in the"),
        ("one_round", "In one round, intel-tensorflow 2.8.0 was 1."),
        ("script", "intel-tensorflow 2.8.0 is 0.8"),
        ("settings", "The best of 4: intel-tensorflow 2.8.0 ("),
    ],
)
def test_headlines(tmp_path: Path, name: str, text: str) -> None:
    assert headline(name, tmp_path).startswith(text)


def test_where_nobody_is_faster_that_is_the_answer(tmp_path: Path) -> None:
    whos = [results.PIP, results.INTEL, results.OWN]
    made = suite(flat, subjects=whos)
    said = sentences.headline(view(report.load(results.save(made, tmp_path))))
    assert said.startswith("None of 2 candidates is clearly faster than tensorflow-cpu 2.8.4")


def test_a_sure_candidate_is_the_answer_before_a_faster_one_that_is_not(tmp_path: Path) -> None:
    rates = results.noisy((1.0, 1.31))

    def seconds(who: int, number: int, name: str) -> float:
        wild = (0.2, 5.0)[number % 2]
        return rates(who, number, name) if who < 2 else rates(0, number, name) / 1.5 * wild

    whos = [results.PIP, results.INTEL, results.OWN]
    shown = view(report.load(results.save(suite(seconds, subjects=whos), tmp_path)))
    ratios = [pair.contrast.overall.ratio for pair in shown.pairs]
    verdicts = [pair.contrast.overall_verdict.value for pair in shown.pairs]
    assert ratios[1] > ratios[0] > 1
    assert verdicts == ["faster", "inconclusive"]
    assert sentences.headline(shown).startswith("The best of 2: intel-tensorflow 2.8.0 is 1.1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.000476, "0.000476"),
        (0.0317, "0.0317"),
        (9.994, "9.99"),
        (307.35, "307"),
        (1e-9, "1.00e-09"),
        (2.5e7, "2.50e+07"),
    ],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert words.number(value) == text


def test_labels_tell_contenders_apart() -> None:
    like = [results.PIP, results.PIP, replace(results.PIP, spec="/home/me/own/bin/python")]
    assert words.labels(like) == [
        "tensorflow-cpu 2.8.4 (pip)",
        "tensorflow-cpu 2.8.4 (pip), no. 2",
        "tensorflow-cpu 2.8.4 (python)",
    ]
    sizes = [replace(results.PIP, setting=results.with_cpus(n)) for n in (1, 4)]
    assert words.labels(sizes) == [
        "tensorflow-cpu 2.8.4 (1 vCPU)",
        "tensorflow-cpu 2.8.4 (4 vCPUs)",
    ]
    onednn = [
        replace(results.PIP, setting=replace(results.PIP.setting, onednn=each))
        for each in (None, True)
    ]
    assert [each.partition("(")[2] for each in words.labels(onednn)] == [
        "oneDNN default)",
        "oneDNN on)",
    ]


@pytest.mark.parametrize("letters", [10, 11, 30])
def test_long_names_are_cut_in_the_middle(letters: int) -> None:
    text = words.cut("a" * 50 + "z" * 50, letters)
    assert len(text) == letters
    assert text[0] == "a"
    assert text[-1] == "z"


def test_an_environment_against_itself_has_two_contenders(tmp_path: Path) -> None:
    made = suite(results.noisy((1.0, 1.31)), subjects=[results.PIP, results.PIP])
    shown = view(report.load(results.save(made, tmp_path)))
    (pair,) = shown.pairs
    assert pair.baseline.side != pair.candidate.side
    found = pair.ratios("mnist_mlp")
    then, now = made.seconds(0, "mnist_mlp"), made.seconds(1, "mnist_mlp")
    assert list(found.values()) == pytest.approx([a / b for a, b in zip(then, now, strict=True)])


# --- Where it is read from ----------------------------------------------------------------------


def test_the_same_result_gives_the_same_bytes_wherever_it_lies(tmp_path: Path) -> None:
    texts = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        made = report.load(results.full(folder))
        texts.append((made.to_html(), made.to_markdown(), made.to_csv(), made.to_ratios_csv()))
    assert texts[0] == texts[1]


def test_samples_are_found_beside_the_comparison(tmp_path: Path) -> None:
    path = results.full(tmp_path / "here")
    found = replace(artifact.load(Comparison, path), samples=("results/full.suite.json",))
    artifact.save(found, path)
    assert report.load(path).sources[0].name == "full.suite.json"
    (tmp_path / "here/full.suite.json").unlink()
    with pytest.raises(UsageError, match="samples that are not there"):
        report.load(path)


def test_no_finished_round_is_nothing_to_report(tmp_path: Path) -> None:
    made = replace(results.two(), runs=(), finished_at=None)
    with pytest.raises(NothingToDoError):
        report.load(results.save(made, tmp_path))


Change = Callable[[dict[str, Any]], object]
ROW = ("contrasts", 0, "rows", 0)


def set_at(*path: str | int, value: Any) -> Change:
    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_at("noise", value=-1),
        set_at("noise", value=1e300),
        set_at(*ROW, "speedup", "ratio", value=0),
        set_at(*ROW, "speedup", "ratio", value=-1.5),
        set_at(*ROW, "speedup", "low", value=99),
        set_at(*ROW, "speedup", "high", value=None),
        set_at(*ROW, "speedup", "high", value=1e300),
        set_at(*ROW, "baseline", "seconds", value=0),
        set_at(*ROW, "baseline", "k80_2017", value=-3),
        set_at(*ROW, "candidate", "cost", "amount", value=-1),
        set_at(*ROW, "candidate", "cost", "of_k80", value=0),
        set_at(*ROW, "candidate", "achieved", "intensity", value=0),
        set_at(*ROW, "architecture", value="another"),
        set_at("contrasts", 0, "rows", value=[]),
        set_at("contrasts", 0, "overall", "ratio", value=1e-300),
        set_at("curves", 0, "points", value=[]),
        set_at("curves", 0, "points", 0, "vcpus", value=0),
        set_at("curves", 0, "points", 0, "seconds", value=-1),
    ],
    ids=range(18),
)
def test_what_no_axis_could_show_is_refused(tmp_path: Path, change: Change) -> None:
    path = results.full(tmp_path)
    data = json.loads(path.read_text())
    report.load(path)
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="is damaged"):
        report.load(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        (b"[1, 2", "is not JSON"),
        (b"[" * 200_000, "is not JSON"),
        (b'{"schema": "tfbuild.suite/2", "x": NaN}', "is not JSON"),
        (b'{"schema": "tfbuild.suite/2", "x": 1e999}', "is not JSON"),
        (b'{"schema": "\xff"}', "is not JSON"),
        (b"[]", "neither samples nor a comparison"),
        (b'{"schema": 7}', "neither samples nor a comparison"),
        (b'{"schema": "tfbuild.wheel/1"}', "neither samples nor a comparison"),
        (b'{"schema": "tfbuild.suite/99"}', "has version 99"),
        (b'{"schema": "tfbuild.comparison/2"}', "is damaged"),
    ],
    ids=range(11),
)
def test_other_files_are_refused(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text)
    with pytest.raises(UsageError, match=said):
        report.load(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(UsageError):
            report.load(path)


# --- Exports ------------------------------------------------------------------------------------


def test_markdown_is_the_golden_one(tmp_path: Path) -> None:
    made = report.load(results.full(tmp_path))
    # The samples name the kernel of the machine that runs the tests.
    text = made.to_markdown().replace(made.sources[0].sha256, "0" * 64)
    assert text == (DATA / "report/full.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "kind"), [("samples", "to_csv"), ("ratios", "to_ratios_csv")])
def test_csv_is_the_golden_one(tmp_path: Path, name: str, kind: str) -> None:
    made = report.load(results.full(tmp_path))
    text = getattr(made, kind)()
    golden = (DATA / f"report/{name}.csv").read_text(encoding="utf-8")
    assert "\r" not in text
    found, wanted = (list(csv.reader(io.StringIO(each))) for each in (text, golden))
    # Only the first 13 rows of samples are kept: one round, and the next one's beginning.
    for row, expected in zip(found[: len(wanted)], wanted, strict=True):
        for cell, other in zip(row, expected, strict=True):
            if "." in other and other.replace(".", "").isdigit() and other.count(".") == 1:
                assert float(cell) == pytest.approx(float(other), rel=1e-9)
            else:
                assert cell == other


def test_csv_has_every_sample_and_gives_the_ratios_again(tmp_path: Path) -> None:
    made = report.load(saved("several", tmp_path))
    rows = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert len(rows) == 6 * 4 * 6  # rounds, contenders and the control, architectures
    assert list(rows[0]) == list(COLUMNS)
    assert {row["control"] for row in rows if row["subject"] == "4"} == {"1"}
    ratios = list(csv.DictReader(io.StringIO(made.to_ratios_csv())))
    assert list(ratios[0]) == list(RATIO_COLUMNS)
    assert [row["architecture"] for row in ratios] == [*ARCHITECTURES, ""] * 3
    seconds = {
        who: [
            float(row["study_epoch_seconds"])
            for row in rows
            if (row["subject"], row["architecture"]) == (who, "mnist_cnn")
        ]
        for who in "12"
    }
    product = 1.0
    for then, now in zip(seconds["1"], seconds["2"], strict=True):
        product *= then / now
    assert float(ratios[1]["ratio"]) == pytest.approx(product ** (1 / 6))


def test_a_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    made = suite(results.noisy(), subjects=[replace(results.PIP, spec="=1+1"), results.INTEL])
    rows = csv.DictReader(io.StringIO(report.load(results.save(made, tmp_path)).to_csv()))
    assert next(iter(rows))["spec"] == "'=1+1"


def test_markdown_holds_no_markup_of_strangers(tmp_path: Path) -> None:
    text = report.load(saved("hostile", tmp_path)).to_markdown()
    assert "<script" not in text
    assert "@someone" not in text
    assert "](javascript" not in text
    widths = {line.count("|") - line.count("\\|") for line in text.splitlines() if line[:1] == "|"}
    assert widths <= {7 + 1, 6 + 1, 9 + 1}


def test_json_is_the_comparison(tmp_path: Path) -> None:
    path = results.full(tmp_path)
    assert report.load(path).to_json() == path.read_text()


def test_a_notebook_shows_a_part_of_a_page(tmp_path: Path) -> None:
    made = report.load(saved("two", tmp_path))
    shown = made._repr_html_()
    assert "<html" not in shown
    assert "<body" not in shown
    assert "intel-tensorflow</span> 2.8.0 is" in shown
    # Nothing of its style may reach the rest of a notebook.
    style = shown[shown.index("<style>") + 7 : shown.index("</style>")]
    for line in style.splitlines():
        selector = line.partition("{")[0]
        for part in filter(None, selector.split(",")):
            assert part.startswith((".tfbuild-", "@media", "}")), line


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"baseline": None}, "baseline is that of no contrast"),
        ({"contrasts": [], "control": None, "samples": []}, "names no samples"),
        ({"samples": ["a" * 3_000]}, "samples that are not there"),
        ({"samples": ["a/" * 3_000]}, "samples that are not there"),
    ],
    ids=["baseline", "nothing", "long", "deep"],
)
def test_a_comparison_that_none_of_ours_is(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = results.full(tmp_path)
    document = json.loads(path.read_text())
    if "baseline" in changes:
        changes = {"baseline": document["baseline"] | {"spec": "another"}}
    path.write_text(json.dumps(document | changes))
    with pytest.raises(UsageError) as refused:
        report.load(path)
    assert said in f"{refused.value.what} {refused.value.why}"
