"""The same with Podman: killed, resumed, and what it keeps."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.standin import (
    ALL,
    ENOUGH,
    PATIENCE,
    Build,
    Onlooker,
    executed,
    names,
    stored,
    until,
    workspace,
)

pytestmark = pytest.mark.engine


def podman(*words: str) -> str:
    done = subprocess.run(["podman", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def build(podman_base: str, tmp_path: Path) -> Iterator[Build]:
    source = workspace(tmp_path / "source", "/cache/log.json")
    before = set(podman("images", "--quiet", "--filter", "label=tfbuild.toolchain").split())
    base = f"localhost/{podman_base}"
    yield Build("podman", source, tmp_path, tmp_path / "cache", base_image=base)
    after = set(podman("images", "--quiet", "--filter", "label=tfbuild.toolchain").split())
    for image in after - before:
        identity = podman("image", "inspect", "--format", "{{.Id}}", image)
        podman("rmi", "--force", image)
        podman("volume", "rm", "--force", f"tfbuild-cache-{identity[:16]}")


def volume(recipe: str) -> Path | None:
    """Return where the cache volume of the recipe's container lies, None without one."""
    found = podman("ps", "--quiet", "--filter", f"label=tfbuild.recipe={recipe}").split()
    if not found:
        return None
    mounts = json.loads(podman("inspect", "--format", "{{json .Mounts}}", found[0]))
    return next((Path(one["Source"]) for one in mounts if one["Destination"] == "/cache"), None)


def test_resumes(build: Build) -> None:
    recipe = build.recipe()
    with Onlooker(build.wheels):
        running = build.start()
        place: Path = until(lambda: volume(recipe), "a container", running)
        until(lambda: len(stored(place / "disk")) >= ENOUGH, "some actions", running)
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=PATIENCE)
        assert not list(build.wheels.glob("*.whl*"))
        finished = stored(place / "disk")
        record = build.finish()
    assert podman("ps", "--all", "--quiet", "--filter", f"label=tfbuild.recipe={recipe}") == ""
    ran = executed(place / "log.json")
    assert record["actions"]["executed"] == len(ran) <= ALL - len(finished)
    assert record["attempts"]["count"] == 2
    assert record["attempts"]["repeated"] == len(names(ran) & finished) == 0

    shown = subprocess.run(
        [sys.executable, "-m", "tfbuild", "cache", "show", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=build.environment,
    )
    items = [one for one in json.loads(shown.stdout)["items"] if one["place"] == "podman"]
    what = {one["identity"]: one["what"] for one in items}
    assert what[str(record["image"])] == "TensorFlow 2.15.1 for Python 3.11"
    assert what[place.parent.name] == "TensorFlow 2.15.1 for Python 3.11"
    (actions,) = (one for one in items if one["identity"] == place.parent.name)
    told = subprocess.run(["du", "-sk", place], capture_output=True, text=True, check=True)
    assert actions["size"] == pytest.approx(int(told.stdout.split()[0]) * 1024, rel=0.2)
