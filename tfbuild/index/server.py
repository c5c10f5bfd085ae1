"""Uploads to a package server with twine, and reads back: no common server checks the digest."""

import os
import re
import sys
import time

from tfbuild import process
from tfbuild.errors import PublishError
from tfbuild.index.address import Server, origin
from tfbuild.index.client import Client, credentials_refused
from tfbuild.index.credentials import Credentials
from tfbuild.index.folder import refused
from tfbuild.index.links import Link
from tfbuild.index.wheelfile import WheelFile
from tfbuild.progress import Progress

UPLOAD_SECONDS = 6 * 3600.0
LISTED_SECONDS = 30.0
"""How long a server may take to list what it has accepted."""
_POLL_SECONDS = 0.5
_PYPI = frozenset({"pypi.org", "upload.pypi.org", "test.pypi.org", "pypi.python.org"})
_STATUS = re.compile(r"HTTPError: (\d{3})")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SAID = 2000
_MAYBE_THERE = frozenset({400, 409})


def add(
    server: Server, wheel: WheelFile, credentials: Credentials | None, progress: Progress
) -> tuple[bool, str, str]:
    """Upload a wheel unless it is there.

    Returns:
        Whether it is new there; the URL of the file; the URL of the simple index that lists it.

    Raises:
        PublishError: no connection, credentials refused, other bytes under this name, or what
            came back differs.
    """
    _check_label(server, wheel)
    with Client(server, credentials) as client:
        there = client.find(wheel.project, wheel.filename)
        new = there is None and _upload(server, wheel, credentials, client, progress)
        found = there or _wait_until_listed(server, wheel, client)
        _verify(wheel, found[1], client, progress, new=new)
    return new, found[1].url, found[0]


def _check_label(server: Server, wheel: WheelFile) -> None:
    if wheel.label and origin(server.upload_url)[1] in _PYPI:
        raise PublishError(
            f"PyPI does not take {wheel.filename}.",
            why=f"It takes no local versions, and {wheel.label!r} is one.",
            do="Publish to an index of your own: --index DIR, or a server such as pypiserver.",
        )


def _upload(
    server: Server,
    wheel: WheelFile,
    credentials: Credentials | None,
    client: Client,
    progress: Progress,
) -> bool:
    """Run twine; return False if the server meanwhile had the file from somebody else."""
    progress.phase(f"Uploading {wheel.filename} ({wheel.size / 2**20:.1f} MiB)")
    args = [sys.executable, "-P", "-m", "twine", "upload", "--non-interactive"]
    args += ["--disable-progress-bar", "--repository-url", server.upload_url, "--"]
    try:
        process.run([*args, wheel.path], env=_environment(credentials), timeout=UPLOAD_SECONDS)
    except process.ProcessError as error:
        found = _STATUS.search(_output(error))
        status = int(found[1]) if found else None
        if status in _MAYBE_THERE and client.find(wheel.project, wheel.filename):
            return False
        raise _failure(server, wheel, credentials, error, status) from None
    return True


def _environment(credentials: Credentials | None) -> dict[str, str]:
    """Return twine's environment; it insists on credentials even where a server wants none."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("TWINE_REPO")}
    return {
        **own,
        "TWINE_USERNAME": credentials.user if credentials else "anonymous",
        "TWINE_PASSWORD": credentials.password if credentials else "anonymous",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }


def _output(error: process.ProcessError) -> str:
    done = error.completed
    return f"{done.stdout}\n{done.stderr}" if done else error.why


def _failure(
    server: Server,
    wheel: WheelFile,
    credentials: Credentials | None,
    error: process.ProcessError,
    status: int | None,
) -> PublishError:
    said = _said(_output(error), credentials)
    if status in {401, 403}:
        return credentials_refused(server.upload_url, status, credentials, said)
    advice = "The wheel is untouched; run the same command again when the cause is gone."
    if status in {404, 405}:
        advice = "Check that --index is the URL that takes uploads, not the one that pip reads."
    if status == 413:  # noqa: PLR2004 - Content Too Large
        advice = "Raise the server's limit for request bodies (nginx: client_max_body_size)."
    return PublishError(f"{server.upload_url} did not take {wheel.filename}.", why=said, do=advice)


def _said(output: str, credentials: Credentials | None) -> str:
    """Return twine's error alone: no colours, no control characters of a server's, no secret."""
    lines = [_COLOUR.sub("", line).strip() for line in output.splitlines()]
    start = next((i for i, line in enumerate(lines) if line.startswith("ERROR")), 0)
    kept = [line.removeprefix("ERROR").strip() for line in lines[start:] if line]
    text = "\n".join("".join(c for c in line if c.isprintable()) for line in kept)[-_SAID:]
    return text.replace(credentials.password, "***") if credentials else text


def _wait_until_listed(server: Server, wheel: WheelFile, client: Client) -> tuple[str, Link]:
    deadline = time.monotonic() + LISTED_SECONDS
    while True:
        found = client.find(wheel.project, wheel.filename)
        if found is not None:
            return found
        if time.monotonic() > deadline:
            raise PublishError(
                f"{server.upload_url} accepted {wheel.filename}, but no page lists it.",
                why="Looked below " + " and ".join(server.simple_urls),
                do="Give the URL that pip reads from with --simple-url.",
            )
        time.sleep(_POLL_SECONDS)


def _verify(wheel: WheelFile, link: Link, client: Client, progress: Progress, *, new: bool) -> None:
    """Compare what the page claims, then what the server really gives."""
    claimed = link.sha256 or wheel.sha256
    found = claimed if claimed != wheel.sha256 else client.sha256(link, progress)
    if found == wheel.sha256:
        return
    if not new:
        raise refused(wheel, found, link.url)
    raise PublishError(
        f"{link.url} is not what was uploaded.",
        why=f"It came back with sha256 {found}; {wheel.path} has {wheel.sha256}.",
        do="Remove the file from the server, then find out what changed it on the way.",
    )
