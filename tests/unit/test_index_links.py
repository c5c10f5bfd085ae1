"""Pages of other people's indexes, as they write them."""

import pytest

from tfbuild.index import links

URL = "https://host.example/root/simple/demo/"
DIGEST = "ab" * 32


@pytest.mark.parametrize(
    ("anchor", "url"),
    [
        # ours; pypiserver 2.4; Bandersnatch-like escapes; devpi; absolute on another host
        (
            "../../../files/demo-1.0%2Bx-py3-none-any.whl#sha256=",
            "https://host.example/files/demo-1.0%2Bx-py3-none-any.whl",
        ),
        (
            "/packages/demo-1.0+x-py3-none-any.whl#sha256=",
            "https://host.example/packages/demo-1.0+x-py3-none-any.whl",
        ),
        (
            "demo-1.0&#43;x-py3-none-any.whl#sha256=",
            "https://host.example/root/simple/demo/demo-1.0+x-py3-none-any.whl",
        ),
        (
            "../../+f/aa/demo-1.0%2Bx-py3-none-any.whl#sha256=",
            "https://host.example/root/+f/aa/demo-1.0%2Bx-py3-none-any.whl",
        ),
        (
            "https://cdn.example/p/demo-1.0%2Bx-py3-none-any.whl#sha256=",
            "https://cdn.example/p/demo-1.0%2Bx-py3-none-any.whl",
        ),
    ],
)
def test_html_links(anchor: str, url: str) -> None:
    page = f'<html><body><A class=x HREF="{anchor}{DIGEST.upper()}">text</A><br></body></html>'
    found = links.find(links.parse(page, url=URL), "demo-1.0+x-py3-none-any.whl")
    assert found is not None
    assert (found.url, found.sha256) == (url, DIGEST)


def test_html_without_digest_or_with_another_algorithm() -> None:
    page = (
        "<a href=a-1-py3-none-any.whl></a><a href='b-1-py3-none-any.whl#md5=00'></a><a name=x></a>"
    )
    assert [(link.filename, link.sha256) for link in links.parse(page, url=URL)] == [
        ("a-1-py3-none-any.whl", None),
        ("b-1-py3-none-any.whl", None),
    ]


def test_html_base_counts() -> None:
    page = '<head><base href="/other/"></head><a href="a-1-py3-none-any.whl">a</a>'
    assert links.parse(page, url=URL)[0].url == "https://host.example/other/a-1-py3-none-any.whl"


def test_json_page() -> None:
    page = (
        '{"meta": {"api-version": "1.1"}, "name": "demo", "files": [{"filename": "a+b.whl", '
        f'"url": "../a%2Bb.whl", "hashes": {{"sha256": "{DIGEST}"}}, "yanked": false}}]}}'
    )
    (link,) = links.parse(page, url=URL, content_type="application/vnd.pypi.simple.v1+json; x=y")
    assert (link.filename, link.url, link.sha256) == (
        "a+b.whl",
        "https://host.example/root/simple/a%2Bb.whl",
        DIGEST,
    )


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', '{"files": [{"url": "x"}]}'])
def test_json_that_is_no_page(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON page"):
        links.parse(text, url=URL, content_type=links.JSON_TYPE)
