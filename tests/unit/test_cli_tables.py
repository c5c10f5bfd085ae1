"""Numbers in few characters, and tables for one environment."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests import results
from tests.conftest import DATA
from tests.unit.test_compare import drifting, subject, suite
from tfbuild import report
from tfbuild.bench import ARCHITECTURES
from tfbuild.bench.suite import Side, Stopped
from tfbuild.cli import more_tables, notes, tables
from tfbuild.compare import compare
from tfbuild.stats import Estimate

SAME = drifting(dict.fromkeys(ARCHITECTURES, 1.0))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0421, "0.042"), (1.0, "1.00"), (9.994, "9.99"), (14.39, "14.4"), (307.35, "307")],
)
def test_seconds_have_three_digits(value: float, text: str) -> None:
    assert tables.seconds(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.98, 1.02, "0.98-1.02"),
        (0.001, 54.78, "0.00-54.8"),
        (9.5, 364.3, "9.50-364"),
        (2.0, 8180.0, "2.00->999"),
        (None, None, "-"),
    ],
)
def test_intervals_stay_short(low: float | None, high: float | None, text: str) -> None:
    assert tables.interval(Estimate(ratio=1.0, low=low, high=high, pairs=2)) == text


def text_of(side: Side, *candidates: Side) -> str:
    out = Console(file=io.StringIO(), width=100, no_color=True)
    tables.compared(compare(side, candidates), out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_everything_that_a_comparison_has_fits_80_columns(tmp_path: Path) -> None:
    made = report.load(results.full(tmp_path))
    out = Console(file=io.StringIO(), width=80, no_color=True, highlight=False)
    tables.compared(made.comparison, out, [each.suite for each in made.sources])
    assert isinstance(out.file, io.StringIO)
    lines = [line.rstrip() for line in out.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines) + "\n" == (DATA / "compare_full_80.txt").read_text(encoding="utf-8")


def test_the_control_stands_below_the_mean_and_is_no_candidate(tmp_path: Path) -> None:
    made = report.load(results.save(results.several(), tmp_path))
    out = Console(file=io.StringIO(), width=80, no_color=True)
    tables.compared(made.comparison, out)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert text.count("control: A again") == 2
    assert "\nD  " not in text


def test_of_many_candidates_the_means_are_shown(tmp_path: Path) -> None:
    whos = [results.PIP] + [results.named(f"w{n}", f"wheel-{n}", "1") for n in range(27)]
    many = suite(results.noisy((1.0,) * 28), subjects=whos, rounds=2)
    made = report.load(results.save(many, tmp_path))
    out = Console(file=io.StringIO(), width=80, no_color=True)
    tables.compared(made.comparison, out)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert text.count(" against A") == 27 * 2  # in the table, and at the bars
    assert "AB against A" in text


def test_generated_data_is_said_and_of_mixed_data_what_is_what() -> None:
    made = suite(SAME, data="generated")
    sides = [Side(suite=made, subject=each) for each in range(2)]
    assert "Data: generated for all." in text_of(*sides)
    half = replace(made.runs[1].samples[0], data="real")
    runs = [replace(run, samples=(half, *run.samples[1:])) for run in made.runs]
    mixed = replace(made, runs=tuple(runs))
    text = text_of(*(Side(suite=mixed, subject=each) for each in range(2)))
    assert "Data: real for mnist_mlp; generated for mnist_cnn," in text


def test_every_concern_names_its_candidate_where_there_are_several() -> None:
    made = suite(SAME, subjects=[subject("a"), subject("b", "2.8.0"), subject("c")])
    text = text_of(*(Side(suite=made, subject=each) for each in range(3)))
    assert "Note, B: other TensorFlow" in text
    assert "Note, C" not in text


def test_a_spec_that_says_no_more_than_the_version_is_not_repeated() -> None:
    assert "(" not in tables.named(subject("tensorflow-cpu==2.8.4"))
    assert "(pip)" in tables.named(subject("pip"))
    assert "oneDNN" not in tables.named(replace(subject("pip"), onednn=None))


@pytest.mark.parametrize(
    ("stopped", "said"),
    [
        (Stopped.TIME, "another would have ended after --max-time."),
        (Stopped.VERDICT, "every verdict was clear."),
        (Stopped.PRECISION, "every ratio is known within --precision."),
        (Stopped.ROUNDS, "the most that were allowed (--max-rounds)."),
    ],
)
def test_why_an_open_session_ended_is_said(stopped: Stopped, said: str) -> None:
    made = suite(SAME)
    plan = replace(made.plan, precision=0.02, max_seconds=60.0)
    ended = replace(made, plan=plan, stopped=stopped)
    assert list(notes.ended(ended)) == [f"Ended after {made.rounds} rounds: {said}"]
    assert not list(notes.ended(replace(made, stopped=Stopped.ROUNDS)))


def test_the_roofline_says_what_it_lacks_and_what_is_odd(tmp_path: Path) -> None:
    made = report.load(results.full(tmp_path)).comparison
    row = made.contrasts[0].rows[0].candidate
    assert row.achieved is not None
    bare = replace(row, achieved=replace(row.achieved, fraction=None, roof=None, bound=None))
    above = replace(row, achieved=replace(row.achieved, fraction=1.02))
    assert not list(notes.roof([replace(row, achieved=None)]))
    assert "--roofline" in "".join(notes.roof([bare]))
    assert "above 100%" in "".join(notes.roof([bare, above]))
    (table,) = more_tables.roofline([("A", [bare])])
    assert "A\nof roof" not in [column.header for column in table.columns]


def test_names_say_once_what_onednn_does() -> None:
    subjects = [
        replace(subject("a"), onednn=is_on, setting=replace(subject("a").setting, onednn=is_on))
        for is_on in (False, True)
    ]
    text = text_of(*(Side(suite=suite(SAME, subjects=subjects), subject=each) for each in (0, 1)))
    assert [line.count("oneDNN") for line in text.splitlines()[:2]] == [1, 1]


def test_one_environment_is_told_why_it_ended_and_what_it_lacks(tmp_path: Path) -> None:
    made = report.load(results.full(tmp_path)).comparison
    row = made.contrasts[0].rows[0].candidate
    assert row.achieved is not None
    bare = replace(row, achieved=replace(row.achieved, fraction=None, roof=None, bound=None))
    one = suite(SAME, subjects=[subject("a")])
    one = replace(one, plan=replace(one.plan, max_seconds=60.0), stopped=Stopped.TIME)
    out = Console(file=io.StringIO(), width=100, no_color=True)
    tables.measured(Side(suite=one, subject=0), [bare], (), out)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert "The machine's peak was not measured" in text
    assert "rounds: another would have ended after --max-time." in text
