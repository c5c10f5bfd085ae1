"""Whether outside places answer: through proxies, with statuses, and what that means."""

import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_preflight import FACTS, Silent, about, ask, made
from tfbuild import preflight, recipe, target
from tfbuild.engine.base import Facts
from tfbuild.engine.local import LocalEngine
from tfbuild.preflight import Question, network, places
from tfbuild.recipe import Options, Recipe, Sources
from tfbuild.rehearse import copy_workspace


@pytest.fixture(autouse=True)
def _no_proxies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_workspace(tmp_path_factory.mktemp("source") / "tree", "2.15.1")


class Server:
    """Answers with one status; keeps the first lines of requests."""

    def __init__(self, status: int = 200, date: float | None = None) -> None:
        heard: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                heard.append(self.requestline)
                self.send_response_only(status)
                self.send_header("Date", formatdate(date, usegmt=True))
                self.end_headers()

            do_CONNECT = do_HEAD  # noqa: N815 - the standard library's name

            def log_message(self, *_: Any) -> None:
                pass

        self.heard = heard
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(status: int = 200, date: float | None = None) -> Server:
        servers.append(Server(status, date))
        return servers[-1]

    yield start
    for each in servers:
        each.server.shutdown()
        each.server.server_close()


@pytest.mark.parametrize(
    ("status", "is_file", "usable"),
    [
        (200, True, True),
        (404, True, False),
        (404, False, True),
        (401, False, True),
        (503, False, False),
        (405, True, True),
        (501, True, True),
        (407, False, False),
    ],
)
def test_statuses(status: int, is_file: bool, usable: bool, serve: Callable[..., Server]) -> None:
    address = f"http://{serve(status).address}/x"
    assert (network.ask(address, {}, is_file=is_file).trouble == "") is usable


@pytest.mark.parametrize(("status", "state"), [(503, "warning"), (404, "failure"), (200, "ok")])
def test_an_error_of_the_server_may_be_gone_later(
    status: int,
    state: str,
    serve: Callable[..., Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # for what the source may name
    tree = Sources(source=f"http://{serve(status).address}/tree.tar.gz", bazel="system")
    what = recipe.make(
        "2.15.1", "3.11", target.find("haswell"), tree, Options(compiler="system", jobs=1)
    )
    local = replace(FACTS, name="local")
    question = Question(engine="local", output_dir=tmp_path, recipe=what)
    report = preflight.check(question, choose=lambda _: Silent(local))
    [finding] = [each for each in about(report, "network") if "TensorFlow source" in each.what]
    assert finding.state == state


def test_a_closed_port_and_a_name_that_is_not_known() -> None:
    assert "refused" in network.ask("http://127.0.0.1:9/", {}).trouble
    assert "refused" in network.ask("grpc://127.0.0.1:9", {}).trouble


def test_a_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert "no answer" in network.ask(address, {}, seconds=0.3).trouble


def test_proxies_of_the_environment_are_used(serve: Callable[..., Server]) -> None:
    proxy = serve()
    answer = network.ask("http://mirror.invalid/debian", {"http_proxy": f"http://{proxy.address}"})
    assert answer.trouble == ""
    assert proxy.heard == ["HEAD http://mirror.invalid/debian HTTP/1.1"]


def test_encrypted_addresses_go_through_the_other_proxy(serve: Callable[..., Server]) -> None:
    proxy = serve(403)
    answer = network.ask("https://pypi.invalid/", {"HTTPS_PROXY": f"http://{proxy.address}"})
    assert [line.split()[:2] for line in proxy.heard] == [["CONNECT", "pypi.invalid:443"]]
    assert "403" in answer.trouble


def test_no_proxy_is_honoured(serve: Callable[..., Server]) -> None:
    server, proxy = serve(), serve()
    environment = {"http_proxy": f"http://{proxy.address}", "NO_PROXY": "127.0.0.1"}
    assert network.ask(f"http://{server.address}/x", environment).trouble == ""
    assert server.heard
    assert not proxy.heard


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_dead_proxy_is_named_without_its_password(scheme: str) -> None:
    environment = {"http_proxy": f"{scheme}me:secret@127.0.0.1:9"}
    trouble = network.ask("http://mirror.invalid/", environment).trouble
    assert "127.0.0.1:9" in trouble
    assert "secret" not in trouble


def test_a_clock_that_is_wrong_is_told(
    serve: Callable[..., Server], workspace: Path, tmp_path: Path
) -> None:
    mirror = serve(date=time.time() + 86400)
    report = ask(made(workspace, mirror=f"http://{mirror.address}/debian"), tmp_path)
    [finding] = about(report, "clock")
    assert finding.state == "warning"


def test_loopback_of_this_machine_is_not_that_of_a_container(
    serve: Callable[..., Server], workspace: Path, tmp_path: Path
) -> None:
    mirror = serve()
    report = ask(made(workspace, mirror=f"http://{mirror.address}/debian"), tmp_path)
    [finding] = [each for each in about(report, "network") if "system" in each.what]
    assert finding.state == "failure"
    assert "container itself" in finding.why


@pytest.mark.parametrize(
    ("image", "host"),
    [
        # As Docker itself reads names (docker.com, "docker image tag").
        ("debian:bookworm", "registry-1.docker.io"),
        ("library/debian", "registry-1.docker.io"),
        ("docker.io/library/debian", "registry-1.docker.io"),
        ("ghcr.io/a/b:1", "ghcr.io"),
        ("registry.example:5000/a", "registry.example:5000"),
        ("localhost/a", "localhost"),
    ],
)
def test_registries(image: str, host: str) -> None:
    assert places.registry(image) == host


def found(what: Recipe, **more: Any) -> dict[str, places.Place]:
    given = {"is_local": False, "is_bundled": False, "has_toolchain": False, "led": {}}
    return {place.url: place for place in places.of(what, **{**given, **more})}


def test_places_of_a_release() -> None:
    what = recipe.make("2.15.1", "3.11", target.find("haswell"))
    every = found(what)
    certain = {url for url, place in every.items() if place.is_certain}
    assert certain == {
        "https://pypi.org/simple",
        "https://github.com/bazelbuild/bazel/releases/download/6.1.0/bazel-6.1.0-linux-x86_64",
        "https://github.com/tensorflow/tensorflow/archive/refs/tags/v2.15.1.tar.gz",
    }
    assert "https://storage.googleapis.com" in every
    assert not {place for place in found(what, has_toolchain=True).values() if place.is_certain}


def test_what_the_local_engine_has_fetched_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that was stopped goes on without the server that its source came from."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    what = recipe.make(
        "2.18.1",
        "3.11",
        target.find("haswell"),
        Sources(source="http://127.0.0.1:9/tree.tar.gz", bazel="system"),
        Options(compiler="system", jobs=1),
    )

    class Local(LocalEngine):
        def facts(self) -> Facts:
            return replace(FACTS, name="local")

    def told() -> list[str]:
        question = Question(engine="local", output_dir=tmp_path, recipe=what)
        report = preflight.check(question, choose=lambda _: Local(tmp_path / "local"))
        return [each.what for each in report.failures if each.about == "network"]

    assert told() == ["TensorFlow source: 127.0.0.1:9 cannot be reached."]
    Local(tmp_path / "local").source(what).mkdir(parents=True)
    assert told() == []
