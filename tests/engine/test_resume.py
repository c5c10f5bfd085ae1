"""A compile that is killed goes on where it was, and leaves nothing running."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.standin import (
    ALL,
    ENOUGH,
    PATIENCE,
    Build,
    Onlooker,
    executed,
    is_of_host,
    names,
    stored,
    until,
    workspace,
)

pytestmark = pytest.mark.engine
LOG = "/cache/log.json"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("standin") / "source", LOG)


@pytest.fixture
def build(source: Path, docker_base: str, tmp_path: Path, cache_home: Path) -> Build:
    return Build("docker", source, tmp_path, cache_home, base_image=docker_base)


@pytest.fixture(scope="module")
def volume(source: Path, docker_base: str, cache_home: Path) -> Iterator[Path]:
    """Where the cache volume lies, after a whole build; image and volume go at the end."""
    folder = source.parent / "first"
    first = Build("docker", source, folder, cache_home, target="haswell", base_image=docker_base)
    image = str(first.finish()["image"])
    name = f"tfbuild-cache-{image.removeprefix('sha256:')[:16]}"
    yield Path(docker("volume", "inspect", "--format", "{{.Mountpoint}}", name))
    docker("rmi", "-f", image)
    docker("volume", "rm", name)


@pytest.fixture
def empty(volume: Path) -> Path:
    """The cache volume without anything in it."""
    subprocess.run(["find", volume, "-mindepth", "1", "-delete"], check=True)
    return volume


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def bazels_own_count(log: Path) -> tuple[int, int]:
    """Return cached and really executed actions as Bazel's closing line counts them."""
    line = re.findall(r"^INFO: \d+ process(?:es)?: (.*)\.$", log.read_text(), re.MULTILINE)[-1]
    kinds = {name: int(number) for number, name in re.findall(r"(\d+) ([a-z][a-z -]*)", line)}
    cached = sum(number for name, number in kinds.items() if name.endswith("cache hit"))
    return cached, sum(kinds.values()) - cached - kinds.get("internal", 0)


def containers(recipe: str) -> list[str]:
    return docker("ps", "-aq", "--filter", f"label=tfbuild.recipe={recipe}").split()


def test_a_second_target_runs_no_tool_again(build: Build, volume: Path) -> None:
    """The volume holds one target's actions; Bazel's execution log tells what the second runs."""
    first = executed(volume / "log.json")
    assert len(first) == ALL
    assert any(is_of_host(spawn) for spawn in first)
    build.command[build.command.index("--target") + 1] = "skylake"
    record = build.finish()
    ran = executed(volume / "log.json")
    assert [spawn["listedOutputs"] for spawn in ran if is_of_host(spawn)] == []
    assert len(ran) == record["actions"]["executed"]
    # The figure in RATIONALE.md: kernels, the binding, and the library of both.
    assert len(ran) == ALL - 3


@pytest.mark.parametrize("way", ["docker kill", "SIGKILL", "Ctrl-C"])
def test_resumes(way: str, build: Build, empty: Path) -> None:
    recipe = build.recipe()
    with Onlooker(build.wheels) as onlooker:
        running = build.start()
        until(lambda: len(stored(empty / "disk")) >= ENOUGH, "some actions", running)
        if way == "docker kill":
            docker("kill", *containers(recipe))
        else:
            running.send_signal(signal.SIGKILL if way == "SIGKILL" else signal.SIGINT)
        _, err = running.communicate(timeout=PATIENCE)
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
            docker("pause", *containers(recipe))
        finished = stored(empty / "disk")
        record = build.finish()
    assert onlooker.seen > 0
    assert containers(recipe) == []
    ran = executed(empty / "log.json")
    assert record["actions"]["executed"] == len(ran) <= ALL - ENOUGH
    assert record["attempts"]["count"] == 2
    assert record["attempts"]["repeated"] == len(names(ran) & finished)
    assert record["actions"]["cached"] >= len(finished)


def test_the_same_recipe_at_once_is_refused_to_another_user(
    build: Build, empty: Path, tmp_path: Path
) -> None:
    other = Build("docker", Path("x"), tmp_path / "other", tmp_path / "cache")
    other.command = build.command
    running = build.start()
    until(lambda: len(stored(empty / "disk")) >= 1, "an action", running)
    code, _, err = other.run()
    assert code == 5, err
    assert "This very recipe is being compiled already" in err
    assert f"process {running.pid} of this machine" in err
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert json.loads(out)["attempts"]["count"] == 1


def test_two_recipes_share_a_cache_at_once(
    build: Build, empty: Path, source: Path, docker_base: str, cache_home: Path, tmp_path: Path
) -> None:
    """Each ends with the bytes that it has when it is compiled alone."""

    def one(target: str) -> Build:
        folder = tmp_path / target
        return Build("docker", source, folder, cache_home, target=target, base_image=docker_base)

    both = [one("haswell"), one("skylake")]
    running = [each.start() for each in both]
    together = []
    for process in running:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        together.append(json.loads(out))
    # Neither knows which of the new results are its own.
    assert [record["attempts"]["count"] for record in together] == [1, 1]
    for each, record in zip(both, together, strict=True):
        subprocess.run(["find", empty, "-mindepth", "1", "-delete"], check=True)
        alone = each.finish()
        assert alone["actions"]["executed"] == ALL
        assert alone["sha256"] == record["sha256"], each.command


def test_mirror_that_refuses(
    tfbuild: "Callable[..., subprocess.CompletedProcess[str]]",
    source: Path,
    bare_base: str,
    cache_home: Path,
    tmp_path: Path,
) -> None:
    done = tfbuild(
        *("wheel", "--engine", "docker", "--target", "haswell"),
        *("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system"),
        *("--bazel", "apt", "--source", source, "--base-image", bare_base, "--no-preflight"),
        *("--apt-mirror", "http://127.0.0.1:9/debian"),
        env={"XDG_CACHE_HOME": str(cache_home)},
    )
    assert done.returncode == 5, done.stderr
    assert "cannot reach a server" in done.stderr
    assert "127.0.0.1" in done.stderr
    assert "--apt-mirror" in done.stderr
    assert not list((tmp_path / "wheels").iterdir())
