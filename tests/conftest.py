"""The test rig: no network unless marked, and no silent skip where everything must be there."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
REQUIRE = os.environ.get("TFBUILD_TEST_REQUIRE") == "1"
OPEN_MARKERS = ("network", "engine", "tensorflow")


# Who starts the tests in the background may have SIGINT ignored, which children inherit; then no
# test of Ctrl-C could pass.
signal.signal(signal.SIGINT, signal.default_int_handler)


def need(there: object, reason: str) -> None:
    """Skip with a reason; in CI (TFBUILD_TEST_REQUIRE=1) a thing that is not there is a failure."""
    if there:
        return
    if REQUIRE:
        pytest.fail(f"{reason} (TFBUILD_TEST_REQUIRE=1 forbids the skip)")
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an unmarked test reach this machine's loopback only."""
    if any(request.node.get_closest_marker(name) for name in OPEN_MARKERS):
        return
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        loopback = self.family == socket.AF_UNIX or str(address[0]) in {
            "127.0.0.1",
            "::1",
            "localhost",
        }
        if not loopback:
            raise AssertionError(f"test without the network marker connects to {address}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's settings and caches out of tests, and tests out of them."""
    for name in list(os.environ):
        if name.startswith("TFBUILD_") and not name.startswith("TFBUILD_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture
def tfbuild(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the real command line in a fresh process in `tmp_path`; returns the completed process."""

    def run(
        *args: str | Path,
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
        timeout: float = 900,
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "tfbuild", *map(str, args)],
            cwd=cwd,
            env={**os.environ, "COLUMNS": "100", **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


def pyenv_python(version: str) -> Path | None:
    """Return an interpreter of that minor version ("3.10"), from PATH or pyenv, or None."""
    import shutil

    found = shutil.which(f"python{version}")
    candidates = [Path(found)] if found and "/shims/" not in found else []
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in candidates:
        works = subprocess.run([path, "-c", "import venv"], capture_output=True, check=False)
        if works.returncode == 0:
            return path
    return None
