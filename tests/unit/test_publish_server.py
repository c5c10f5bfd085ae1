"""Uploads against a small index server of our own that can misbehave; twine is the real one."""

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from tests.wheels import make_wheel
from tfbuild.errors import PublishError, WheelError
from tfbuild.index.credentials import Credentials
from tfbuild.publish import Action, attempt, publish

SECRET = "correct-horse-battery"
ANN = Credentials(user="ann", password=SECRET, source="the test")


@dataclass
class Index:
    """What the server holds, how it behaves, and what it has seen."""

    files: dict[str, bytes] = field(default_factory=dict)
    simple: str = "/simple/"
    as_json: bool = False
    hide_for: int = 0
    """Page requests, after an upload, that still get the old page."""
    flip: bool = False
    """Give back other bytes than were uploaded, and claim no digest."""
    claim: str | None = None
    """Claim this digest on the page."""
    upload_status: int = 200
    elsewhere: str = ""
    """Send installers there for a project that is not here, as pypiserver does."""
    files_host: str = ""
    """Link to files on another host."""
    authorizations: dict[str, set[str | None]] = field(default_factory=dict)
    command_lines: list[str] = field(default_factory=list)
    uploads: int = 0
    url: str = ""

    def link(self, name: str) -> tuple[str, str | None]:
        """Return URL and claimed digest of a file."""
        digest = None if self.flip else self.claim or hashlib.sha256(self.files[name]).hexdigest()
        return f"{self.files_host}/files/{quote(name, safe='')}", digest


def command_lines() -> list[str]:
    """Return the command lines of this machine, as every user may read them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


class Server(ThreadingHTTPServer):
    def __init__(self, index: Index) -> None:
        self.index = index
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None: ...

    def answer(self, status: int, body: bytes, kind: str = "text/html", **more: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        index = self.server.index
        body = self.rfile.read(int(self.headers["Content-Length"]))
        index.command_lines += command_lines()
        index.authorizations.setdefault("POST", set()).add(self.headers["Authorization"])
        if index.upload_status != 200:
            # The reason phrase is what twine repeats.
            self.send_response(index.upload_status, f"no \x1b[31m\x07 {SECRET}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
            name, data = part.get_filename(), part.get_payload(decode=True)
            if name and isinstance(data, bytes):
                index.files[name] = data
        index.uploads += 1
        return self.answer(200, b"")

    def do_GET(self) -> None:
        index, where = self.server.index, unquote(self.path)
        index.authorizations.setdefault(where, set()).add(self.headers["Authorization"])
        if where == f"{index.simple}tensorflow/":
            return self.page(index)
        name = where.rpartition("/")[2]
        if where.startswith("/files/") and name in index.files:
            data = index.files[name]
            return self.answer(200, data[:-1] + b"?" if index.flip else data, "app/zip")
        return self.answer(404, b"")

    def page(self, index: Index) -> None:
        if index.elsewhere and not index.files:
            return self.answer(303, b"", Location=index.elsewhere)
        hidden = bool(index.files) and index.hide_for > 0
        index.hide_for -= hidden
        rows = [] if hidden else [(name, *index.link(name)) for name in index.files]
        return self.answer(200, *(as_json(rows) if index.as_json else as_html(rows)))


def as_json(rows: list[tuple[str, str, str | None]]) -> tuple[bytes, str]:
    files = [
        {"filename": name, "url": url, "hashes": {"sha256": digest} if digest else {}}
        for name, url, digest in rows
    ]
    text = json.dumps({"meta": {"api-version": "1.0"}, "name": "tensorflow", "files": files})
    return text.encode(), "application/vnd.pypi.simple.v1+json"


def as_html(rows: list[tuple[str, str, str | None]]) -> tuple[bytes, str]:
    links = [
        f'<a href="{url}{f"#sha256={digest}" if digest else ""}">{name}</a>'
        for name, url, digest in rows
    ]
    return "".join(links).encode(), "text/html"


def serving(index: Index) -> Iterator[Index]:
    server = Server(index)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield index
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def index() -> Iterator[Index]:
    yield from serving(Index())


@pytest.fixture
def other() -> Iterator[Index]:
    yield from serving(Index())


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return make_wheel(tmp_path, version="2.21.0+skylake")


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("simple", ["/simple/", "/+simple/"])
def test_upload_and_read_back(index: Index, wheel: Path, as_json: bool, simple: str) -> None:
    index.as_json, index.simple = as_json, simple
    (receipt,) = publish([wheel], index.url, credentials=ANN)
    assert index.files == {wheel.name: wheel.read_bytes()}
    assert receipt.action is Action.UPLOADED
    assert receipt.simple_url == index.url + simple
    assert receipt.url == f"{index.url}/files/{quote(wheel.name, safe='')}"
    (again,) = publish([wheel], index.url, credentials=ANN)
    assert again.action is Action.ALREADY_THERE
    assert index.uploads == 1


def test_the_password_is_in_no_command_line(index: Index, wheel: Path) -> None:
    publish([wheel], index.url, credentials=ANN)
    assert [line for line in index.command_lines if "twine upload" in line]
    assert not [line for line in index.command_lines if SECRET in line]


def test_a_slow_page_is_waited_for(index: Index, wheel: Path) -> None:
    index.hide_for = 2
    (receipt,) = publish([wheel], index.url, credentials=ANN)
    assert receipt.action is Action.UPLOADED


def test_a_page_that_never_lists_it(
    index: Index, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfbuild.index.server.LISTED_SECONDS", 0.0)
    index.simple = "/elsewhere/"
    with pytest.raises(PublishError, match="no page lists it") as caught:
        publish([wheel], index.url, credentials=ANN)
    assert "--simple-url" in caught.value.do
    (receipt,) = publish([wheel], index.url, simple_url=f"{index.url}/elsewhere", credentials=ANN)
    assert receipt.action is Action.ALREADY_THERE


def test_bytes_that_come_back_changed(index: Index, wheel: Path) -> None:
    index.flip = True
    with pytest.raises(PublishError, match="not what was uploaded"):
        publish([wheel], index.url, credentials=ANN)


def test_a_page_that_claims_another_digest(index: Index, wheel: Path) -> None:
    index.claim = "0" * 64
    with pytest.raises(PublishError, match="not what was uploaded"):
        publish([wheel], index.url, credentials=ANN)


def test_other_bytes_under_the_name_are_refused_before_the_upload(
    index: Index, tmp_path: Path, wheel: Path
) -> None:
    publish([wheel], index.url, credentials=ANN)
    changed = make_wheel(tmp_path / "b", version="2.21.0+skylake", files={"x.py": ""})
    with pytest.raises(PublishError, match="holds another"):
        publish([changed], index.url, credentials=ANN)
    assert index.uploads == 1
    assert index.files == {wheel.name: wheel.read_bytes()}


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials(index: Index, wheel: Path, status: int) -> None:
    index.upload_status = status
    before = wheel.read_bytes()
    with pytest.raises(PublishError, match=f"refused the credentials .HTTP {status}") as caught:
        publish([wheel], index.url, credentials=ANN)
    assert "'ann'" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert wheel.read_bytes() == before


@pytest.mark.parametrize(("status", "advice"), [(404, "--index"), (413, "body"), (500, "again")])
def test_other_refusals_say_what_to_do(index: Index, wheel: Path, status: int, advice: str) -> None:
    index.upload_status = status
    with pytest.raises(PublishError, match=str(status)) as caught:
        publish([wheel], index.url, credentials=ANN)
    assert advice in caught.value.do
    assert SECRET not in str(caught.value)
    assert "***" in caught.value.why
    assert not [c for c in str(caught.value) if not c.isprintable() and c != "\n"]


def test_a_redirect_to_another_host_is_not_this_index(
    index: Index, other: Index, tmp_path: Path
) -> None:
    """PyPI has a tensorflow 2.21.0 too; a server that points there does not hold ours."""
    plain = make_wheel(tmp_path)
    other.files[plain.name] = b"the official one"
    index.elsewhere = f"{other.url}/simple/tensorflow/"
    (receipt,) = publish([plain], index.url, credentials=ANN)
    assert receipt.action is Action.UPLOADED
    assert other.authorizations == {}


def test_credentials_stay_with_their_server(index: Index, other: Index, wheel: Path) -> None:
    other.files[wheel.name] = wheel.read_bytes()
    index.files_host = other.url
    (receipt,) = publish([wheel], index.url, credentials=ANN)
    assert receipt.url.startswith(other.url)
    assert all(None not in seen for seen in index.authorizations.values())
    assert other.authorizations == {f"/files/{wheel.name}": {None}}


def test_nobody_listens(index: Index, wheel: Path) -> None:
    with pytest.raises(PublishError, match="Cannot read"):
        publish([wheel], "http://127.0.0.1:1/", credentials=ANN)


def test_pypi_takes_no_labels(wheel: Path) -> None:
    with pytest.raises(PublishError, match="no local versions"):
        publish([wheel], "https://upload.pypi.org/legacy/", credentials=ANN)


def test_one_bad_wheel_does_not_lose_the_others(index: Index, tmp_path: Path, wheel: Path) -> None:
    bad = tmp_path / "bad-1.0-py3-none-any.whl"
    bad.write_text("no zip")
    publication = attempt([bad, wheel, tmp_path / "gone.whl"], index.url, credentials=ANN)
    assert [receipt.file for receipt in publication.receipts] == [wheel.name]
    assert [(Path(f.file).name, f.exit_code) for f in publication.failures] == [
        (bad.name, 7),
        ("gone.whl", 2),
    ]
    with pytest.raises(WheelError):
        publish([bad, wheel], index.url, credentials=ANN)


def test_a_file_named_like_twine_in_the_working_folder_is_not_run(
    index: Index, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "twine.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    assert os.getcwd() == str(tmp_path)  # noqa: PTH109
    (receipt,) = publish([wheel], index.url, credentials=ANN)
    assert receipt.action is Action.UPLOADED
