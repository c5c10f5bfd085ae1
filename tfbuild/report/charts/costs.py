"""What the study's training costs with each contender."""

from tfbuild.cost import Cost
from tfbuild.report import words
from tfbuild.report.charts.bars import Bar, draw
from tfbuild.report.figure import Figure, Panel, Table, key
from tfbuild.report.view import Contender, View

MOST = 8
"""Contenders in a figure; the table holds all."""

Priced = list[tuple[Contender, Cost]]


def figure(view: View) -> Figure | None:
    """Return the bars, one panel for each architecture that has a price."""
    found = {name: _priced(view, name) for name in view.architectures}
    found = {name: priced for name, priced in found.items() if priced}
    if not found:
        return None
    prices = list(dict.fromkeys(cost.price for priced in found.values() for _, cost in priced))
    has_k80 = any(cost.of_k80 for priced in found.values() for _, cost in priced)
    return Figure(
        key="cost",
        heading="What it costs",
        lead="Cost of training as the study did, all epochs; shorter is better."
        + (" The line is the K80's run of 2017 at its price of then." if has_k80 else ""),
        panels=tuple(_panel(view, name, priced) for name, priced in found.items()),
        tables=(_table(found),),
        remarks=tuple(f"Price: {words.price(each)}" for each in prices),
    )


def _priced(view: View, name: str) -> Priced:
    """Return who has a cost; one currency only, since bars of two do not compare."""
    found: Priced = []
    for each in view.contenders:
        times = each.of(name)
        if times is not None and times.cost is not None:
            found.append((each, times.cost))
    return [(who, cost) for who, cost in found if cost.price.currency == found[0][1].price.currency]


def _panel(view: View, name: str, priced: Priced) -> Panel:
    title = words.title(name)
    k80 = [cost.amount / cost.of_k80 for _, cost in priced if cost.of_k80]
    drawing = draw(
        [
            Bar(label=who.short, value=cost.amount, text=_text(cost), series=who.series)
            for who, cost in priced[:MOST]
        ],
        key=key(view, "cost", name),
        title=f"{title}: cost of the study's training",
        line=k80[0] if k80 else None,
        line_label="K80",
    )
    return Panel(heading=title, drawings=(drawing,))


def _text(cost: Cost) -> str:
    relative = "" if cost.of_k80 is None else f" · {words.percent(cost.of_k80)}"
    return f"{words.money(cost.amount, cost.price.currency)}{relative}"


def _table(found: dict[str, Priced]) -> Table:
    rows = [
        (
            words.title(name),
            who.label,
            words.number(cost.seconds),
            words.money(cost.amount, cost.price.currency),
            words.NONE if cost.of_k80 is None else words.percent(cost.of_k80),
            cost.price.as_of.isoformat(),
        )
        for name, priced in found.items()
        for who, cost in priced
    ]
    return Table(
        caption="Cost of the study's training",
        headings=("Architecture", "With", "Seconds", "Cost", "Of the K80's", "Price of"),
        rows=tuple(rows),
        words=frozenset({1}),
    )
