"""Bars from zero, each under its own name, against one line: fits any width."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild.report.scales import Linear
from tfbuild.report.svg import Drawing, series_class

HEAD, ROW, FOOT = 20, 36, 4
_ROOM = 0.2
"""Share of the width that the line's name needs."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar."""

    label: str
    value: float
    text: str
    series: int | None
    """None for what was not measured here."""


def draw(
    bars: Sequence[Bar], *, key: str, title: str, line: float | None, line_label: str
) -> Drawing:
    """Return the drawing.

    Args:
        bars: at least one, values not negative.
        key: begins the names of elements.
        title: says what is shown.
        line: value at which a line goes down through all bars; None for no line.
        line_label: its name.
    """
    described = "; ".join(f"{bar.label}: {bar.text}" for bar in bars)
    height = HEAD + ROW * len(bars) + FOOT
    drawing = Drawing(key, title, f"{described}.", height)
    x = Linear(high=max([*(bar.value for bar in bars), line or 0]) or 1.0)
    for place, bar in enumerate(bars):
        y = HEAD + ROW * place
        kind = "past" if bar.series is None else series_class(bar.series)
        drawing.box(0, y + 20, x(bar.value), y + 31, f"bar {kind}")
        if line is not None:
            # In pieces, so that it crosses no letter.
            drawing.rule(x(line), y + 18, y + 33, "one")
    if line is not None:
        anchor = "end" if x(line) > 1 - _ROOM else "start" if x(line) < _ROOM else "middle"
        drawing.text(x(line), HEAD - 8, line_label, "tick", anchor=anchor)
    for place, bar in enumerate(bars):
        drawing.labelled(HEAD + ROW * place + 14, bar.label, bar.text)
    return drawing
