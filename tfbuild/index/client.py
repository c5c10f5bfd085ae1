"""Reads a server's simple index as an installer would: the project's page, then the file."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self
from urllib.parse import urljoin

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from tfbuild.errors import PublishError
from tfbuild.index import links
from tfbuild.index.address import Server, origin
from tfbuild.index.credentials import HOW, Credentials
from tfbuild.index.links import Link
from tfbuild.progress import Progress

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
"""Without a single byte; a big file may take as long as it takes."""
_CHUNK = 2**20
_REDIRECTS = 5
_REFUSED = frozenset({401, 403})


class Client:
    """One server. Credentials go to its own origin only."""

    def __init__(self, server: Server, credentials: Credentials | None) -> None:
        self._server = server
        self._credentials = credentials
        self._session = requests.Session()
        # As twine: REQUESTS_CA_BUNDLE is honoured by requests itself.
        self._session.verify = os.environ.get("TWINE_CERT") or True
        retry = Retry(total=2, backoff_factor=0.5, status_forcelist=(502, 503, 504))
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def find(self, project: str, filename: str) -> tuple[str, Link] | None:
        """Return the simple index that lists a file, and its link; None where none does.

        Raises:
            PublishError: the server cannot be reached, refuses the credentials, or answers with
                something that is no page.
        """
        for simple_url in self._server.simple_urls:
            page = self._page(urljoin(simple_url, f"{project}/"))
            link = links.find(page, filename)
            if link is not None:
                return simple_url, link
        return None

    def sha256(self, link: Link, progress: Progress) -> str:
        """Download a file and return the digest of its bytes.

        Raises:
            PublishError: it cannot be downloaded.
        """
        with self._get(link.url, stream=True) as response:
            _check(response, self._credentials)
            total = int(response.headers.get("Content-Length") or 0) // _CHUNK or None
            progress.phase(f"Reading back {link.filename} (MiB)", total)
            digest = hashlib.sha256()
            for done, chunk in enumerate(response.iter_content(_CHUNK), start=1):
                digest.update(chunk)
                progress.step(done)
        return digest.hexdigest()

    def _page(self, url: str) -> list[Link]:
        """Return a page's links; a page that is not there has none.

        A redirect to another host is not followed: some servers send installers on to PyPI for a
        project that they do not have, and what PyPI has is not in this index.
        """
        for _ in range(_REDIRECTS):
            with self._get(url, accept=links.ACCEPT, redirects=False) as response:
                if response.is_redirect:
                    following = urljoin(url, response.headers["Location"])
                    if origin(following) != origin(url):
                        return []
                    url = following
                    continue
                if response.status_code in {404, 410}:
                    return []
                _check(response, self._credentials)
                kind = response.headers.get("Content-Type", "text/html")
                text = response.content.decode("utf-8", errors="replace")
            try:
                return links.parse(text, url=url, content_type=kind)
            except ValueError as error:
                raise PublishError(f"{url} is not a page of an index.", why=str(error)) from error
        raise PublishError(f"{url} redirects without end.")

    @contextmanager
    def _get(
        self, url: str, *, accept: str = "*/*", redirects: bool = True, stream: bool = False
    ) -> Iterator[requests.Response]:
        ours = {origin(known) for known in (self._server.upload_url, *self._server.simple_urls)}
        known = self._credentials if origin(url) in ours else None
        try:
            with self._session.get(
                url,
                # Wheels are compressed already; "identity" gives the very bytes of the file.
                headers={"Accept": accept, "Accept-Encoding": "identity"},
                auth=(known.user, known.password) if known else None,
                allow_redirects=redirects,
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                stream=stream,
            ) as response:
                yield response
        except requests.RequestException as error:
            raise PublishError(
                f"Cannot read {url}.",
                why=_reason(error),
                do="Check the address and the network, and run the same command again.",
            ) from error


def credentials_refused(
    url: str, status: int, credentials: Credentials | None, detail: str = ""
) -> PublishError:
    """Return the error for an answer 401 or 403."""
    if credentials is None:
        return PublishError(
            f"{url} wants credentials (HTTP {status}), and none were found.", why=detail, do=HOW
        )
    who = f"The user was {credentials.user!r}, the password came from {credentials.source}."
    return PublishError(
        f"{url} refused the credentials (HTTP {status}).",
        why=f"{who}\n{detail}".strip(),
        do="Correct them and run the same command again; the wheel is untouched.",
    )


def _check(response: requests.Response, credentials: Credentials | None) -> None:
    if response.status_code in _REFUSED:
        raise credentials_refused(response.url, response.status_code, credentials)
    if not response.ok:
        raise PublishError(
            f"{response.url} cannot be read.",
            why=f"The server answered {response.status_code} {response.reason}.",
        )


def _reason(error: requests.RequestException) -> str:
    match error:
        case requests.exceptions.SSLError():
            return f"The server's certificate is not trusted: {error}"
        case requests.exceptions.ConnectTimeout():
            return f"No connection within {CONNECT_SECONDS:g} s."
        case requests.exceptions.ReadTimeout():
            return f"The server sent nothing for {READ_SECONDS:g} s."
        case _:
            return str(error)
