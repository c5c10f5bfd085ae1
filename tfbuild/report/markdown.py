"""The report as GitHub's Markdown: for pull requests and step summaries."""

import re
from collections.abc import Iterator, Sequence

from tfbuild.report import charts, facts, sentences, words
from tfbuild.report.figure import Table
from tfbuild.report.value import Report
from tfbuild.report.view import View, view

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_SHOWN = ("speedup",)
"""Figures whose tables are shown; the others' are folded."""
_LEFT_OUT = ("rounds",)


def render(report: Report) -> str:
    """Return the text; it ends in a newline."""
    return "\n".join(_lines(view(report))) + "\n"


def escaped(text: str) -> str:
    """Return a text of which Markdown makes no markup, no mention and no link."""
    text = words.safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(r"\\\1", text)
    # An empty comment within keeps GitHub from notifying people, and from linking addresses.
    return text.replace("@", "@<!-- -->").replace("://", ":<!-- -->//")


def _lines(seen: View) -> Iterator[str]:
    yield f"### {escaped(sentences.headline(seen))}"
    yield ""
    yield escaped(sentences.basis(seen))
    for note in seen.report.comparison.notes:
        yield ""
        yield escaped(note)
    for warned in sentences.warnings(seen):
        about = f" ({'; '.join(warned.who)})" if warned.who else ""
        concern = warned.concern
        yield ""
        yield f"> **{escaped(concern.kind + about)}:** {escaped(f'{concern.what} {concern.do}')}"
    for figure in charts.all_of(seen):
        if figure.key in _LEFT_OUT:
            continue
        yield ""
        if figure.key in _SHOWN:
            yield from _tables(figure.tables)
        else:
            remarks = figure.remarks if figure.key == "cost" else ()
            yield from _folded(figure.heading, figure.tables, remarks)
    yield ""
    yield from _folded("Measured with", (facts.environments(seen),), _reproduce(seen))


def _reproduce(seen: View) -> Iterator[str]:
    for source in seen.report.sources:
        brand = source.suite.machine.brand
        yield f"{brand}; samples: {source.name}, SHA-256 {source.sha256}"
    for command in facts.commands(seen):
        yield f"Repeat it with: {command}"


def _folded(
    heading: str, tables: Sequence[Table], remarks: Iterator[str] | tuple[str, ...]
) -> Iterator[str]:
    yield f"<details><summary>{escaped(heading)}</summary>"
    yield ""
    yield from _tables(tables)
    for remark in remarks:
        yield ""
        yield escaped(remark)
    yield ""
    yield "</details>"


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    for place, table in enumerate(tables):
        if place:
            yield ""
        if len(tables) > 1:
            yield f"**{escaped(table.caption)}**"
            yield ""
        yield _row(table.headings)
        number = (
            "---:" if n and n not in table.words else "---" for n in range(len(table.headings))
        )
        yield f"| {' | '.join(number)} |"
        for row in table.rows:
            yield _row(row)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"
