"""The page in a real Chromium: what it fetches, how it fits, and whether it can be read by all."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import html5lib
import pytest

from tests import results
from tests.conftest import need
from tfbuild import report

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (360, 1280)
NAMES = ("full", "several", "alone", "one_round", "script", "settings", "hostile")
TEXT, GRAPHICS = 4.5, 3.0
"""Least contrast by WCAG 2.2, 1.4.3 (AA) and 1.4.11."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each kind of result."""
    folder = tmp_path_factory.mktemp("pages")
    files = {
        name: results.full(folder)
        if name == "full"
        else results.save(results.SUITES[name](), folder, name)
        for name in NAMES
    }
    made = {name: folder / f"{name}.html" for name in files}
    for name, path in files.items():
        made[name].write_text(report.load(path).to_html(), encoding="utf-8")
    return made


class Window:
    """A page of the browser, and what went wrong or out in it."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, path: Path, width: int, *, scheme: Any = "light", media: Any = "screen") -> None:
        self.said.clear()
        self.asked.clear()
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(media=media, color_scheme=scheme)
        self.page.goto(path.as_uri())

    def ask(self, script: str) -> Any:
        return self.page.evaluate(script)

    def unfold(self) -> None:
        self.ask("document.querySelectorAll('details').forEach(each => { each.open = true })")


@pytest.fixture(scope="module")
def window() -> Iterator[Window]:
    chromium = shutil.which("chromium")
    need(chromium, "no chromium here (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield Window(browser.new_context(offline=True).new_page())
        browser.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_fetches_nothing_and_complains_of_nothing(
    window: Window, pages: dict[str, Path], name: str, width: int
) -> None:
    window.open(pages[name], width)
    window.unfold()
    assert window.said == []
    assert window.asked == [pages[name].as_uri()]
    assert window.ask("document.scripts.length") == 0
    assert window.ask("document.documentElement.scrollWidth") == width
    assert window.ask(OUTSIDE) == []
    assert window.ask(OVERLAPPING) == []


# Texts and drawings that reach out of the window, tables in their own boxes left aside.
OUTSIDE = """
[...document.querySelectorAll('main *')].filter(each => {
  if (each.closest('.tf-scroll table, [aria-hidden]')) return false;
  const box = each.getBoundingClientRect();
  return box.width > 0 && (box.left < 0 || box.right > innerWidth + 0.5);
}).map(each => each.outerHTML.slice(0, 120))
"""
# Texts of one drawing that lie on each other by more than a pixel.
OVERLAPPING = """
[...document.querySelectorAll('svg.chart')].flatMap(drawing => {
  const texts = [...drawing.querySelectorAll('text')];
  const boxes = texts.map(each => each.getBoundingClientRect());
  return texts.flatMap((one, i) => texts.slice(i + 1).flatMap((other, k) => {
    const a = boxes[i], b = boxes[i + 1 + k];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return across > 1 && down > 3 ? [one.textContent + ' / ' + other.textContent] : [];
  }));
})
"""


@pytest.mark.parametrize(("name", "scheme"), [("full", "light"), ("several", "dark")])
def test_axe_finds_no_fault(window: Window, pages: dict[str, Path], name: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window.open(pages[name], 360, scheme=scheme)
    window.unfold()
    found = Axe().run(window.page, options={"resultTypes": ["violations"]})
    rules = {each["id"] for each in found.response["passes"]}
    assert {"color-contrast", "svg-img-alt", "scrollable-region-focusable"} <= rules
    assert [(each["id"], each["help"]) for each in found.response["violations"]] == []


def luminance(colour: str) -> float:
    """WCAG's relative luminance of "rgb(1, 2, 3)"."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio of two colours."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    # The grey that is known to be the lightest with 4.5 on white.
    assert contrast("rgb(118, 118, 118)", "rgb(255, 255, 255)") == pytest.approx(4.54, abs=0.005)


# Each kind of text and of drawn thing once: what it is, its colour, and what lies behind it.
COLOURS = """
(() => {
  const behind = each => {
    for (let at = each; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
  };
  const found = {};
  for (const each of document.querySelectorAll('main *')) {
    const style = getComputedStyle(each), tag = each.tagName.toLowerCase();
    const name = tag + '.' + each.getAttribute('class');
    const own = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (each.closest('title, desc')) continue;
    if (tag === 'text') found[name] = ['text', style.fill, behind(each)];
    else if (tag === 'line') found[name] = ['line', style.stroke, behind(each)];
    else if (tag === 'circle') found[name] = ['line', style.stroke, behind(each)];
    else if (tag === 'path' || tag === 'rect')
      found[name] = ['line', style.stroke === 'none' ? style.fill : style.stroke, behind(each)];
    else if (own) found[name] = ['text', style.color, behind(each)];
  }
  return found;
})()
"""


@pytest.mark.parametrize(
    ("scheme", "media"), [("light", "screen"), ("dark", "screen"), ("dark", "print")]
)
def test_every_colour_stands_out(
    window: Window, pages: dict[str, Path], scheme: str, media: str
) -> None:
    window.open(pages["full"], 1280, scheme=scheme, media=media)
    window.unfold()
    found = window.ask(COLOURS)
    kinds = {name.split(".")[0] for name in found}
    assert {"text", "line", "path", "rect", "circle", "td", "h1", "summary", "pre"} <= kinds
    for name, (kind, colour, behind) in found.items():
        if name == "line.grid":
            continue  # helps the eye and says nothing: the numbers stand at the axis
        least = TEXT if kind == "text" else GRAPHICS
        assert contrast(colour, behind) >= least, (name, colour, behind)
    paper = window.ask("getComputedStyle(document.querySelector('main')).backgroundColor")
    assert (luminance(paper) < 0.05) is (scheme == "dark" and media == "screen")


def test_print_shows_what_is_folded_and_makes_pages(window: Window, pages: dict[str, Path]) -> None:
    window.open(pages["full"], 1280, media="print")
    hidden = """[...document.querySelectorAll('details td')]
        .filter(each => !each.checkVisibility({contentVisibilityAuto: true})).length"""
    assert window.ask(hidden) == 0
    window.open(pages["full"], 1280)
    assert window.ask(hidden) > 100
    made = window.page.pdf(format="A4")
    assert made.startswith(b"%PDF-")
    assert made.count(b"/Type /Page\n") >= 4


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_valid_html_and_each_drawing_says_what_it_shows(
    pages: dict[str, Path], name: str
) -> None:
    """A strict parser, which raises at the first fault of syntax."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    page = parser.parse(pages[name].read_text(encoding="utf-8"))
    ids = [each.attrib["id"] for each in page.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    drawings = [
        each
        for each in page.iter("{http://www.w3.org/2000/svg}svg")
        if "chart" in each.attrib.get("class", "")
    ]
    assert drawings
    for each in drawings:
        assert each.attrib["role"] == "img"
        named = each.attrib["aria-labelledby"].split()
        texts = {child.attrib.get("id"): child.text for child in each}
        assert [bool(texts[one]) for one in named] == [True, True]
    assert page.find("head/title").text
    assert not list(page.iter("script"))


def test_names_from_strangers_are_shown_as_they_are(window: Window, pages: dict[str, Path]) -> None:
    window.open(pages["hostile"], 1280)
    assert window.said == []
    shown = window.ask("document.querySelector('h1').textContent")
    assert '"><script>alert(1)' in shown
    assert '"><script>alert(1)</script>' in window.ask("document.querySelector('pre').textContent")
    assert window.ask("document.querySelectorAll('script, iframe, object, embed, img').length") == 0
    on = """[...document.querySelectorAll('*')].flatMap(each => each.getAttributeNames())
        .filter(name => name.startsWith('on'))"""
    assert window.ask(on) == []
