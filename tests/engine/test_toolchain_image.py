"""The toolchain stage on a real engine, from a bare base image; and how its steps fail."""

import functools
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild import recipe, target
from tfbuild.recipe import Sources

pytestmark = pytest.mark.engine
BASE = os.environ.get("TFBUILD_TEST_BASE_IMAGE", "")
TAG = "tfbuild-test/toolchain"


def docker(*words: str | Path, **more: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        ["docker", *words], capture_output=True, text=True, check=False, **more
    )


def tiny_tree(top: Path) -> Path:
    (top / "tensorflow/tools/pip_package").mkdir(parents=True)
    (top / "tensorflow/tools/pip_package/BUILD").write_text("")
    (top / "configure").write_text("#!/bin/sh\n")
    (top / "configure").chmod(0o755)
    return top


def script(folder: Path, **sources: str) -> Path:
    """Write a context and return its toolchain.sh."""
    given = {"base_image": BASE, **sources}
    made = recipe.make("2.21", "3.11", target.find("haswell"), Sources(**given))
    made.write(folder)
    return folder / "toolchain.sh"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need(BASE, "TFBUILD_TEST_BASE_IMAGE names no base image")
    need(shutil.which("docker") and docker("info").returncode == 0, "no Docker engine answers")
    top = tmp_path_factory.mktemp("toolchain")
    script(top / "context", bazel="apt", source=str(tiny_tree(top / "tree")))
    # The classic builder: a Dockerfile that it takes, all of them take.
    done = docker(
        "build",
        "--target",
        "toolchain",
        "--tag",
        TAG,
        top / "context",
        env={**os.environ, "DOCKER_BUILDKIT": "0"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    yield TAG
    docker("image", "rm", "--no-prune", TAG)


def test_the_image_has_what_build_sh_needs(image: str) -> None:
    probe = (
        "command -v bazel python3.11 patchelf g++ && python3.11 --version && ls -A /tfbuild/source"
    )
    done = docker("run", "--rm", image, "bash", "-ec", probe)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split()
    # A Python of its own: Debian's may not be installed into.
    assert "/tfbuild/python/bin/python3.11" in lines
    assert {"/usr/bin/bazel", "/usr/bin/patchelf", "/usr/bin/g++"} <= set(lines)
    assert lines[-2:] == ["configure", "tensorflow"]


def test_an_executable_stays_one_and_belongs_to_root(image: str) -> None:
    done = docker("run", "--rm", image, "stat", "-c", "%a %U", "/tfbuild/source/configure")
    assert done.stdout.split() == ["755", "root"]


def step(image: str, path: Path, name: str, before: str = "true", *words: str) -> str:
    """Run one step in a container, expect it to fail, and return its last words."""
    done = docker(
        "run",
        "--rm",
        "-i",
        *words,
        image,
        "sh",
        "-c",
        f"{before}; sh -s {name}",
        input=path.read_text(),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("tfbuild: ")]
    return "\n".join(said)


def test_a_base_without_apt_is_told(image: str, tmp_path: Path) -> None:
    path = script(tmp_path / "context")
    assert "--base-image" in step(image, path, "packages", "rm /usr/bin/apt-get")


def test_a_mirror_that_does_not_answer_is_told(image: str, tmp_path: Path) -> None:
    path = script(tmp_path / "context", apt_mirror="http://127.0.0.1:9/debian")
    before = """printf '%s\\n' 'Acquire::Retries 0;' 'APT::Update::Error-Mode any;' \\
        >/etc/apt/apt.conf.d/99now"""
    assert "--apt-mirror" in step(image, path, "packages", before)


def test_no_bazel_in_the_image_is_told(image: str, tmp_path: Path) -> None:
    path = script(tmp_path / "context", bazel="system")
    assert "no Bazel" in step(image, path, "bazel", "rm /usr/bin/bazel")


def test_a_source_that_is_no_tensorflow_is_told(image: str, tmp_path: Path) -> None:
    path = script(tmp_path / "context", source=str(tiny_tree(tmp_path / "tree")))
    before = "tar -c -f /tfbuild/source.tar -C /etc hostname"
    assert "no TensorFlow tree" in step(image, path, "source", before)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serve a folder on this machine's loopback."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served/bazel").write_text("#!/bin/sh\necho bazel 7.4.1\n")
    tiny_tree(tmp_path / "served/tensorflow-2.21.0")
    subprocess.run(
        ["tar", "czf", "v2.21.0.tar.gz", "tensorflow-2.21.0"], cwd=tmp_path / "served", check=True
    )
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "served")
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def test_a_file_that_is_not_the_expected_one_is_refused(
    image: str, tmp_path: Path, server: str
) -> None:
    path = script(tmp_path / "context", bazel=f"{server}/bazel#sha256={'0' * 64}")
    said = step(image, path, "bazel", "true", "--network", "host")
    assert "not the file that was expected" in said


def test_a_file_that_is_not_there_is_told(image: str, tmp_path: Path, server: str) -> None:
    path = script(tmp_path / "context", source=f"{server}/v9.tar.gz")
    assert "v9.tar.gz" in step(image, path, "source", "true", "--network", "host")


def test_an_archive_from_elsewhere_loses_its_top_folder(
    image: str, tmp_path: Path, server: str
) -> None:
    path = script(tmp_path / "context", source=f"{server}/v2.21.0.tar.gz", bazel=f"{server}/bazel")
    steps = "cat >/t.sh; sh /t.sh source && sh /t.sh bazel && ls -A /tfbuild/source && bazel"
    done = docker(
        "run", "--rm", "-i", "--network", "host", image, "sh", "-c", steps, input=path.read_text()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["configure", "tensorflow", "bazel", "7.4.1"]


def test_a_git_tree_at_a_branch_tag_or_commit(image: str, tmp_path: Path) -> None:
    tree = tiny_tree(tmp_path / "tree")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(tree)]
    subprocess.run([*git[:-2], "init", "-q", "-b", "main", tree], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    subprocess.run([*git, "tag", "v2.21.0"], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    for ref in ("main", "v2.21.0", commit):
        path = script(tmp_path / "context", source=f"https://git.example/tf.git#{ref}")
        # Git itself is told where that address lies.
        steps = (
            "git config --global url.file:///tree/.insteadOf https://git.example/tf.git;"
            "git config --global safe.directory '*'; rm -rf /tfbuild/source; sh -s source;"
            "ls /tfbuild/source"
        )
        done = docker(
            "run", "--rm", "-i", "-v", f"{tree}:/tree:ro", image, "sh", "-ec", steps,
            input=path.read_text(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["configure", "tensorflow"]
