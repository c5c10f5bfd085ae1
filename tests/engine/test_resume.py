"""A compile that is killed goes on where it was, and leaves nothing running."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine
ENOUGH = 5
PATIENCE = 600
Dispose = Callable[[str], None]


class Build:
    """`tfbuild wheel` on the bundled workspace, as a process that can be killed."""

    def __init__(self, workspace: Path, base_image: str, folder: Path, cache_home: Path) -> None:
        self.command = [
            *(sys.executable, "-m", "tfbuild", "wheel", "--engine", "docker", "--json"),
            *("--target", "nehalem", "--tensorflow", "2.15.1", "--python", "3.11"),
            *("--compiler", "system", "--bazel", "apt", "--jobs", "1"),
            *("--source", str(workspace), "--base-image", base_image),
        ]
        self.folder = folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache_home)}
        self.logs = cache_home / "tfbuild/logs"

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> dict[str, object]:
        done = self.start()
        out, err = done.communicate(timeout=PATIENCE)
        assert done.returncode == 0, err
        document = json.loads(out)
        assert isinstance(document, dict)
        return document

    def recipe(self) -> str:
        done = subprocess.run(
            [*self.command, "--dry-run"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return str(json.loads(done.stdout)["recipe_digest"])


def containers(recipe: str) -> list[str]:
    words = ["docker", "ps", "-aq", "--filter", f"label=tfbuild.recipe={recipe}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def wait_until_partly_compiled(recipe: str) -> str:
    """Return the container once Bazel's cache holds some, but not all, actions."""
    deadline = time.monotonic() + PATIENCE
    count = "find /cache/disk/ac -type f 2>/dev/null | wc -l"
    while time.monotonic() < deadline:
        for container in containers(recipe):
            words = ["docker", "exec", container, "sh", "-c", count]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode == 0 and int(done.stdout) >= ENOUGH:
                return container
        time.sleep(0.2)
    pytest.fail("the compile never got far enough")


def bazels_own_count(log: Path) -> tuple[int, int]:
    """Return cached and really executed actions as Bazel's closing line counts them."""
    line = re.findall(r"^INFO: \d+ process(?:es)?: (.*)\.$", log.read_text(), re.MULTILINE)[-1]
    kinds = {name: int(number) for number, name in re.findall(r"(\d+) ([a-z][a-z -]*)", line)}
    cached = sum(number for name, number in kinds.items() if name.endswith("cache hit"))
    return cached, sum(kinds.values()) - cached - kinds.get("internal", 0)


@pytest.mark.parametrize("way", ["docker kill", "SIGKILL", "Ctrl-C"])
def test_resumes(
    way: str,
    workspace: Path,
    docker_base: str,
    tmp_path: Path,
    cache_home: Path,
    disposed: Dispose,
) -> None:
    build = Build(workspace, docker_base, tmp_path, cache_home)
    recipe = build.recipe()
    running = build.start()
    container = wait_until_partly_compiled(recipe)
    if way == "docker kill":
        subprocess.run(["docker", "kill", container], check=True, capture_output=True)
    else:
        running.send_signal(signal.SIGKILL if way == "SIGKILL" else signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE)

    assert not list((tmp_path / "wheels").glob("*.whl*"))
    if way == "docker kill":
        assert running.returncode == 6
        assert "killed from outside" in err
        assert containers(recipe) == []
    elif way == "Ctrl-C":
        assert running.returncode == 130
        assert containers(recipe) == []
    else:
        # Nobody was left to clear up; the next run does.
        assert len(containers(recipe)) == 1

    document = build.finish()
    disposed(str(document["image"]))
    assert containers(recipe) == []
    log = next(build.logs.glob(f"*{recipe[:8]}.log"))
    cached, executed = bazels_own_count(log)
    assert cached >= ENOUGH - 1
    assert 0 < executed < 21  # what a compile from nothing executes
    assert document["actions"] == {
        "total": document["actions"]["total"],  # type: ignore[index]
        "cached": cached,
        "executed": executed,
    }


def test_mirror_that_refuses(
    tfbuild: "Callable[..., subprocess.CompletedProcess[str]]",
    workspace: Path,
    bare_base: str,
    cache_home: Path,
    tmp_path: Path,
) -> None:
    done = tfbuild(
        *("wheel", "--no-preflight", "--engine", "docker", "--target", "haswell"),
        *("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system"),
        *("--bazel", "apt", "--source", workspace, "--base-image", bare_base),
        *("--apt-mirror", "http://127.0.0.1:9/debian"),
        env={"XDG_CACHE_HOME": str(cache_home)},
    )
    assert done.returncode == 5, done.stderr
    assert "cannot reach a server" in done.stderr
    assert "127.0.0.1" in done.stderr
    assert "--apt-mirror" in done.stderr
    assert not list((tmp_path / "wheels").iterdir())
