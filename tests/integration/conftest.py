"""What several files here start from."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import DATA
from tfbuild import resources


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in `tmp_path`, with the fake worker in the place of the real one."""
    worker = tmp_path / "benchmarks"
    worker.mkdir()
    shutil.copy(DATA / "fake_worker.py", worker / "worker.py")
    monkeypatch.setattr(resources, "folder", lambda _name: worker)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path
