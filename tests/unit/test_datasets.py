"""Data sets from a server on this machine."""

import hashlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tfbuild import datasets
from tfbuild.datasets import Dataset
from tfbuild.errors import BenchError, SaveError

BODY = bytes(range(256)) * 40


@dataclass
class Told:
    phases: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    steps: list[tuple[int, int | None]] = field(default_factory=list)

    def phase(self, text: str, total: int | None = None) -> None:  # noqa: ARG002
        self.phases.append(text)

    def step(self, done: int, total: int | None = None, text: str = "") -> None:  # noqa: ARG002
        self.steps.append((done, total))

    def note(self, text: str) -> None:
        self.notes.append(text)


class Handler(BaseHTTPRequestHandler):
    asked: list[str]

    def __init__(self, asked: list[str], *args: Any) -> None:
        self.asked = asked
        super().__init__(*args)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/gone":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if self.path == "/torn":
            self.wfile.write(BODY[:100])
            return
        self.wfile.write(BODY[::-1] if self.path == "/changed" else BODY)

    def log_message(self, *_: object) -> None: ...


@dataclass
class Server:
    url: str
    asked: list[str]


@pytest.fixture
def server() -> Iterator[Server]:
    asked: list[str] = []
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, asked))
    thread = Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield Server(url=f"http://127.0.0.1:{http.server_address[1]}", asked=asked)
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    place = tmp_path / "keras" / "datasets"
    place.mkdir(parents=True)
    return place


def one(url: str, size: int = len(BODY), name: str = "TINY") -> Dataset:
    return Dataset(
        name=name,
        file="tiny.npz",
        architectures=("mnist_mlp",),
        url=url,
        size=size,
        sha256=hashlib.sha256(BODY).hexdigest(),
        characters=None,
        elsewhere=("other-name.npz",),
    )


def prepare(tmp_path: Path, dataset: Dataset, told: Told, **changes: Any) -> Path | None:
    options = {
        "mode": "auto",
        "scale": "quick",
        "offline": False,
        "progress": told,
        "folder": tmp_path / "data",
        "sets": [dataset],
        **changes,
    }
    return datasets.prepare(["mnist_mlp"], **options)


def test_a_set_is_named_fetched_checked_and_kept(tmp_path: Path, server: Server) -> None:
    told = Told()
    folder = prepare(tmp_path, one(f"{server.url}/tiny"), told)
    assert folder is not None
    assert (folder / "tiny.npz").read_bytes() == BODY
    assert told.phases[0].startswith("Downloading tiny.npz (0.0 MB) from 127.0.0.1")
    assert told.steps[-1] == (len(BODY), len(BODY))
    assert sorted(path.name for path in folder.iterdir()) == ["tiny.npz"]
    prepare(tmp_path, one(f"{server.url}/tiny"), Told())
    assert server.asked == ["/tiny"]


def test_keras_own_copy_is_used_when_it_is_right(
    tmp_path: Path, server: Server, keras: Path
) -> None:
    (keras / "other-name.npz").write_bytes(BODY)
    folder = prepare(tmp_path, one(f"{server.url}/tiny"), Told())
    assert folder is not None
    assert (folder / "tiny.npz").read_bytes() == BODY
    assert server.asked == []
    (keras / "other-name.npz").write_bytes(b"x" * len(BODY))
    (folder / "tiny.npz").unlink()
    prepare(tmp_path, one(f"{server.url}/tiny"), Told())
    assert server.asked == ["/tiny"]


def test_a_damaged_file_is_replaced(tmp_path: Path, server: Server) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tiny.npz").write_bytes(b"y" * len(BODY))
    folder = prepare(tmp_path, one(f"{server.url}/tiny"), Told())
    assert folder is not None
    assert (folder / "tiny.npz").read_bytes() == BODY


@pytest.mark.parametrize(
    ("path", "why"),
    [("/changed", "not that file"), ("/gone", "404"), ("/torn", "broke off")],
)
def test_what_is_wrong_is_not_kept_and_a_note_says_why(
    tmp_path: Path, server: Server, path: str, why: str
) -> None:
    told = Told()
    assert prepare(tmp_path, one(server.url + path), told) is None
    assert [path.name for path in (tmp_path / "data").glob("*")] == []
    assert len(told.notes) == 1
    assert why in told.notes[0]
    assert "generated" in told.notes[0]


def test_an_endless_answer_is_cut_off(tmp_path: Path, server: Server) -> None:
    told = Told()
    assert prepare(tmp_path, one(f"{server.url}/tiny", size=100), told) is None
    assert "more than" in told.notes[0]


def test_a_server_that_is_not_there_is_asked_once(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = Told()
    pair = [one(f"http://127.0.0.1:{port}/{name}", name=name) for name in ("A", "B")]
    assert prepare(tmp_path, pair[0], told, sets=pair) is None
    assert len(told.phases) == 1
    assert [note.split(":")[0] for note in told.notes] == ["A", "B"]
    assert all("does not answer" in note for note in told.notes)


def test_only_real_data_will_do(tmp_path: Path, server: Server) -> None:
    with pytest.raises(BenchError) as caught:
        prepare(tmp_path, one(f"{server.url}/gone"), Told(), mode="real")
    assert "TINY" in caught.value.what
    assert caught.value.exit_code == 8


def test_nothing_is_fetched_offline_or_for_generated_data(tmp_path: Path, server: Server) -> None:
    told = Told()
    assert prepare(tmp_path, one(f"{server.url}/tiny"), told, offline=True) is None
    assert "--offline" in told.notes[0]
    assert prepare(tmp_path, one(f"{server.url}/tiny"), Told(), mode="generated") is None
    assert server.asked == []


def test_a_large_set_is_only_fetched_for_the_studys_scale(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "SMALL", len(BODY) - 1)
    large = one(f"{server.url}/tiny")
    told = Told()
    assert prepare(tmp_path, large, told) is None
    assert "--scale full" in told.notes[0]
    assert server.asked == []
    assert prepare(tmp_path, large, Told(), scale="full") is not None


def test_a_set_that_no_architecture_needs_is_left_alone(tmp_path: Path, server: Server) -> None:
    tiny = one(f"{server.url}/tiny")
    folder = datasets.prepare(
        ["imdb_fasttext"],
        mode="auto",
        scale="quick",
        offline=False,
        progress=Told(),
        folder=tmp_path / "data",
        sets=[tiny],
    )
    assert folder is None
    assert server.asked == []


def test_a_folder_that_cannot_be_written(tmp_path: Path, server: Server) -> None:
    (tmp_path / "data").write_text("a file stands there")
    with pytest.raises(SaveError):
        prepare(tmp_path, one(f"{server.url}/tiny"), Told())


def test_a_text_without_a_known_hash_is_checked_by_its_size(tmp_path: Path) -> None:
    text = tmp_path / "text"
    nietzsche = next(each for each in datasets.known() if each.file == "nietzsche.txt")
    text.write_text("ä" * 8 + "a" * (600_893 - 8))
    assert nietzsche.fits(text)
    text.write_text("a" * 600_901)
    assert not nietzsche.fits(text)


def test_the_registry_names_each_architecture_once_and_only_text_goes_without_a_hash() -> None:
    from tfbuild.bench import ARCHITECTURES

    named = [name for each in datasets.known() for name in each.architectures]
    assert sorted(named) == sorted(ARCHITECTURES)
    for each in datasets.known():
        assert each.url.startswith("https://")
        assert each.sha256 or each.file.endswith(".txt")
