"""Mirrors of whole hosts, as the real Bazel, uv, apt and Docker take them."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.conftest import need, pyenv_python
from tests.engine import outside
from tests.engine.test_registry import registry
from tfbuild.rehearse import copy_workspace

pytestmark = pytest.mark.engine
RECIPE = ("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system")
OTHER = """
http_archive(
    name = "other",
    sha256 = "{sha256}",
    urls = ["https://nobody.example:8443/a/checked.tar.gz"],
)
"""


def tfbuild(top: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tfbuild", *map(str, words)],
        cwd=top,
        env={**os.environ, "XDG_CACHE_HOME": str(top / "cache"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_bazel_and_uv_ask_for_comes_from_mirrors(tmp_path: Path) -> None:
    need(shutil.which("bazel"), "there is no Bazel here")
    need(pyenv_python("3.11"), "there is no Python 3.11")
    workspace = copy_workspace(tmp_path / "source", "2.15.1")
    served = tmp_path / "served"
    # The names of the hosts are real or not; both would have to be asked through TLS.
    checked = outside.offer(served / "github/tfbuild-test")
    other = outside.offer(served / "rest/nobody.example:8443/a", "another one")
    elsewhere = {"/rest/pypi.org/": "https://pypi.org/"}
    with outside.serving(served, "127.0.0.1", elsewhere) as (address, requests):
        outside.need_outside(
            workspace,
            checked,
            "https://github.com/tfbuild-test",
            f"{address}/github/tfbuild-test/unchecked.sh",
        )
        with (workspace / "WORKSPACE").open("a") as file:
            file.write(OTHER.format(sha256=other))
        build = workspace / "tensorflow/core/tools/BUILD"
        build.write_text(
            build.read_text().replace('"@unchecked"', '"@unchecked", "@other//:checked"')
        )
        done = tfbuild(
            tmp_path,
            *("wheel", "--engine", "local", "--target", "nehalem", *RECIPE, "--json"),
            *("--bazel", "system", "--source", "source"),
            *("--mirror", f"github.com={address}/github", "--mirror", f"*={address}/rest"),
        )
    assert done.returncode == 0, done.stderr
    asked = set(requests)
    assert "/github/tfbuild-test/checked.tar.gz" in asked
    assert "/rest/nobody.example:8443/a/checked.tar.gz" in asked
    assert "/rest/pypi.org/simple/wheel/" in asked
    # Each is named before anything is fetched.
    assert f"Python packages: {address}/rest/pypi.org/simple" in done.stderr
    plain = tfbuild(
        tmp_path,
        *("wheel", "--engine", "local", "--target", "nehalem", *RECIPE, "--json", "--dry-run"),
        *("--bazel", "system", "--source", "source"),
    )
    assert json.loads(plain.stdout)["recipe_digest"] == json.loads(done.stdout)["recipe_digest"]


def test_base_image_and_packages_come_from_mirrors(bare_base: str, tmp_path: Path) -> None:
    need(shutil.which("docker-registry"), "docker-registry is not here")
    name = f"tfbuild-test/mirrored-{uuid.uuid4().hex[:8]}:1"
    workspace = copy_workspace(tmp_path / "source", "2.15.1")
    (workspace / "UNIQUE").write_text(str(tmp_path))
    with registry(tmp_path) as address:
        pushed = f"{address}/hub/{name}"
        for words in (("tag", bare_base, pushed), ("push", "--quiet", pushed), ("rmi", pushed)):
            subprocess.run(["docker", *words], check=True, capture_output=True)
        command = (
            *("wheel", "--engine", "docker", "--target", "haswell", *RECIPE),
            *("--bazel", "apt", "--source", "source", "--base-image", name),
            *("--mirror", f"docker.io=http://{address}/hub", "--no-preflight"),
            *("--mirror", "deb.debian.org=http://127.0.0.1:9/mirror"),
        )
        planned = tfbuild(tmp_path, *command, "--dry-run", "--json")
        image = json.loads(planned.stdout)["image"]
        try:
            done = tfbuild(tmp_path, *command)
        finally:
            # With what a failed toolchain leaves for a second try.
            for left in (f"{image}-files", pushed):
                subprocess.run(["docker", "rmi", left], check=False, capture_output=True)
    # Nothing is at port 9 of a container: that apt was sent there shows in what it says.
    assert done.returncode == 5, done.stderr
    assert "cannot reach a server" in done.stderr
    log = next((tmp_path / "cache/tfbuild/logs").glob("*.log")).read_text()
    assert "http://127.0.0.1:9/mirror/debian" in log
    assert "deb.debian.org" not in log.partition("Step: packages")[2]
    assert f"base image: {pushed}" in done.stderr
