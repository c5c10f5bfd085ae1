"""Reads a project's page of a simple index, HTML or JSON, as pip and uv do."""

from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPES = ("application/vnd.pypi.simple.v1+html", "text/html")
ACCEPT = f"{JSON_TYPE}, {HTML_TYPES[0]};q=0.2, {HTML_TYPES[1]};q=0.1"


@dataclass(frozen=True, kw_only=True)
class Link:
    """One file of a page."""

    filename: str
    url: str
    """Absolute, without fragment."""
    sha256: str | None
    """As the page claims, lower case; None where it claims nothing."""


def parse(text: str, *, url: str, content_type: str = "text/html") -> list[Link]:
    """Return the files of a page.

    Args:
        text: the page.
        url: where it came from, after redirects; relative links count from here.
        content_type: its Content-Type.

    Raises:
        ValueError: the page is said to be JSON and is not a project's page.
    """
    if content_type.partition(";")[0].strip().lower().endswith("json"):
        return _parse_json(text, url)
    return _parse_html(text, url)


def find(links: list[Link], filename: str) -> Link | None:
    """Return the link to a file, None when the page does not list it."""
    return next((link for link in links if link.filename == filename), None)


class _File(msgspec.Struct):
    filename: str
    url: str
    hashes: dict[str, str] = {}


class _Page(msgspec.Struct):
    files: list[_File]


def _parse_json(text: str, url: str) -> list[Link]:
    try:
        page = msgspec.json.decode(text, type=_Page)
    except msgspec.DecodeError as error:  # ValidationError is one of these
        raise ValueError(f"{url} is not a JSON page of an index: {error}") from error
    return [
        _link(file.filename, urljoin(url, file.url), file.hashes.get("sha256"))
        for file in page.files
    ]


def _parse_html(text: str, url: str) -> list[Link]:
    anchors = _Anchors(url)
    anchors.feed(text)
    anchors.close()
    links = []
    for href in anchors.hrefs:
        absolute = urlsplit(urljoin(anchors.base, href))
        algorithm, _, digest = absolute.fragment.partition("=")
        filename = unquote(absolute.path.rpartition("/")[2])
        claimed = digest if algorithm == "sha256" else None
        links.append(_link(filename, absolute._replace(fragment="").geturl(), claimed))
    return links


def _link(filename: str, url: str, sha256: str | None) -> Link:
    return Link(filename=filename, url=url, sha256=sha256.lower() if sha256 else None)


class _Anchors(HTMLParser):
    """Collects hrefs; `convert_charrefs` does not touch attributes, which are always unescaped."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = url
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if href and tag == "a":
            self.hrefs.append(href)
        elif href and tag == "base":
            self.base = urljoin(self.base, href)
