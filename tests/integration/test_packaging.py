"""The package as a user gets it: sdist, wheel made from it, fresh environment."""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from the sdist as pip and uv do."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([find_uv_bin(), "build", "-q", "-o", folder, ROOT], check=True)
    return folder


@pytest.mark.network
def test_the_wheel_holds_all_that_the_tree_holds(dist: Path) -> None:
    names = set(zipfile.ZipFile(next(dist.glob("*.whl"))).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "tfbuild", "templates", "benchmarks"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    expected = {
        name if name.startswith("tfbuild/") else f"tfbuild/{name}" for name in tracked if name
    }
    assert expected <= names
    others = {name for name in names - expected if ".dist-info/" not in name}
    assert not others


@pytest.mark.network
def test_the_sdist_holds_no_wheel_and_no_result(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = [name.split("/", 1)[1] for name in archive.getnames() if "/" in name]
    assert "README.md" in names
    assert not [name for name in names if name.endswith(".whl") or name.startswith("results/")]


@pytest.mark.network
def test_an_installed_tfbuild_renders_from_its_own_templates(dist: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([find_uv_bin(), "venv", "-q", "--python", sys.executable, venv], check=True)
    subprocess.run(
        [find_uv_bin(), "pip", "install", "-q", "-p", venv, next(dist.glob("*.whl"))], check=True
    )
    done = subprocess.run(
        [
            venv / "bin/tfbuild",
            "render",
            "--target",
            "haswell",
            "-o",
            tmp_path / "context",
            "--json",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    json.loads(done.stdout)
    assert "-march=haswell" in (tmp_path / "context" / "tfbuild.bazelrc").read_text()


@pytest.mark.network
def test_the_tensorflow_extra_names_the_official_wheel(dist: Path) -> None:
    archive = zipfile.ZipFile(next(dist.glob("*.whl")))
    name = next(name for name in archive.namelist() if name.endswith("METADATA"))
    lines = archive.read(name).decode().splitlines()
    needs = [line for line in lines if line.startswith("Requires-Dist: tensorflow")]
    assert needs
    assert all("extra == 'tensorflow'" in line for line in needs)
