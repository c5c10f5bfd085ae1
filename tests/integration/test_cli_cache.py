"""`tfbuild cache` on a folder of the test's own, with no engine in reach."""

import json
import os
import subprocess  # noqa: TC003 - pytest reads the types of fixtures
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
DAY = 86400


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, str]:
    """A cache with an old log, a new one and an old wheel; the environment that leads there."""
    for name, days in (("logs/old.log", 6), ("logs/new.log", 0), ("wheels/ab/a.whl", 600)):
        path = tmp_path / "cache/tfbuild" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 5000)
        when = time.time() - days * DAY
        os.utime(path, (when, when))
    return {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "DOCKER_HOST": f"unix://{tmp_path}/no.sock",
        "PATH": str(Path(sys.executable).parent),
    }


def files(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()}


def test_show(tfbuild: Run, kept: dict[str, str]) -> None:
    done = tfbuild("cache", "show", env=kept)
    assert done.returncode == 0, done.stderr
    assert "logs/ (2)" in done.stdout
    assert "not asked: docker: docker does not answer" in done.stderr
    document = json.loads(tfbuild("cache", "show", "--json", env=kept).stdout)
    assert document["schema"] == "tfbuild.cache/1"
    sizes = {item["name"]: item["size"] for item in document["items"]}
    assert set(sizes) == {"logs/old.log", "logs/new.log", "wheels/ab"}
    assert document["total"] == sum(sizes.values()) > 3 * 5000


def test_prune_asks_and_without_a_terminal_refuses(
    tfbuild: Run, kept: dict[str, str], tmp_path: Path
) -> None:
    done = tfbuild("cache", "prune", "--older-than", "5", env=kept)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert files(tmp_path) == {"old.log", "new.log", "a.whl"}


def test_prune(tfbuild: Run, kept: dict[str, str], tmp_path: Path) -> None:
    looked = tfbuild("cache", "prune", "--older-than", "5", "--dry-run", env=kept)
    assert "Would remove 1 thing" in looked.stderr
    assert files(tmp_path) == {"old.log", "new.log", "a.whl"}
    done = tfbuild("cache", "prune", "--older-than", "5", "--yes", env=kept)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == {"new.log", "a.whl"}
    tfbuild("cache", "prune", "--all", "--yes", env=kept)
    assert files(tmp_path) == {"a.whl"}


@pytest.mark.parametrize("days", ["-1", "1000000", "99999999999"])
def test_ages_that_no_calendar_has(tfbuild: Run, kept: dict[str, str], days: str) -> None:
    done = tfbuild("cache", "prune", "--older-than", days, "--dry-run", env=kept)
    assert done.returncode == 2
    assert "--older-than" in done.stderr


def test_settings_reach_a_command_below_a_command(
    tfbuild: Run, kept: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tfbuild.cache]\nolder-than = 5\n")
    done = tfbuild("cache", "prune", "--dry-run", "--json", env=kept)
    assert [item["name"] for item in json.loads(done.stdout)["chosen"]] == ["logs/old.log"]
