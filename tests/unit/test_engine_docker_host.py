"""Which daemon Docker's own rules name."""

import hashlib
import json
from pathlib import Path

import pytest

from tfbuild.engine import docker_host
from tfbuild.errors import EngineError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Docker's settings with one context, as `docker context create` (28.2) lays it down."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    folder = tmp_path / "contexts/meta" / hashlib.sha256(b"far").hexdigest()
    folder.mkdir(parents=True)
    endpoint = {"Host": "ssh://me@far.example", "SkipTLSVerify": False}
    document = {"Name": "far", "Metadata": {}, "Endpoints": {"docker": endpoint}}
    (folder / "meta.json").write_text(json.dumps(document))
    return tmp_path / "config.json"


@pytest.mark.usefixtures("config")
def test_this_machines_own() -> None:
    assert docker_host.address() == "unix:///var/run/docker.sock"


def test_the_current_context(config: Path) -> None:
    config.write_text(json.dumps({"currentContext": "far"}))
    assert docker_host.address() == "ssh://me@far.example"


@pytest.mark.usefixtures("config")
def test_a_context_that_a_variable_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "far")
    assert docker_host.address() == "ssh://me@far.example"
    # docker(1): DOCKER_HOST overrides the context.
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    assert docker_host.address() == "tcp://127.0.0.1:1"


def test_a_context_that_is_gone(config: Path) -> None:
    config.write_text(json.dumps({"currentContext": "gone"}))
    with pytest.raises(EngineError) as caught:
        docker_host.address()
    assert "docker context ls" in caught.value.do
