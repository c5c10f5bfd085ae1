"""Where things stand in the figures: places reckoned here, from the axis's own labels."""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests import results
from tests.unit.test_compare import suite
from tfbuild import report
from tfbuild.bench.suite import Peak, Stopped
from tfbuild.report import charts, facts, scales, words
from tfbuild.report.charts import bars, costs, forest, k80, roofline, rounds
from tfbuild.report.charts.roofline import roof
from tfbuild.report.scales import Linear, Log
from tfbuild.report.svg import Drawing
from tfbuild.report.view import View, view


@pytest.fixture
def seen(tmp_path: Path) -> Callable[[str], View]:
    def make(name: str) -> View:
        if name == "full":
            return view(report.load(results.full(tmp_path)))
        return view(report.load(results.save(results.SUITES[name](), tmp_path, name)))

    return make


def across(element: ET.Element, name: str = "x") -> float:
    """A place across as a share of the width."""
    return float(element.attrib[name].removesuffix("%")) / 100


def of_class(drawing: Drawing, word: str) -> list[ET.Element]:
    return [each for each in drawing.root.iter() if word in each.attrib.get("class", "").split()]


def marks(drawing: Drawing) -> list[ET.Element]:
    """The inner drawings that hold a mark's shape, in their order."""
    return [each for each in drawing.root.iter("svg") if each is not drawing.root]


def test_forest_marks_stand_at_their_logarithms(seen: Callable[[str], View]) -> None:
    shown = seen("two")
    found = forest.figure(shown)
    assert found is not None
    drawing = found.panels[0].drawings[0]
    ticks = {
        float(each.text[:-1]): across(each)
        for each in of_class(drawing, "tick")
        if each.text and re.fullmatch(rf"[\d.]+{words.TIMES}", each.text)
    }
    assert {1.0, 2.0} <= ticks.keys()
    unit = (ticks[2.0] - ticks[1.0]) / math.log(2)

    def at(value: float) -> float:
        return ticks[1.0] + unit * math.log(value)

    rows = [row.speedup for row in shown.pairs[0].contrast.rows]
    wanted = [*rows, shown.pairs[0].contrast.overall]
    assert [across(each) for each in marks(drawing)] == pytest.approx(
        [at(each.ratio) for each in wanted], abs=1e-4
    )
    lines = of_class(drawing, "interval")
    assert [across(each, "x1") for each in lines] == pytest.approx(
        [at(each.low or 0) for each in wanted], abs=1e-4
    )
    assert [across(each, "x2") for each in lines] == pytest.approx(
        [at(each.high or 0) for each in wanted], abs=1e-4
    )
    (one,) = of_class(drawing, "one")
    assert across(one, "x1") == pytest.approx(ticks[1.0], abs=1e-4)
    (band,) = of_class(drawing, "band")
    assert across(band) == pytest.approx(at(1 / 1.02), abs=1e-4)
    assert across(band) + across(band, "width") == pytest.approx(at(1.02), abs=1e-4)


def test_clear_answers_are_filled_and_others_hollow(seen: Callable[[str], View]) -> None:
    shown = seen("two")
    found = forest.figure(shown)
    assert found is not None
    kinds = [each[0].attrib["class"].split()[-1] for each in marks(found.panels[0].drawings[0])]
    verdicts = [row.verdict.value for row in shown.pairs[0].contrast.rows]
    verdicts.append(shown.pairs[0].contrast.overall_verdict.value)
    assert "inconclusive" in verdicts
    assert kinds == ["hollow" if each == "inconclusive" else "clear" for each in verdicts]


def test_a_mean_over_one_architecture_is_not_shown_twice(seen: Callable[[str], View]) -> None:
    found = forest.figure(seen("single"))
    assert found is not None
    assert len(marks(found.panels[0].drawings[0])) == 1
    assert [row[0] for row in found.tables[0].rows] == ["MNIST, convolutions"]


def test_the_control_has_a_row_and_a_table_of_its_own(seen: Callable[[str], View]) -> None:
    shown = seen("several")
    assert shown.control is not None
    found = forest.figure(shown)
    assert found is not None
    drawing = found.panels[0].drawings[0]
    (line,) = (each for each in of_class(drawing, "control") if each.tag == "line")
    assert across(line, "x1") < across(line, "x2")
    assert len(found.tables) == 3
    assert not any("control" in each.label for each in shown.contenders)


def test_one_round_has_marks_but_no_intervals_and_no_order_of_time(
    seen: Callable[[str], View],
) -> None:
    shown = seen("one_round")
    keys = [each.key for each in charts.all_of(shown)]
    assert keys == ["speedup", "k80"]
    found = forest.figure(shown)
    assert found is not None
    assert not of_class(found.panels[0].drawings[0], "interval")
    assert len(marks(found.panels[0].drawings[0])) == 7


def test_rounds_stand_in_the_order_of_time_at_their_own_ratios(
    seen: Callable[[str], View],
) -> None:
    shown = seen("two")
    found = rounds.figure(shown)
    assert found is not None
    suite = shown.report.sources[0].suite
    then, now = (suite.seconds(who, "mnist_mlp") for who in (0, 1))
    logs = [math.log(a / b) for a, b in zip(then, now, strict=True)]
    places = marks(found.panels[0].drawings[0])
    assert [across(each) for each in places] == pytest.approx(
        [(n + 0.5) / 6 for n in range(6)], abs=1e-4
    )
    downs = [float(each.attrib["y"]) for each in places]
    # A straight line from the logarithm to the pixel, falling: more is higher.
    slope = (downs[1] - downs[0]) / (logs[1] - logs[0])
    assert slope < 0
    assert downs == pytest.approx([downs[0] + slope * (log - logs[0]) for log in logs], abs=0.1)


def test_sessions_apart_have_no_rounds_in_common(tmp_path: Path) -> None:
    from tests.unit.test_compare import suite
    from tfbuild import artifact, compare
    from tfbuild.bench.suite import Side

    made = [suite(results.noisy(), subjects=[who]) for who in (results.PIP, results.INTEL)]
    names = [results.save(each, tmp_path, str(n)).name for n, each in enumerate(made)]
    one, other = (Side(suite=each, subject=0) for each in made)
    found = compare.compare(one, [other], samples=names)
    shown = view(report.load(artifact.save(found, tmp_path / "x.comparison.json")))
    assert rounds.figure(shown) is None
    assert len(shown.report.sources) == 2
    assert "not interleaved" in shown.report.to_markdown()


def test_k80_bars_are_as_long_as_their_times(seen: Callable[[str], View]) -> None:
    found = k80.figure(seen("two"))
    assert found is not None
    drawing = found.panels[1].drawings[0]  # mnist_cnn, where the K80 is fastest
    widths = [across(each, "width") for each in of_class(drawing, "bar")]
    # Seconds of the study: K80 14.3919, pip 93.0143, compiled 52.8417.
    assert widths[2] / widths[3] == pytest.approx(93.0143 / 52.8417, rel=1e-3)
    line = of_class(drawing, "one")[0]
    assert widths[2] / across(line, "x1") == pytest.approx(93.0143 / 14.3919, rel=1e-3)
    assert max(widths) == pytest.approx(1)


def test_bars_of_one_wheel_are_named_by_their_settings(tmp_path: Path) -> None:
    whos = [replace(results.PIP, setting=results.with_cpus(count)) for count in (1, 2)]
    made = suite(results.noisy(), subjects=whos)
    found = k80.figure(view(report.load(results.save(made, tmp_path))))
    assert found is not None
    texts = [each.text for each in found.panels[0].drawings[0].root.iter("text")]
    assert {"1 vCPU", "2 vCPUs"} <= set(texts)


@pytest.mark.parametrize(
    ("stopped", "said"),
    [
        (Stopped.TIME, "6 of 40, time was up"),
        (Stopped.VERDICT, "6 of 40, verdicts are clear"),
        (Stopped.PRECISION, "6 of 40, precision reached"),
        (Stopped.ROUNDS, "6 of 40"),
        (None, "6 of 40"),
    ],
)
def test_why_a_session_ended_stands_beside_its_rounds(
    tmp_path: Path, stopped: Stopped | None, said: str
) -> None:
    made = results.two()
    made = replace(made, stopped=stopped, plan=replace(made.plan, rounds=40))
    shown = view(report.load(results.save(made, tmp_path)))
    table = facts.origins(shown)
    assert table.rows[0][table.headings.index("Rounds")] == said


def test_a_script_has_no_figures_of_2017(seen: Callable[[str], View]) -> None:
    shown = seen("script")
    assert [each.key for each in charts.all_of(shown)] == ["speedup", "rounds"]
    assert "2017" not in report.Report.to_markdown(shown.report)


def test_everything_has_its_figure(seen: Callable[[str], View]) -> None:
    found = {each.key: each for each in charts.all_of(seen("full"))}
    assert list(found) == ["speedup", "rounds", "k80", "cost", "sizes", "roofline"]
    assert "on 2026-11-02" in found["cost"].remarks[0]
    assert "fastest with 8 vCPUs; cheapest with 1" in found["sizes"].remarks[0]
    assert all(figure.tables for figure in found.values())


def test_more_than_the_roof_is_explained(seen: Callable[[str], View]) -> None:
    shown = seen("full")
    plain = next(each for each in charts.all_of(shown) if each.key == "roofline")
    assert len(plain.remarks) == 1
    who = shown.contenders[0]
    achieved = who.times[0].achieved
    assert achieved is not None
    beyond = replace(who.times[0], achieved=replace(achieved, fraction=1.17))
    changed = replace(who, times=(beyond, *who.times[1:]))
    found = roofline.figure(replace(shown, contenders=(changed, *shown.contenders[1:])))
    assert found is not None
    assert "above its line" in found.remarks[1]


def test_costs_in_another_currency_name_no_k80(seen: Callable[[str], View]) -> None:
    shown = seen("full")
    changed = tuple(
        replace(
            who,
            times=tuple(
                replace(times, cost=replace(times.cost, of_k80=None))
                for times in who.times
                if times.cost is not None
            ),
        )
        for who in shown.contenders
    )
    found = costs.figure(replace(shown, contenders=changed))
    assert found is not None
    assert "K80" not in found.lead
    assert not of_class(found.panels[0].drawings[0], "one")


def test_costs_against_the_k80s(seen: Callable[[str], View]) -> None:
    shown = seen("full")
    found = next(each for each in charts.all_of(shown) if each.key == "cost")
    times = shown.contenders[0].times[0]
    assert times.cost is not None
    assert times.cost.of_k80 is not None
    drawing = found.panels[0].drawings[0]
    width = across(of_class(drawing, "bar")[0], "width")
    line = across(of_class(drawing, "one")[0], "x1")
    assert width / line == pytest.approx(times.cost.of_k80, rel=1e-3)


def test_sizes_stand_at_logarithms_across_and_times_from_zero_up(
    seen: Callable[[str], View],
) -> None:
    found = next(each for each in charts.all_of(seen("full")) if each.key == "sizes")
    drawing = found.panels[0].drawings[0]
    first = marks(drawing)[:4]  # 1, 2, 4 and 8 vCPUs
    x = [across(each) for each in first]
    assert [b - a for a, b in itertools.pairwise(x)] == pytest.approx([x[1] - x[0]] * 3, abs=1e-4)
    zero = next(float(each.attrib["y1"]) for each in of_class(drawing, "grid"))
    up = [zero - float(each.attrib["y"]) for each in first]
    seconds = [3600 * (0.2 + 0.8 / n) for n in (1, 2, 4, 8)]
    assert [each / up[0] for each in up] == pytest.approx([s / 3600 for s in seconds], abs=0.002)
    (ring, _) = of_class(drawing, "ring")
    assert across(ring, "cx") == pytest.approx(x[3])


def test_roofline_lines_meet_at_the_ridge() -> None:
    x, y = Log(low=0.1, high=100), Log(low=1, high=1000, start=300, end=0)
    peak = Peak(gflops=100, gbytes=20, product_size=1, array_bytes=1)
    left, ridge, right = roof(peak, x, y)
    assert left == pytest.approx((0, 300 - 100 * math.log10(2)))  # 0.1 op/B times 20 GB/s
    assert ridge == pytest.approx((math.log10(50) / 3, 100))  # 5 op/B, 100 GFLOP/s
    assert right == pytest.approx((1, 100))
    # A slope that leaves at the bottom, and a ridge left of all that is shown.
    steep = replace(peak, gbytes=1)
    assert roof(steep, x, y)[0] == pytest.approx((1 / 3, 300))
    assert roof(replace(peak, gbytes=5000), x, y) == [
        pytest.approx((0, 100)),
        pytest.approx((1, 100)),
    ]


def test_where_no_operations_are_counted_nothing_is_drawn(seen: Callable[[str], View]) -> None:
    found = next(each for each in charts.all_of(seen("full")) if each.key == "roofline")
    numbers = [each.text for each in of_class(found.panels[0].drawings[0], "number")]
    assert "4" not in numbers
    assert {"1", "2", "3", "5", "6"} <= set(numbers)
    row = next(each for each in found.tables[0].rows if each[0] == "IMDb, fastText")
    assert row[2] == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.93, 1.07, (0.95, 1.0, 1.05)),
        (0.7, 1.62, (0.8, 1.0, 1.2, 1.4, 1.6)),
        (0.35, 6.1, (0.5, 1.0, 2.0, 5.0)),
        (0.01, 900, (0.01, 0.1, 1.0, 10.0, 100.0)),
    ],
)
def test_logarithmic_axes_have_round_labels(
    low: float, high: float, ticks: tuple[float, ...]
) -> None:
    assert Log(low=low, high=high).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize("power", range(1, 13))
@pytest.mark.parametrize("most", [4, 5, 6])
def test_no_axis_is_crowded_or_bare(power: int, most: int) -> None:
    ticks = Log(low=10.0**-power * 0.9, high=10.0**power * 1.1).ticks(most)
    assert 2 <= len(ticks) <= max(most, 3)


@pytest.mark.parametrize("high", [0.0013, 0.9, 1.0, 7.3, 99, 123456])
def test_even_axes_begin_at_zero(high: float) -> None:
    ticks = Linear(high=high).ticks()
    assert ticks[0] == 0
    assert 3 <= len(ticks) <= 6
    assert ticks[-1] <= high * (1 + 1e-9)


def test_axes_hold_what_they_must() -> None:
    axis = scales.around([0.5, 2.0])
    assert axis.low < 0.5
    assert axis.high > 2
    assert axis.low * axis.high == pytest.approx(1)
    assert scales.around([1.0]).high / scales.around([1.0]).low >= 1.1


def test_an_endless_interval_ends_at_the_edge_with_an_arrow(tmp_path: Path) -> None:
    made = results.two(rounds=2)
    slow = tuple(
        replace(sample, epoch_seconds=(sample.epoch_seconds[0] * 3,))
        for sample in made.runs[0].samples
    )
    odd = replace(made, runs=(replace(made.runs[0], samples=slow), *made.runs[1:]))
    shown = view(report.load(results.save(odd, tmp_path)))
    found = forest.figure(shown)
    assert found is not None
    drawing = found.panels[0].drawings[0]
    assert shown.pairs[0].contrast.overall.high is not None
    assert shown.pairs[0].contrast.overall.high > 100
    ends = [each for each in of_class(drawing, "tick") if each.text == ">"]
    assert len(ends) == 7
    assert {across(each, "x2") for each in of_class(drawing, "interval")} == {across(ends[0])}


def test_nothing_without_a_place_is_drawn() -> None:
    with pytest.raises(ValueError, match="no place"):
        Drawing("k", "t", "d", 10).line(math.nan, 0, 1, 0, "x")


def test_markup_in_names_becomes_text() -> None:
    drawing = bars.draw(
        [bars.Bar(label='<script>"&', value=1.0, text="]]>", series=0)],
        key="k",
        title="<title>",
        line=None,
        line_label="",
    )
    text = drawing.to_markup()
    assert "<script" not in text
    assert ET.fromstring(text).findtext("title") == "<title>"  # noqa: S314


def test_many_candidates_have_one_row_each(tmp_path: Path) -> None:
    from tests.unit.test_compare import suite

    whos = [results.PIP] + [results.named(f"w{n}", f"wheel-{n}", "1") for n in range(9)]
    made = suite(results.noisy((1.0,) * 10), subjects=whos, rounds=3)
    shown = view(report.load(results.save(made, tmp_path)))
    found = forest.figure(shown)
    assert found is not None
    assert len(marks(found.panels[0].drawings[0])) == 9
    assert len(found.tables) == 9
    again = rounds.figure(shown)
    assert again is not None
    assert [panel.heading for panel in again.panels] == [f"wheel-{n} 1" for n in range(9)]
