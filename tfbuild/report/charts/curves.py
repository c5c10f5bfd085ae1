"""Time and cost against the number of vCPUs, and which size to take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tfbuild.report import words
from tfbuild.report.figure import Entry, Figure, Panel, Table, key
from tfbuild.report.scales import Linear, Log, around
from tfbuild.report.svg import Drawing
from tfbuild.report.view import View
from tfbuild.sweep import Curve, Point

HEIGHT, TOP, BOTTOM = 190, 26, 156
_MOST_LABELS = 6

Value = Callable[[Point], float | None]


def figure(view: View) -> Figure | None:
    """Return the curves: one panel for each architecture, the mean first."""
    curves = view.report.comparison.curves
    if not curves:
        return None
    curves = tuple(replace(each, wheel=_label(view, each.wheel)) for each in curves)
    wheels = list(dict.fromkeys(curve.wheel for curve in curves))
    names = sorted({curve.architecture for curve in curves}, key=_order(view))
    return Figure(
        key="sizes",
        heading="Which size of machine",
        lead="Time and cost of the study's training against vCPUs. A mark is filled where no "
        "other size is both faster and cheaper; a ring is round the fastest and the cheapest.",
        panels=tuple(
            _panel(view, name, [each for each in curves if each.architecture == name], wheels)
            for name in names
        ),
        tables=(_table(curves),),
        legend=tuple(Entry(series=n, label=each) for n, each in enumerate(wheels)),
        remarks=tuple(_choice(each) for each in curves if each.architecture == names[0]),
    )


def _label(view: View, spec: str) -> str:
    """Return what a spec turned out to be."""
    for each in view.contenders:
        if each.subject.spec == spec:
            return words.package(each.subject)
    return spec


def _order(view: View) -> Callable[[str], int]:
    known = ["", *view.architectures]
    return lambda name: known.index(name) if name in known else len(known)


def _choice(curve: Curve) -> str:
    parts = [f"fastest with {curve.fastest} vCPUs"]
    if curve.cheapest is not None:
        parts.append(f"cheapest with {curve.cheapest}")
        parts.append(f"worth considering: {', '.join(map(str, curve.pareto))}")
    return f"{words.title(curve.architecture)}, {curve.wheel}: {'; '.join(parts)}."


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """What stands at the axis that goes up."""

    name: str
    unit: str
    value: Value
    best: Callable[[Curve], int | None]


def _panel(view: View, name: str, curves: Sequence[Curve], wheels: Sequence[str]) -> Panel:
    time = _Kind(
        name="time", unit="seconds", value=lambda p: p.seconds, best=lambda each: each.fastest
    )
    drawings = [_draw(key(view, "sizes", name or "mean", "time"), curves, wheels, time)]
    priced = [curve for curve in curves if any(p.amount is not None for p in curve.points)]
    if priced:
        unit = priced[0].currency or "cost"
        cost = _Kind(
            name="cost", unit=unit, value=lambda p: p.amount, best=lambda each: each.cheapest
        )
        same = [curve for curve in priced if curve.currency == priced[0].currency]
        drawings.append(_draw(key(view, "sizes", name or "mean", "cost"), same, wheels, cost))
    return Panel(heading=words.title(name), drawings=tuple(drawings))


def _draw(own_key: str, curves: Sequence[Curve], wheels: Sequence[str], kind: _Kind) -> Drawing:
    drawing = Drawing(
        own_key,
        f"{words.title(curves[0].architecture)}: {kind.name} against vCPUs",
        _describe(curves, kind),
        HEIGHT,
        "chart scaled",
    )
    sizes = sorted({point.vcpus for curve in curves for point in curve.points})
    x = around(sizes, least=2.0, margin=0.08)
    found = [kind.value(point) for curve in curves for point in curve.points]
    most = max(each for each in found if each is not None)
    y = Linear(high=most * 1.1 or 1.0, start=BOTTOM, end=TOP)
    for tick in y.ticks(4):
        drawing.line(0, y(tick), 1, y(tick), "grid")
        drawing.left(y(tick) + 4, words.axis(tick))
    every = -(-len(sizes) // _MOST_LABELS)
    for size in sizes[::every]:
        drawing.text(x(size), BOTTOM + 17, str(size), "tick", anchor="middle")
    drawing.text(0.5, BOTTOM + 33, "vCPUs", "tick", anchor="middle")
    drawing.text(0, TOP - 12, kind.unit, "tick")
    for curve in curves:
        _draw_curve(drawing, curve, wheels.index(curve.wheel), (x, y), kind)
    return drawing


def _draw_curve(
    drawing: Drawing, curve: Curve, series: int, axes: tuple[Log, Linear], kind: _Kind
) -> None:
    x, y = axes
    points = [(each, found) for each in curve.points if (found := kind.value(each)) is not None]
    drawing.path([(x(each.vcpus), y(found)) for each, found in points], series, "curve")
    for each, found in points:
        is_ahead = each.vcpus in curve.pareto
        drawing.mark(x(each.vcpus), y(found), series, "clear" if is_ahead else "hollow")
        if each.vcpus == kind.best(curve):
            drawing.ring(x(each.vcpus), y(found))


def _describe(curves: Sequence[Curve], kind: _Kind) -> str:
    parts = (
        f"{curve.wheel}: "
        + ", ".join(
            f"{words.number(found)} {kind.unit} with {point.vcpus}"
            for point in curve.points
            if (found := kind.value(point)) is not None
        )
        for curve in curves
    )
    return "; ".join(parts) + "."


def _table(curves: Sequence[Curve]) -> Table:
    rows = [
        (
            words.title(curve.architecture),
            curve.wheel,
            str(point.vcpus),
            words.number(point.seconds),
            words.NONE if point.amount is None else words.money(point.amount, curve.currency or ""),
            ", ".join(_best(curve, point)) or words.NONE,
        )
        for curve in curves
        for point in curve.points
    ]
    return Table(
        caption="Time and cost of the study's training by size",
        headings=("Architecture", "Wheel", "vCPUs", "Seconds", "Cost", "Best"),
        rows=tuple(rows),
        words=frozenset({1, 5}),
    )


def _best(curve: Curve, point: Point) -> list[str]:
    found = {"fastest": curve.fastest, "cheapest": curve.cheapest}
    names = [name for name, vcpus in found.items() if vcpus == point.vcpus]
    return [*names, *(["Pareto"] if point.vcpus in curve.pareto else [])]
