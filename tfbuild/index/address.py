"""Which index is meant: a folder, or the URL of a server and of the pages that it serves."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from tfbuild.errors import UsageError
from tfbuild.index.credentials import HOW

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that takes uploads."""

    upload_url: str
    simple_urls: tuple[str, ...]
    """Where its simple index may be, likeliest first; each ends in "/"."""


def parse(index: str, *, simple_url: str | None = None, allow_http: bool = False) -> Path | Server:
    """Return what an `--index` means.

    Args:
        index: a folder, a file:// URL, or the http(s) URL that takes uploads.
        simple_url: where the server's simple index is, if that cannot be derived.
        allow_http: talk plain http to another machine.

    Raises:
        UsageError: another scheme, a password in the URL, plain http to another machine.
    """
    if not _SCHEME.match(index):
        return _folder(index, Path(index), simple_url)
    url = _split(index)
    if url.scheme == "file":
        return _folder(index, Path(unquote(url.path)), simple_url)
    for address in (index, simple_url):
        if address is not None:
            _check(address, allow_http=allow_http)
    derived = (simple_url.rstrip("/") + "/",) if simple_url else _derive(index)
    return Server(upload_url=index, simple_urls=derived)


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL: credentials go no further than this."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def _folder(index: str, path: Path, simple_url: str | None) -> Path:
    if not index:
        raise UsageError("The index is empty.", do="Give --index a folder or a URL.")
    if simple_url is not None:
        raise UsageError(
            f"--simple-url does not go with the folder {path}.",
            why="It says where a server's pages are.",
        )
    return path


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        # The text itself may hold a password, so it is not repeated.
        raise UsageError("The URL of the index is not a URL.", why=str(error)) from None
    return parts


def _check(address: str, *, allow_http: bool) -> None:
    url = _split(address)
    if url.username is not None or url.password is not None:
        raise UsageError(
            f"The URL of the index at {url.hostname} holds a user or a password.",
            why="Every user of this machine can read a command line, and shells remember it.",
            do=f"Take it out of the URL. {HOW}",
        )
    if url.scheme not in {"http", "https"}:
        raise UsageError(
            f"{address} cannot be uploaded to.",
            why=f"tfbuild uploads to http and https, not to {url.scheme!r}.",
            do="For a bucket, publish to a folder and copy the folder there, files/ first.",
        )
    if not url.hostname or url.query or url.fragment:
        raise UsageError(
            f"{address} is not the URL of an index.", why="It wants a host, and no '?' or '#'."
        )
    if url.scheme == "http" and not allow_http and not _is_loopback(url.hostname):
        raise UsageError(
            f"{address} is plain http to another machine.",
            why="Anybody on the way can read the password and change the wheel.",
            do="Use https, or pass --allow-http on a network that you trust.",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _derive(index: str) -> tuple[str, ...]:
    """Name the usual places: most servers have simple/ below, devpi has +simple/."""
    base = index.rstrip("/") + "/"
    if base.endswith("/legacy/"):  # the upload path of PyPI's own software
        return (base.removesuffix("legacy/") + "simple/",)
    return (base + "simple/", base + "+simple/")
