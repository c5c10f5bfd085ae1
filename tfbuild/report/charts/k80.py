"""Times relative to the K80 of 2017, as the study's article shows them."""

from collections.abc import Iterator

from tfbuild.compare import Times
from tfbuild.report import words
from tfbuild.report.charts.bars import Bar, draw
from tfbuild.report.figure import Figure, Panel, Table, key
from tfbuild.report.view import View

MOST = 8
"""Contenders in a figure; the table holds all."""
PIP, COMPILED = "2017: 8 vCPUs, pip wheel", "2017: 8 vCPUs, compiled"


def figure(view: View) -> Figure | None:
    """Return the bars, one panel for each architecture."""
    names = [each.architecture for each in view.contenders[0].times if each.k80_2017 is not None]
    if not names:
        return None
    remarks = () if len(view.contenders) <= MOST else (f"The first {MOST}; all are in the table.",)
    return Figure(
        key="k80",
        heading="Against the K80 of 2017",
        lead="Training time relative to one NVIDIA K80 in the 2017 study (100 %, the line): "
        "shorter is better. The study's figures are single runs of TensorFlow 1.2 on other "
        "machines: context, no more.",
        panels=tuple(_panel(view, name) for name in names),
        tables=(_table(view, names),),
        remarks=remarks,
    )


def _panel(view: View, name: str) -> Panel:
    bars = list(_bars(view, name))
    title = words.title(name)
    drawing = draw(
        bars,
        key=key(view, "k80", name),
        title=f"{title}: training time relative to the K80",
        line=1.0,
        line_label="K80",
    )
    return Panel(heading=title, drawings=(drawing,))


def _bars(view: View, name: str) -> Iterator[Bar]:
    last = None
    for contender in view.contenders[:MOST]:
        times = contender.of(name)
        if times is not None and times.of_k80 is not None:
            yield _bar(contender.short, times.of_k80, contender.series)
            last = times
    if last is not None:
        for label, value in _past(last):
            yield _bar(label, value, None)


def _past(times: Times) -> Iterator[tuple[str, float]]:
    if times.k80_2017 is None:
        return
    for label, value in ((PIP, times.cpu_pip_2017), (COMPILED, times.cpu_compiled_2017)):
        if value is not None:
            yield label, value / times.k80_2017


def _bar(label: str, value: float, series: int | None) -> Bar:
    return Bar(label=label, value=value, text=words.percent(value), series=series)


def _table(view: View, names: list[str]) -> Table:
    rows = []
    for name in names:
        found = [each.of(name) for each in view.contenders]
        first = next(each for each in found if each is not None)
        then = (first.k80_2017, first.cpu_pip_2017, first.cpu_compiled_2017)
        now = (words.NONE if each is None else words.number(each.seconds) for each in found)
        past = (words.NONE if each is None else words.number(each) for each in then)
        rows.append((words.title(name), *now, *past))
    return Table(
        caption="Seconds for one epoch of the study",
        headings=(
            "Architecture",
            *(each.label for each in view.contenders),
            "2017: K80",
            PIP,
            COMPILED,
        ),
        rows=tuple(rows),
    )
