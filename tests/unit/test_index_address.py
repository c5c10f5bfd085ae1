"""What `--index` means, and what it refuses."""

from pathlib import Path

import pytest

from tfbuild.errors import UsageError
from tfbuild.index import address
from tfbuild.index.address import Server


@pytest.mark.parametrize(
    ("index", "folder"),
    [
        ("index", "index"),
        ("/srv/my index", "/srv/my index"),
        ("file:///srv/my%20index", "/srv/my index"),
        ("http:", "http:"),
    ],
)
def test_folders(index: str, folder: str) -> None:
    assert address.parse(index) == Path(folder)


@pytest.mark.parametrize(
    ("index", "first"),
    [
        ("https://pypi.lab", "https://pypi.lab/simple/"),
        ("https://git.lab/api/v4/projects/7/packages/pypi", None),
        ("https://test.pypi.org/legacy/", "https://test.pypi.org/simple/"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/simple/"),
        ("http://[::1]:8080/", "http://[::1]:8080/simple/"),
    ],
)
def test_servers(index: str, first: str | None) -> None:
    place = address.parse(index)
    assert isinstance(place, Server)
    assert place.upload_url == index
    assert place.simple_urls[0] == (first or f"{index}/simple/")


def test_devpi_is_among_the_guesses() -> None:
    place = address.parse("https://devpi.lab/ann/dev/")
    assert isinstance(place, Server)
    assert "https://devpi.lab/ann/dev/+simple/" in place.simple_urls


def test_a_given_simple_url_is_the_only_one() -> None:
    place = address.parse("https://up.lab/", simple_url="https://down.lab/simple")
    assert isinstance(place, Server)
    assert place.simple_urls == ("https://down.lab/simple/",)


@pytest.mark.parametrize("index", ["https://ann:s3cret@pypi.lab/", "https://s3cret@pypi.lab/"])
def test_a_password_in_the_url_is_refused_and_not_repeated(index: str) -> None:
    with pytest.raises(UsageError, match="TFBUILD_INDEX_PASSWORD") as caught:
        address.parse(index)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(UsageError, match="TFBUILD_INDEX_PASSWORD"):
        address.parse("https://pypi.lab/", simple_url=index)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("", "empty"),
        ("s3://bucket/index", "publish to a folder and copy"),
        ("ftp://pypi.lab/", "not to 'ftp'"),
        ("https:///simple", "wants a host"),
        ("https://pypi.lab/?x=1", "no '\\?'"),
        ("https://pypi.lab:port/", "not a URL"),
        ("http://pypi.lab/", "--allow-http"),
        ("http://192.0.2.1/", "--allow-http"),
        ("http://localhost.evil.example/", "--allow-http"),
    ],
)
def test_other_indexes_are_refused(index: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        address.parse(index)


def test_plain_http_can_be_allowed() -> None:
    assert isinstance(address.parse("http://pypi.lab/", allow_http=True), Server)


def test_a_folder_has_no_simple_url() -> None:
    with pytest.raises(UsageError, match="--simple-url"):
        address.parse("index", simple_url="https://pypi.lab/simple/")


def test_origin_knows_default_ports() -> None:
    assert address.origin("https://Pypi.lab/x") == address.origin("https://pypi.lab:443/")
    assert address.origin("http://pypi.lab/") != address.origin("https://pypi.lab/")
