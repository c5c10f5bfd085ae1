"""Recognises in the output of a build what is not the build's fault: no network, no disk."""

import re
from collections.abc import Iterable

from tfbuild.errors import EngineError

# How apt, pip, curl, git, Python, Bazel and the engines say that a server cannot be reached.
_UNREACHABLE = re.compile(
    r"(temporary failure (?:resolving|in name resolution)"
    r"|could not resolve (?:host|'?[\w.-]+'?)"
    r"|name or service not known"
    r"|no such host"
    r"|unknown host"
    r"|network is unreachable"
    r"|failed to establish a new connection"
    r"|could not connect to"
    r"|couldn't connect to server"
    r"|failed to connect to"
    r"|cannot initiate the connection to"
    r"|connection (?:refused|timed out|reset by peer)"
    r"|dial tcp .*(?:timeout|refused|unreachable)"
    r"|i/o timeout"
    r"|connect timed out"
    r"|no route to host)",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"(https?://[^\s'\"\]\)]+|lookup [\w.-]+|resolving '[\w.-]+'|resolve host:? '?[\w.-]+"
    r"|connect to [\w.-]+(?::\d+| port \d+)?|host='[\w.-]+')",
    re.IGNORECASE,
)
_DISK = re.compile(r"no space left on device", re.IGNORECASE)
_NO_IMAGE = re.compile(
    r"(pull access denied|manifest unknown|manifest for .* not found|repository does not exist"
    r"|requested access to the resource is denied|short-name .* did not resolve)",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(
    r"(certificate[ _]verify[ _]failed|certificate verification failed|self[- ]signed certificate"
    r"|SSL certificate problem|unable to get local issuer certificate|certificate signed by unknown"
    r"|server certificate verification failed|certificate is NOT trusted|invalid peer certificate"
    r"|signer certificate|PKIX path building failed)",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"exec format error", re.IGNORECASE)
SHOWN_LINES = 8
_LONGEST = 300


def unreachable(lines: Iterable[str]) -> str | None:
    """Return the first line that tells of a server out of reach, with its place if it has one."""
    first: str | None = None
    for line in lines:
        if _UNREACHABLE.search(line):
            if _WHERE.search(line):
                return line.strip()
            first = first or line.strip()
    return first


def distrusted(lines: Iterable[str]) -> str | None:
    """Return the first line that tells of a server whose certificate is not trusted."""
    return next((line.strip() for line in lines if _CERTIFICATE.search(line)), None)


def certificate_error(line: str) -> EngineError:
    """Return the error for a server whose certificate is not trusted."""
    return EngineError(
        "A server's certificate is not trusted by what fetches from it.",
        why=line[:_LONGEST],
        do="Your network, or a mirror of yours, probably signs with a certificate authority of its "
        "own. Name its certificate: --ca-certificate FILE",
    )


def image_error(engine: str, lines: list[str], base_image: str) -> EngineError:
    """Return the error for a toolchain image that could not be built."""
    last = "\n".join(line for line in lines[-SHOWN_LINES:] if line.strip())
    if any(_DISK.search(line) for line in lines[-200:]):
        return EngineError(
            f"{engine} has no disk space left for the toolchain image.",
            why=last,
            do=f"See what takes the space with: {engine} system df",
        )
    if any(_NO_IMAGE.search(line) for line in lines[-20:]):
        return EngineError(
            f"The base image {base_image} does not exist, or its registry does not give it.",
            why=last,
            do="Name another with --base-image, for Podman in full (docker.io/library/...); one "
            "that the engine already has works offline.",
        )
    if any(_FOREIGN.search(line) for line in lines[-20:]):
        return EngineError(
            f"The base image {base_image} is for another architecture than this engine.",
            why=last,
            do="Remove it there and let the engine fetch its own, or name another: --base-image",
        )
    line = distrusted(lines[-200:])
    if line is not None:
        return certificate_error(line)
    line = unreachable(lines[-200:])
    if line is not None:
        return EngineError(
            "The container engine cannot reach a server that the toolchain image needs.",
            why=line,
            do="Check the network of containers (docker run --rm IMAGE cat /etc/resolv.conf), or "
            "name mirrors: --apt-mirror, --pip-index, --bazel, --source, --base-image.",
        )
    return EngineError(
        f"{engine} could not build the toolchain image.",
        why=last,
        do="`tfbuild render` with the same options writes the Dockerfile, to look at or change.",
    )
