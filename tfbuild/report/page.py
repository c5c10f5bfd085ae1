"""The page: one file, no script, nothing fetched."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tfbuild import __version__, resources
from tfbuild.report import charts, facts, sentences, words
from tfbuild.report.svg import GLYPHS, Drawing
from tfbuild.report.value import Report
from tfbuild.report.view import view


def whole(report: Report) -> str:
    """Return the page."""
    return _render("page.html", report)


def fragment(report: Report) -> str:
    """Return its contents with their style, for a page of somebody else's."""
    return _render("fragment.html", report)


def _render(template: str, report: Report) -> str:
    seen = view(report)
    return (
        _environment()
        .get_template(template)
        .render(
            headline=sentences.headline(seen),
            basis=sentences.basis(seen),
            notes=report.comparison.notes,
            warnings=sentences.warnings(seen),
            figures=tuple(charts.all_of(seen)),
            apart=facts.apart(seen),
            startup=facts.startup(seen),
            environments=facts.environments(seen),
            machines=tuple((each.name, facts.machine(each)) for each in report.sources),
            insides=tuple(facts.inside(seen)),
            commands=facts.commands(seen),
            origins=facts.origins(seen),
            version=__version__,
            key=f"r{report.sha256[:10]}",
            sha256=report.sha256,
            measured=_date(report),
        )
    )


def _date(report: Report) -> str:
    days = {f"{each.suite.started_at:%-d %B %Y}": None for each in report.sources}
    return ", ".join(days)


def _drawn(drawing: Drawing) -> Markup:
    # ElementTree has escaped every text in it.
    return Markup(drawing.to_markup())  # noqa: S704


def _begun(text: str) -> str:
    """Return the text with a capital at its beginning; other letters keep their case."""
    return text[:1].upper() + text[1:]


def _css(name: str) -> Markup:
    folder = resources.folder("templates") / "report"
    return Markup((folder / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _glyph(series: int) -> str:
    return GLYPHS[series % len(GLYPHS)]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(resources.folder("templates") / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: words.safe(value) if type(value) is str else value,
    )
    made.filters |= {"drawn": _drawn, "begun": _begun}
    made.globals |= {"css": _css, "glyph": _glyph, "colours": len(GLYPHS)}
    return made
