"""Ratios of single rounds in the order of time: whether anything drifts."""

from collections.abc import Sequence

from tfbuild.report import words
from tfbuild.report.figure import Figure, Panel, Table, key, legend
from tfbuild.report.scales import Log, around
from tfbuild.report.svg import Drawing
from tfbuild.report.view import Pair, View

MOST_PAIRS = 4
"""So many share a panel; with more, each has one panel, of its mean."""
HEIGHT, TOP, BOTTOM = 128, 10, 104
_MOST_LABELS = 8

Ratios = dict[int, float]


def figure(view: View) -> Figure | None:
    """Return the small plots: speedup over rounds."""
    pairs = [pair for pair in view.pairs if len(pair.ratios("")) > 1]
    if not pairs:
        return None
    names = [*view.architectures, *([""] if view.is_several else [])]
    panels = [_panel(view, pairs, name) for name in names]
    if len(pairs) > MOST_PAIRS:
        panels = [_panel(view, [pair], "", heading=pair.label) for pair in pairs]
    return Figure(
        key="rounds",
        heading="Round by round",
        lead="The speedup in each round of fresh processes, in the order of time. Both sides of a "
        "round ran close together, so slow drift of the machine cancels; a trend that is "
        "left here would not.",
        panels=tuple(panels),
        tables=tuple(_table(pair, names) for pair in pairs),
        legend=legend(pairs) if 1 < len(pairs) <= MOST_PAIRS else (),
    )


def _panel(view: View, pairs: Sequence[Pair], name: str, *, heading: str = "") -> Panel:
    noise = view.report.comparison.noise
    found = [(pair, pair.ratios(name)) for pair in pairs]
    heading = heading or words.title(name)
    drawing = Drawing(
        key(view, "rounds", name or "mean", *([pairs[0].series] if name == "" else [])),
        f"{heading}: speedup in each round",
        _describe(found),
        HEIGHT,
        "chart scaled",
    )
    values = [value for _, ratios in found for value in ratios.values()]
    y = around([1.0, 1 + noise, 1 / (1 + noise), *values])
    y = Log(low=y.low, high=y.high, start=BOTTOM, end=TOP)
    numbers = sorted({number for _, ratios in found for number in ratios})
    drawing.box(0, y(1 + noise), 1, y(1 / (1 + noise)), "band")
    for tick in y.ticks(4):
        drawing.line(0, y(tick), 1, y(tick), "grid")
        drawing.left(y(tick) + 4, f"{words.axis(tick)}{words.TIMES}")
    drawing.line(0, y(1), 1, y(1), "one")
    places = {number: place(index, len(numbers)) for index, number in enumerate(numbers)}
    every = -(-len(numbers) // _MOST_LABELS)
    for index, number in enumerate(numbers):
        if index % every == 0:
            drawing.text(places[number], BOTTOM + 17, str(number + 1), "tick", anchor="middle")
    for pair, ratios in found:
        _draw_series(drawing, pair.series, [(places[n], y(v)) for n, v in ratios.items()])
    return Panel(heading=heading, drawings=(drawing,))


def place(index: int, count: int) -> float:
    """Return where a round stands: in the middle of its equal share of the width."""
    return (index + 0.5) / count


def _draw_series(drawing: Drawing, series: int, points: Sequence[tuple[float, float]]) -> None:
    drawing.path(points, series, "thread")
    for x, y in points:
        drawing.mark(x, y, series, "clear small")


def _describe(found: Sequence[tuple[Pair, Ratios]]) -> str:
    parts = (
        f"{pair.label}: {', '.join(words.times_as(value) for value in ratios.values())}"
        for pair, ratios in found
    )
    return "; ".join(parts) + "."


def _table(pair: Pair, names: Sequence[str]) -> Table:
    columns = [pair.ratios(name) for name in names]
    return Table(
        caption=f"{pair.candidate.label} against {pair.baseline.label}: speedup in each round",
        headings=("Round", *(words.title(name) for name in names)),
        rows=tuple(
            (str(number + 1), *(words.times_as(column[number]) for column in columns))
            for number in columns[0]
        ),
    )
