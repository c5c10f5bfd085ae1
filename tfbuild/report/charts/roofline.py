"""How close each training came to what the machine can do."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfbuild.bench.suite import Peak
from tfbuild.report import words
from tfbuild.report.figure import Figure, Panel, Table, key, legend
from tfbuild.report.scales import Log, around
from tfbuild.report.svg import Drawing
from tfbuild.report.view import Contender, View
from tfbuild.roofline import Achieved

HEIGHT, TOP, BOTTOM = 330, 24, 290
MOST = 4
"""Contenders in the drawing; the table holds all."""
_BESIDE = 0.045
"""From a mark to the middle of its number, in the narrowest drawing."""
_NEAR = (0.04, 13.0)
"""Across and down, what is nearer than this lies on each other."""


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One training in the drawing."""

    number: int
    """Of its architecture."""
    name: str
    who: Contender
    intensity: float
    gflops: float


def figure(view: View) -> Figure | None:
    """Return the roofline plot."""
    dots = list(_dots(view, view.contenders[:MOST]))
    if not dots:
        return None
    numbers = {dot.number: dot.name for dot in dots}
    named = ", ".join(f"{n} {words.title(name)}" for n, name in sorted(numbers.items()))
    several = len(view.contenders) > 1
    return Figure(
        key="roofline",
        heading="How close to the limit",
        lead="Operations a second that training reached, against what the same libraries reached "
        "here in matrix products (the flat part of a line) and in memory traffic (its slope). "
        "The distance to the line is what is left to gain at most.",
        panels=(Panel(heading="", drawings=(_draw(view, dots),)),),
        tables=(_table(view),),
        legend=legend(view.contenders[:MOST]) if several else (),
        remarks=(f"Numbers: {named}.", *_beyond(view)),
    )


def _beyond(view: View) -> tuple[str, ...]:
    found = (times.achieved for who in view.contenders for times in who.times)
    if any(each is not None and (each.fraction or 0) > 1 for each in found):
        said = (
            "Something lies above its line: the peak was measured while the machine was busier "
            "than in training, so shares of the roof are too high here."
        )
        return (said,)
    return ()


def _dots(view: View, contenders: Sequence[Contender]) -> list[Dot]:
    found = []
    for number, name in enumerate(view.architectures, start=1):
        for who in contenders:
            times = who.of(name)
            achieved = None if times is None else times.achieved
            if achieved is None or not achieved.gflops or not achieved.intensity:
                continue
            found.append(
                Dot(
                    number=number,
                    name=name,
                    who=who,
                    intensity=achieved.intensity,
                    gflops=achieved.gflops,
                )
            )
    return found


def peak(contender: Contender) -> Peak | None:
    """Return what a contender's libraries reach, where it was measured."""
    side = contender.side
    if side is None or side.subject >= len(side.suite.peaks):
        return None
    return side.suite.peaks[side.subject]


def _draw(view: View, dots: Sequence[Dot]) -> Drawing:
    peaks = {
        who.series: found
        for who in view.contenders[:MOST]
        if (found := peak(who)) is not None and found.gflops > 0 and found.gbytes > 0
    }
    ridges = [found.gflops / found.gbytes for found in peaks.values()]
    x = around([*(dot.intensity for dot in dots), *ridges], least=10.0)
    y = around([*(dot.gflops for dot in dots), *(p.gflops for p in peaks.values())], least=10.0)
    y = Log(low=y.low, high=y.high, start=BOTTOM, end=TOP)
    drawing = Drawing(
        key(view, "roofline"),
        "Operations a second against operations for each byte, both logarithmic",
        _describe(dots, peaks),
        HEIGHT,
        "chart scaled",
    )
    for tick in y.ticks(5):
        drawing.line(0, y(tick), 1, y(tick), "grid")
        drawing.left(y(tick) + 4, words.axis(tick))
    for tick in x.ticks(5):
        drawing.rule(x(tick), TOP, BOTTOM, "grid")
        drawing.tick(x(tick), BOTTOM + 17, words.axis(tick))
    drawing.text(0.5, BOTTOM + 34, "operations for each byte", "tick", anchor="middle")
    drawing.text(0, TOP - 10, "10⁹ operations a second", "tick")
    for series, found in peaks.items():
        drawing.path(roof(found, x, y), series, "roof")
    _draw_dots(drawing, [(dot, x(dot.intensity), y(dot.gflops)) for dot in dots])
    return drawing


def roof(found: Peak, x: Log, y: Log) -> list[tuple[float, float]]:
    """Return the corners of a roof, in the drawing: slope, ridge and flat part."""
    ridge = found.gflops / found.gbytes
    left = max(x.low, y.low / found.gbytes)
    corners = [(left, left * found.gbytes)] if left < ridge else []
    if x.low < ridge < x.high:
        corners.append((ridge, found.gflops))
    end = min(x.high * found.gbytes, found.gflops)
    if not corners:
        corners.append((x.low, end))
    corners.append((x.high, end))
    return [(x(a), y(b)) for a, b in corners]


def _draw_dots(drawing: Drawing, places: Sequence[tuple[Dot, float, float]]) -> None:
    taken = [(x, y) for _, x, y in places]
    for dot, x, y in places:
        drawing.mark(x, y, dot.who.series, "clear")
    for dot, x, y in places:
        right, left = (x + _BESIDE, y), (x - _BESIDE, y)
        is_left = _is_taken(right, taken) and not _is_taken(left, taken)
        taken.append(left if is_left else right)
        drawing.beside(x, y + 4, str(dot.number), left=is_left)


def _is_taken(place: tuple[float, float], others: Sequence[tuple[float, float]]) -> bool:
    across, down = _NEAR
    return any(abs(place[0] - x) < across and abs(place[1] - y) < down for x, y in others)


def _describe(dots: Sequence[Dot], peaks: dict[int, Peak]) -> str:
    roofs = (
        f"peak {words.number(each.gflops)} and {words.number(each.gbytes)} gigabytes a second"
        for each in peaks.values()
    )
    reached = (
        f"{words.title(dot.name)}, {dot.who.label}: {words.number(dot.gflops)} at "
        f"{words.number(dot.intensity)} operations for each byte"
        for dot in dots
    )
    return "; ".join([*roofs, *reached]) + "."


def _table(view: View) -> Table:
    rows = [
        (words.title(name), who.label, *_cells(times.achieved))
        for name in view.architectures
        for who in view.contenders
        if (times := who.of(name)) is not None and times.achieved is not None
    ]
    return Table(
        caption="Operations a second, 10⁹, and the share of the roof that they reach",
        headings=(
            "Architecture",
            "With",
            "Reached",
            "Roof",
            "Of the roof",
            "Limited by",
            "Weights counted",
        ),
        rows=tuple(rows),
        words=frozenset({1, 5}),
    )


def _cells(achieved: Achieved) -> tuple[str, ...]:
    numbers = (
        words.NONE if v is None else words.number(v) for v in (achieved.gflops, achieved.roof)
    )
    fraction = words.NONE if achieved.fraction is None else words.percent(achieved.fraction)
    return (*numbers, fraction, achieved.bound or words.NONE, words.percent(achieved.coverage))
