"""A few SVG elements, enough for calm figures.

Positions across are shares of the width (0 to 1), positions down are pixels. So one drawing fits a
phone and a wide screen, and its letters keep their size on both. Elements are made by ElementTree,
which escapes whatever a stranger's file brings.
"""

import itertools
import math
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from tfbuild.report.words import cut, safe

GLYPHS = (
    "M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5Z",
    "M-4.5-4.5H4.5V4.5H-4.5Z",
    "M0-6L6 0L0 6L-6 0Z",
    "M0-6L5.5 4.5H-5.5Z",
)
"""One shape for each series, so that none depends on its colour alone."""
_ENDS = {"start": 0.03, "end": 0.97}


class Drawing:
    """One figure. `classes` are names of the style sheet."""

    def __init__(
        self, key: str, title: str, description: str, height: float, classes: str = "chart"
    ) -> None:
        self.root = ET.Element(
            "svg",
            {
                "class": classes,
                "role": "img",
                "aria-labelledby": f"{key}-t {key}-d",
                "width": "100%",
                "height": pixels(height),
            },
        )
        self.height = height
        for tag, letter, text in (("title", "t", title), ("desc", "d", description)):
            element = ET.SubElement(self.root, tag, {"id": f"{key}-{letter}"})
            element.text = safe(text)

    def line(self, x1: float, y1: float, x2: float, y2: float, classes: str) -> None:
        """Draw a straight line."""
        self._add("line", classes, x1=share(x1), y1=pixels(y1), x2=share(x2), y2=pixels(y2))

    def rule(self, x: float, y1: float, y2: float, classes: str) -> None:
        """Draw a line straight down."""
        self.line(x, y1, x, y2, classes)

    def box(self, x1: float, y1: float, x2: float, y2: float, classes: str) -> None:
        """Fill a rectangle."""
        width, height = share(max(0.0, x2 - x1)), pixels(y2 - y1)
        self._add("rect", classes, x=share(x1), y=pixels(y1), width=width, height=height)

    def text(
        self, x: float, y: float, text: str, classes: str = "", *, anchor: str = "start"
    ) -> None:
        """Write one line; `y` is its base line."""
        given = {"text_anchor": anchor} if anchor != "start" else {}
        element = self._add("text", classes, x=share(x), y=pixels(y), **given)
        element.text = safe(text)

    def tick(self, x: float, y: float, text: str) -> None:
        """Write the label of a tick, turned inwards at either end so that it is not cut off."""
        anchor = "start" if x < _ENDS["start"] else "end" if x > _ENDS["end"] else "middle"
        self.text(x, y, text, "tick", anchor=anchor)

    def mark(self, x: float, y: float, series: int, classes: str = "") -> None:
        """Draw the sign of a series, its middle at the place given."""
        inner = ET.SubElement(
            self.root, "svg", {"x": share(x), "y": pixels(y), "overflow": "visible"}
        )
        names = f"mark {series_class(series)} {classes}".strip()
        ET.SubElement(inner, "path", {"class": names, "d": GLYPHS[series % len(GLYPHS)]})

    def ring(self, x: float, y: float) -> None:
        """Draw a circle around a mark."""
        self._add("circle", "ring", cx=share(x), cy=pixels(y), r="9")

    def interval(self, low: float, high: float, y: float, series: int, classes: str) -> None:
        """Draw a level line of a series."""
        self.line(low, y, high, y, f"{classes} {series_class(series)}")

    def path(self, points: Sequence[tuple[float, float]], series: int, classes: str) -> None:
        """Join points; lines one by one, since a polyline takes no shares of the width."""
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            self.line(x1, y1, x2, y2, f"{classes} {series_class(series)}")

    def left(self, y: float, text: str) -> None:
        """Write a label left of the drawing, which must be of the class "scaled" for it."""
        element = self._add("text", "tick", x="-8", y=pixels(y), text_anchor="end")
        element.text = safe(text)

    def beside(self, x: float, y: float, text: str, *, left: bool = False) -> None:
        """Write a few letters beside a mark."""
        element = self._add("text", "number", x=share(x), y=pixels(y))
        element.attrib |= {"dx": "-9", "text-anchor": "end"} if left else {"dx": "9"}
        element.text = safe(text)

    def labelled(self, y: float, label: str, value: str, letters: int = 36) -> None:
        """Write a row's label at the left and its value at the right; the whole as a tool tip."""
        element = self._add("text", "label", x="0", y=pixels(y))
        element.text = cut(label, letters)
        if element.text != label:
            ET.SubElement(element, "title").text = safe(label)
        self.text(1.0, y, value, "value", anchor="end")

    def to_markup(self) -> str:
        """Return the element as text for an HTML page."""
        return ET.tostring(self.root, encoding="unicode")

    def _add(self, tag: str, classes: str, **attributes: str) -> ET.Element:
        given = {name.replace("_", "-"): value for name, value in attributes.items()}
        return ET.SubElement(self.root, tag, {"class": classes, **given} if classes else given)


def series_class(series: int) -> str:
    """Return the class that gives a series its colour."""
    return f"s{series % len(GLYPHS)}"


def share(value: float) -> str:
    """Return "37.5%"."""
    return f"{_short(100 * value, 3)}%"


def pixels(value: float) -> str:
    """Return a length in pixels, as an attribute has it."""
    return _short(value, 2)


def _short(value: float, digits: int) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in a drawing")
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
