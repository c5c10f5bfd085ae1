"""Mirrors of whole hosts (`--mirror HOST=URL`): every address of a build can be led elsewhere.

They belong to a run and not to a recipe: the same hashes are checked, so the same is built.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tfbuild.errors import UsageError

if TYPE_CHECKING:
    from tfbuild.engine.base import Setup

VARIABLE = "TFBUILD_MIRROR"
"""Tells the steps of a toolchain, as it tells the command line: HOST=URL, with spaces between."""
ANY = "*"
"""In place of a host: every other one; its name becomes the first folder of the mirror's."""
PYPI, HUB = "pypi.org", "docker.io"
_CONFIG = "downloader.cfg"
_HOST = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?")
_SECRET = re.compile(r"//[^/@]*@")
# Bazel has had this name since 3.x, and still understands it in version 8.
_OPTION = f"build --experimental_downloader_config={{setup}}/{_CONFIG}\n"


def parse(words: Iterable[str]) -> dict[str, str]:
    """Read what a user wrote: host -> address of its mirror, without a slash at its end.

    Raises:
        UsageError: a word is not HOST=URL, its address cannot be used or holds credentials, or a
            host has two mirrors.
    """
    from tfbuild.recipe import sources

    found: dict[str, str] = {}
    for word in words:
        host, equals, address = word.partition("=")
        host = host.strip().lower()
        if not equals or not (host == ANY or _HOST.fullmatch(host)):
            raise UsageError(
                f"--mirror: {sources.shown(_SECRET.sub('//...@', word))} is not HOST=URL.",
                why="HOST is a name like github.com, or * for every other one.",
                do="Example: --mirror github.com=https://mirror.example/github",
            )
        url = sources.url(address.strip(), f"--mirror {host}")
        if found.setdefault(host, url) != url:
            raise UsageError(f"--mirror: {host} has two mirrors: {found[host]} and {url}.")
    return found


def of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the mirrors that an environment names."""
    return dict(word.split("=", 1) for word in environment.get(VARIABLE, "").split())


def rewrite(address: str, mirrors: Mapping[str, str]) -> str:
    """Return where an http or https address is led; the same address if it has no mirror."""
    found = re.fullmatch(r"https?://([^/#]+)(.*)", address, re.DOTALL)
    if not found:
        return address
    host, rest = found[1].lower(), found[2]
    if host in mirrors:
        return mirrors[host] + rest
    if ANY in mirrors and host not in _own_hosts(mirrors):
        return f"{mirrors[ANY]}/{host}{rest}"
    return address


def image(name: str, mirrors: Mapping[str, str]) -> str:
    """Return the name of an image in the mirror of its registry.

    Docker's own registry is docker.io here, with the folder library/ that its users leave out.
    """
    first, slash, rest = name.partition("/")
    if not (slash and (set(".:") & set(first) or first == "localhost")):
        first, rest = HUB, name if slash else f"library/{name}"
    led = rewrite(f"https://{first}/{rest}", mirrors)
    return name if led == f"https://{first}/{rest}" else led.partition("://")[2]


def setup(mirrors: Mapping[str, str]) -> "Setup":
    """Return the part of a run's setup that leads its addresses to the mirrors."""
    from tfbuild.engine.base import NO_SETUP, Setup

    if not mirrors:
        return NO_SETUP
    environment = {VARIABLE: " ".join(f"{host}={url}" for host, url in mirrors.items())}
    index = f"https://{PYPI}/simple"
    led = rewrite(index, mirrors)
    if led != index:
        environment |= {"PIP_INDEX_URL": led, "UV_DEFAULT_INDEX": led}
    if led.startswith("http://"):
        environment["PIP_TRUSTED_HOST"] = urlsplit(led).netloc
    return Setup(environment=environment, rc=_OPTION, files={_CONFIG: config(mirrors).encode()})


def config(mirrors: Mapping[str, str]) -> str:
    """Return Bazel's downloader configuration.

    A pattern has to fit everything after "https://"; what replaces it may bring a scheme of its
    own (bazelbuild/bazel, UrlRewriter.java; pull request 13115).
    """
    lines = [
        f"rewrite {re.escape(host)}/(.*) {url}/$1\n" for host, url in mirrors.items() if host != ANY
    ]
    if ANY in mirrors:
        others = "|".join(re.escape(host) for host in sorted(_own_hosts(mirrors)))
        lines.append(f"rewrite (?!(?:{others})/)(.*) {mirrors[ANY]}/$1\n")
    return "".join(lines)


def _own_hosts(mirrors: Mapping[str, str]) -> set[str]:
    """Return hosts that the mirror of every other host is not for."""
    return {urlsplit(url).netloc.lower() for url in mirrors.values()} | (set(mirrors) - {ANY})
