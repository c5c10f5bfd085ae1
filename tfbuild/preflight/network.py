"""Whether each outside place answers, asked side by side and through the proxies that are set."""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from tfbuild import mirrors
from tfbuild.engine import certificates
from tfbuild.errors import EngineError
from tfbuild.preflight import places
from tfbuild.preflight.finding import Finding, failure, ok, warning
from tfbuild.preflight.inquiry import Inquiry
from tfbuild.preflight.places import Place

SECONDS = 4.0
"""For a connection, and again for the answer."""
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")
_SKEW = timedelta(hours=1)
_PROXY_WANTS_PASSWORD = 407
_NOT_THERE = frozenset({401, 403, 404, 410, 451})
_SERVER_ERROR = 500
_NO_HEAD = 501


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back from an address."""

    trouble: str = ""
    """Why nothing came back, or why it cannot be used."""
    is_untrusted: bool = False
    """Something answers, but this machine does not trust its certificate."""
    is_passing: bool = False
    """It is an error that may be gone in a minute."""
    date: datetime | None = None
    """The server's clock."""


def sources(inquiry: Inquiry) -> Iterator[Finding]:
    """Try every place that the build will take something from."""
    question = inquiry.question
    if question.recipe is None:
        return
    facts = inquiry.facts()
    if not question.setup.network:
        yield ok("network", "off: nothing is fetched")
        return
    if facts is not None and facts.is_remote:
        yield ok("network", f"not seen from here: that of {facts.name}, on another machine")
        return
    found = places.of(
        question.recipe,
        is_local=inquiry.is_local,
        is_bundled=question.is_bundled,
        has_toolchain=inquiry.has_toolchain(),
        led=mirrors.of(question.setup.environment),
    )
    remote = places.of_remote(question.remote) if question.remote is not None else ()
    todo = _once([*found, *remote])
    if not todo:
        yield ok("network", "nothing is fetched")
        return
    with tempfile.TemporaryDirectory(prefix="tfbuild-") as name:
        trusted = certificates.local(question.setup, Path(name))
        environment = {**os.environ, **question.setup.environment, **trusted}
        with ThreadPoolExecutor(len(todo)) as pool:
            answers = list(pool.map(_asking(environment), todo))
    for place, answer in zip(todo, answers, strict=True):
        yield _finding(place, _in_container(inquiry, place, answer))
    yield from _clock([answer.date for answer in answers if answer.date])


def _once(found: Iterable[Place]) -> list[Place]:
    """Leave out what is not certain where something certain is asked of the same server."""
    asked: dict[str, Place] = {}
    servers: set[str] = set()
    for place in sorted(found, key=lambda place: not place.is_certain):
        server = urlsplit(place.url).netloc
        if place.is_certain or server not in servers:
            asked.setdefault(place.url, place)
        servers.add(server)
    return list(asked.values())


def ask(
    url: str, environment: Mapping[str, str], *, is_file: bool = False, seconds: float = SECONDS
) -> Answer:
    """Ask for a page's head, which costs next to nothing.

    Args:
        url: the address; other schemes than http and https are only connected to.
        environment: names the proxies, as http_proxy, HTTPS_PROXY, NO_PROXY.
        is_file: the very thing has to be there; else any answer shows a server at work.
        seconds: for the connection, and again for the answer.
    """
    # Here, not at the top: it takes a while, and other checks run meanwhile.
    import requests

    if not url.startswith(("http://", "https://")):
        return _connect(url, seconds)
    session = requests.Session()
    session.trust_env = False
    session.verify = (
        environment.get("REQUESTS_CA_BUNDLE") or environment.get("SSL_CERT_FILE") or True
    )
    try:
        response = session.head(
            url,
            timeout=(seconds, seconds),
            proxies=dict(_proxies(url, environment)),
            allow_redirects=True,
        )
    except requests.exceptions.SSLError as error:
        return Answer(trouble=_shortest(error), is_untrusted=True)
    except (requests.RequestException, OSError, ValueError) as error:
        return Answer(trouble=_why(error, _proxies(url, environment)))
    finally:
        session.close()
    return Answer(
        trouble=_status(response.status_code, is_file=is_file),
        is_passing=response.status_code >= _SERVER_ERROR,
        date=_date(response.headers.get("Date")),
    )


def _asking(environment: Mapping[str, str]) -> Callable[[Place], Answer]:
    def asking(place: Place) -> Answer:
        if not place.is_open_to_all:
            return _connect(place.url, SECONDS)
        return ask(place.url, environment, is_file=place.is_file)

    return asking


def _connect(url: str, seconds: float) -> Answer:
    import socket

    parts = urlsplit(url)
    default = {"http": 80, "grpc": 80, "grpcs": 443, "ssh": 22, "git": 9418}.get(parts.scheme, 443)
    try:
        address = (parts.hostname or "", parts.port or default)
        socket.create_connection(address, timeout=seconds).close()
    except OSError as error:
        return Answer(trouble=_why(error, {}))
    return Answer()


def _proxies(url: str, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the proxies that hold for the address, as requests wants them."""
    from requests.utils import should_bypass_proxies

    def named(name: str) -> str:
        return environment.get(name) or environment.get(name.upper()) or ""

    if should_bypass_proxies(url, no_proxy=named("no_proxy") or "localhost,127.0.0.1"):
        return {}
    found = {scheme: named(f"{scheme}_proxy") or named("all_proxy") for scheme in ("http", "https")}
    # curl takes one without a scheme for http; requests would not read it.
    return {
        scheme: proxy if "://" in proxy else f"http://{proxy}"
        for scheme, proxy in found.items()
        if proxy
    }


def _in_container(inquiry: Inquiry, place: Place, answer: Answer) -> Answer:
    """Return what the answer means for a container: its loopback is not this machine's."""
    host = urlsplit(place.url).hostname or ""
    if inquiry.is_local or not _LOOPBACK.fullmatch(host):
        return answer
    return Answer(trouble=answer.trouble or f"In a container, {host} is the container itself.")


def _finding(place: Place, answer: Answer) -> Finding:
    host = urlsplit(place.url).netloc
    if not answer.trouble:
        return ok("network", f"{place.what}: {host} answers")
    what = f"{place.what}: {host} cannot be reached."
    if answer.is_untrusted:
        what = f"{place.what}: {host} has a certificate that this machine does not trust."
    if answer.is_passing:
        what = f"{place.what}: {host} does not serve."
    if place.is_certain and not answer.is_untrusted and not answer.is_passing:
        error = EngineError(what, why=f"{place.url}: {answer.trouble}", do=place.do)
        return failure("network", error)
    return warning("network", what, why=f"{place.url}: {answer.trouble}", do=place.do)


def _status(code: int, *, is_file: bool) -> str:
    """Return what is wrong with a status, "" for one that shows a server at work."""
    if code == _PROXY_WANTS_PASSWORD:
        return "the proxy wants a name and a password (407)."
    if is_file and code in _NOT_THERE:
        return f"it is not to be had there ({code})."
    if code >= _SERVER_ERROR and code != _NO_HEAD:
        return f"it answers with an error of its own ({code})."
    return ""


def _date(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _clock(dates: list[datetime]) -> Iterator[Finding]:
    """Compare this machine's clock with those of the servers: certificates hold for a time."""
    if not dates:
        return
    now = datetime.now(UTC)
    apart = min(abs(date - now) for date in dates)
    if apart > _SKEW:
        yield warning(
            "clock",
            f"This machine's clock says {now:%Y-%m-%d %H:%M} UTC; servers differ by {apart}.",
            why="apt and TLS refuse what seems to come from the future.",
            do="Set it: sudo timedatectl set-ntp true",
        )
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC, as servers have it")


def _why(error: BaseException, proxies: Mapping[str, str]) -> str:
    text = str(error)
    for pattern, meaning in (
        (r"NameResolution|Name or service|name resolution|getaddrinfo", "its name is not known."),
        (r"refused", "the connection is refused."),
        (r"timed out|Timeout", f"no answer within {SECONDS:g} s."),
    ):
        if re.search(pattern, text):
            through = ", ".join(sorted({_plain(proxy) for proxy in proxies.values()}))
            return f"{meaning} (through the proxy {through})" if through else meaning
    return _shortest(error)


def _plain(proxy: str) -> str:
    """Return a proxy's address without the password that it may hold."""
    scheme, mark, rest = proxy.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _shortest(error: BaseException) -> str:
    """Return the innermost reason of an error that wraps others; never an address with a secret."""
    text = re.sub(r"[^/\s@]*@", "", str(error))
    return re.sub(r".*(?:: |Error\()", "", text).strip("')\" ")[:200] or type(error).__name__
