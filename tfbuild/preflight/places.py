"""The outside places that a build takes something from, as addresses that can be tried."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tfbuild import mirrors, plan

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe
    from tfbuild.remote import Remote

DEBIAN = "http://deb.debian.org/debian"
DOCKER_HUB = "registry-1.docker.io"
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


@dataclass(frozen=True, kw_only=True)
class Place:
    """One address."""

    what: str
    url: str
    do: str
    """How to have something else in its place."""
    is_file: bool = False
    """The address is that of the very thing, which has to be there."""
    is_certain: bool = True
    """False: it may turn out that nothing is taken from there."""
    is_open_to_all: bool = True
    """False: it wants certificates or passwords, so it is only connected to."""


@dataclass(frozen=True, kw_only=True)
class _Kind:
    option: str
    is_file: bool = False
    is_certain: bool = True


_KINDS = {
    "system packages": _Kind(option="--apt-mirror"),
    "Clang, if the system has none": _Kind(option="--llvm-mirror", is_certain=False),
    "Python packages": _Kind(option="--pip-index"),
    "Bazel": _Kind(option="--bazel-mirror or --bazel", is_file=True),
    "Bazel, if Bazelisk lacks it": _Kind(
        option="--bazel-mirror or --bazel", is_file=True, is_certain=False
    ),
    "TensorFlow source": _Kind(option="--source", is_file=True),
}
_OTHER = _Kind(option="", is_certain=False)


def of(
    recipe: "Recipe",
    *,
    is_local: bool,
    is_bundled: bool,
    has_toolchain: bool,
    led: Mapping[str, str],
) -> Iterator[Place]:
    """Yield what `plan.outside` names, less what is here already.

    Args:
        recipe: what is built.
        is_local: without a container.
        is_bundled: with the rehearsal's workspace as source.
        has_toolchain: all that comes before the compile is here.
        led: mirrors, host -> address that takes its place.
    """
    for outside in plan.outside(recipe, is_local=is_local, is_bundled=is_bundled, mirrors=led):
        kind = _KINDS.get(outside.what, _OTHER)
        if has_toolchain and outside.what in _KINDS:
            continue
        if outside.what == "base image":
            continue  # The engine fetches it, and is asked itself.
        for url in _addresses(outside):
            # A git server need not answer at the address of a repository itself.
            is_file = kind.is_file and "#" not in outside.where
            yield Place(
                what=outside.what,
                url=mirrors.rewrite(url, led) if url == DEBIAN else url,
                is_file=is_file,
                is_certain=kind.is_certain and url != DEBIAN,
                do=_remedy(kind),
            )


def of_remote(remote: "Remote") -> Iterator[Place]:
    """Yield the servers that share results or do the work."""
    for what, url in remote.servers.items():
        # Bazel goes on without a cache behind http, and not without one behind gRPC.
        is_certain = url.startswith(("grpc:", "grpcs:")) and not remote.local_fallback
        do = "Start it, or build without it, or let Bazel do so: --remote-local-fallback"
        yield Place(what=what, url=url, do=do, is_certain=is_certain, is_open_to_all=False)


def registry(image: str) -> str:
    """Return the host of the registry that an image comes from."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return DOCKER_HUB if first in {"docker.io", "index.docker.io"} else first
    return DOCKER_HUB


def _addresses(outside: plan.Outside) -> Iterator[str]:
    if outside.what == "system packages" and "://" not in outside.where:
        # What the image really names is known in the image only; Debian's is the likely one.
        yield DEBIAN
    else:
        for word in outside.where.split(", "):
            address = word.partition("#")[0]
            if _HOST.fullmatch(word):
                yield f"https://{word}"
            elif "://" in address and urlsplit(address).hostname:
                yield address


def _remedy(kind: _Kind) -> str:
    if kind.option:
        return f"Check the network, or name another place: {kind.option}"
    return "Check the network. What the cache holds already is not fetched again."
