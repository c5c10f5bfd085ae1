"""Speedups with their intervals: one row for each architecture, and their mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfbuild.report import words
from tfbuild.report.figure import Figure, Panel, Table, key, legend
from tfbuild.report.scales import Log, around
from tfbuild.report.svg import Drawing
from tfbuild.report.view import Pair, View
from tfbuild.stats import Estimate, Verdict

MOST_PAIRS = 6
"""With more of them, each has one row: that of the mean."""
HEAD, ROW, GAP, FOOT = 24, 42, 26, 40
_FAR = 4.0
"""An interval may reach so many times beyond all ratios; a longer one ends in an arrow."""
_ROOM = 0.12
"""Share of the width that a word beside the line at 1 needs."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the plot."""

    label: str
    estimate: Estimate
    verdict: Verdict
    series: int
    classes: str = ""
    is_first: bool = False
    """Whether a heading goes before it."""
    heading: str = ""


def figure(view: View) -> Figure | None:
    """Return the forest plot."""
    if not view.pairs:
        return None
    rows = tuple(_rows(view))
    several = len(view.pairs) > 1
    return Figure(
        key="speedup",
        heading="How much faster",
        lead=_lead(view),
        panels=(Panel(heading="", drawings=(_draw(view, rows),)),),
        tables=tuple(_table(view, pair) for pair in (*view.pairs, *_control(view))),
        legend=legend(view.pairs) if several else (),
    )


def _lead(view: View) -> str:
    noise = words.percent(view.report.comparison.noise)
    first = view.pairs[0]
    same = all(pair.baseline is first.baseline for pair in view.pairs)
    than = first.baseline.label if same else "its baseline"
    return (
        f"Training speed relative to {than}; a line shows the 95 % interval, and the grey band "
        f"the {noise} that count as no difference. A mark is filled where the answer is clear."
    )


def _control(view: View) -> tuple[Pair, ...]:
    return () if view.control is None else (view.control,)


def _rows(view: View) -> Iterator[Row]:
    several = len(view.pairs) > 1
    if len(view.pairs) <= MOST_PAIRS:
        for name in view.architectures:
            for pair in view.pairs:
                found = next((r for r in pair.contrast.rows if r.architecture == name), None)
                if found is not None:
                    yield Row(
                        label=pair.label if several else words.title(name),
                        estimate=found.speedup,
                        verdict=found.verdict,
                        series=pair.series,
                        is_first=several and pair is view.pairs[0],
                        heading=words.title(name),
                    )
    if view.is_several or len(view.pairs) > MOST_PAIRS:
        for pair in view.pairs:
            is_first = several and pair is view.pairs[0]
            yield _overall(pair, pair.label if several else words.MEAN, is_first=is_first)
    for pair in _control(view):
        label = "Baseline against itself"
        yield _overall(pair, label, is_first=False, classes="control")


def _overall(pair: Pair, label: str, *, is_first: bool, classes: str = "mean") -> Row:
    return Row(
        label=label,
        estimate=pair.contrast.overall,
        verdict=pair.contrast.overall_verdict,
        series=0 if pair.candidate.subject.is_control else pair.series,
        classes=classes,
        is_first=is_first,
        heading=words.MEAN,
    )


def scale(rows: Sequence[Row], noise: float) -> Log:
    """Return the axis: it holds every ratio, 1 and the noise band, and most of each interval."""
    ratios = [1.0, 1 + noise, 1 / (1 + noise), *(row.estimate.ratio for row in rows)]
    least, most = min(ratios) / _FAR, max(ratios) * _FAR
    bounds = [b for row in rows for b in (row.estimate.low, row.estimate.high) if b is not None]
    return around([*ratios, *(min(max(bound, least), most) for bound in bounds)])


def _draw(view: View, rows: Sequence[Row]) -> Drawing:
    noise = view.report.comparison.noise
    x = scale(rows, noise)
    heads = sum(row.is_first for row in rows)
    bottom = HEAD + heads * GAP + len(rows) * ROW
    drawing = Drawing(
        key(view, "speedup"), "Speedup of each architecture", _describe(rows), bottom + FOOT
    )
    drawing.box(x(1 / (1 + noise)), HEAD - 4, x(1 + noise), bottom, "band")
    for tick in x.ticks():
        drawing.rule(x(tick), HEAD - 4, bottom, "grid")
        drawing.tick(x(tick), bottom + 16, f"{words.axis(tick)}{words.TIMES}")
    drawing.rule(x(1), HEAD - 4, bottom, "one")
    if x(1) > _ROOM:
        drawing.text(x(1) - 0.012, HEAD - 10, "slower", "tick", anchor="end")
    if x(1) < 1 - _ROOM:
        drawing.text(x(1) + 0.012, HEAD - 10, "faster", "tick")
    drawing.text(0.5, bottom + 34, "times as fast (logarithmic scale)", "tick", anchor="middle")
    y = float(HEAD)
    for row in rows:
        if row.is_first:
            drawing.text(0, y + 19, row.heading, "heading")
            y += GAP
        _draw_row(drawing, x, row, y)
        y += ROW
    return drawing


def _draw_row(drawing: Drawing, x: Log, row: Row, y: float) -> None:
    drawing.labelled(y + 15, row.label, words.estimate(row.estimate), letters=30)
    middle, found = y + 29, row.estimate
    if found.low is not None and found.high is not None:
        classes = f"interval {row.classes}".strip()
        drawing.interval(x(found.low), x(found.high), middle, row.series, classes)
        for bound, end in ((found.low, x.low), (found.high, x.high)):
            if x(bound) == x(end) and bound != end:
                drawing.text(
                    x(bound), middle + 4, "<" if end == x.low else ">", "tick", anchor="middle"
                )
    filled = "hollow" if row.verdict is Verdict.INCONCLUSIVE else "clear"
    drawing.mark(x(found.ratio), middle, row.series, f"{row.classes} {filled}".strip())


def _describe(rows: Sequence[Row]) -> str:
    parts = (
        f"{f'{row.heading}, ' if row.heading and row.heading != row.label else ''}{row.label}: "
        f"{words.estimate(row.estimate)}, {row.verdict.value}"
        for row in rows
    )
    return "; ".join(parts) + "."


def _table(view: View, pair: Pair) -> Table:
    found = pair.contrast
    with_bootstrap = any(row.bootstrap is not None for row in found.rows)
    rows = [
        (
            words.title(row.architecture),
            words.number(row.baseline.seconds),
            words.number(row.candidate.seconds),
            *_cells(row.speedup, row.bootstrap, with_bootstrap=with_bootstrap),
            row.verdict.value,
        )
        for row in found.rows
    ]
    if view.is_several:
        cells = _cells(found.overall, found.overall_bootstrap, with_bootstrap=with_bootstrap)
        rows.append((words.MEAN, "", "", *cells, found.overall_verdict.value))
    bootstrap = ("Bootstrap (BCa)",) if with_bootstrap else ()
    columns = ("Baseline, s", "Candidate, s", "Speedup", "95 % interval", *bootstrap)
    return Table(
        caption=f"{pair.candidate.label} against {pair.baseline.label}; seconds for one epoch"
        f"{' of the 2017 study' if found.rows[0].baseline.k80_2017 is not None else ''}",
        headings=("Architecture", *columns, "Verdict"),
        rows=tuple(rows),
        words=frozenset({len(columns) + 1}),
    )


def _cells(found: Estimate, again: Estimate | None, *, with_bootstrap: bool) -> tuple[str, ...]:
    cells = (words.ratio(found.ratio), words.interval(found))
    if not with_bootstrap:
        return cells
    return (*cells, words.NONE if again is None else words.interval(again))
