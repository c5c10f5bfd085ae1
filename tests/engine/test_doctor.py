"""`tfbuild doctor` and the look before a build, on real engines, disks and ports."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need
from tests.engine.test_registry import push, registry

pytestmark = pytest.mark.engine
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def options(workspace: Path, base: str) -> list[str]:
    return [
        *("--target", "haswell", "--tensorflow", "2.15.1", "--python", "3.11"),
        *("--compiler", "system", "--bazel", "apt"),
        *("--source", str(workspace), "--base-image", base),
    ]


def findings(done: "subprocess.CompletedProcess[str]") -> dict[str, list[dict[str, Any]]]:
    document = json.loads(done.stdout)
    assert document["schema"] == "tfbuild.doctor/1"
    by_name: dict[str, list[dict[str, Any]]] = {}
    for each in document["findings"]:
        by_name.setdefault(each["about"], []).append(each)
    return by_name


def test_all_is_well_on_docker(
    tfbuild: Run, workspace: Path, docker_base: str, tmp_path: Path
) -> None:
    done = tfbuild("doctor", "--engine", "docker", "--json", *options(workspace, docker_base))
    assert done.returncode == 0, done.stdout
    found = findings(done)
    states = {each["state"] for name in found for each in found[name]}
    assert states <= {"ok", "warning"}
    words = ["docker", "info", "--format", "{{.ServerVersion}} {{.DockerRootDir}} {{.NCPU}}"]
    version, storage, cpus = subprocess.check_output(words, text=True).split()
    assert found["engine"][0]["what"].startswith(f"docker {version}, with root, {cpus} CPUs")
    [disk] = [each for each in found["disk"] if "images and caches" in each["what"]]
    free = int(subprocess.check_output(["df", "-B1", "--output=avail", storage]).split()[-1])
    told = re.search(r"([0-9.]+) GiB free", disk["what"])
    assert told is not None
    assert float(told.group(1)) == pytest.approx(free / 2**30, rel=0.2)
    assert any("would be taken" in each["what"] for each in found["engines"])
    assert found["uv"][0]["what"] in subprocess.check_output(["uv", "--version"], text=True)
    assert not (tmp_path / "wheels").exists(), "it changes nothing"


def test_local_engine(tfbuild: Run, workspace: Path) -> None:
    need(shutil.which("bazel"), "there is no Bazel")
    words = ["system" if word == "apt" else word for word in options(workspace, "debian")]
    done = tfbuild("doctor", "--json", "--engine", "local", *words)
    assert done.returncode == 0, done.stdout
    tools = findings(done)["tools"][0]["what"]
    assert str(shutil.which("bazel")) in tools


def test_wheel_names_everything_in_the_way(tfbuild: Run, workspace: Path, tmp_path: Path) -> None:
    disk = tmp_path / "full"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    need(mounted.returncode == 0, "only root may mount")
    try:
        done = tfbuild(
            *("wheel", "--engine", "docker", "--output-dir", disk / "wheels"),
            *options(workspace, "debian:bookworm"),
            *("--apt-mirror", "http://127.0.0.1:9/debian"),
            env={"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"},
        )
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 5, done.stderr  # of the first
    assert "things are in the way" in done.stderr
    told = re.findall(r"^ +\d+\. (.*)$", done.stderr, re.MULTILINE)
    assert told[0] == "docker does not answer."
    assert any(f"{disk}: 4 MiB free" in line for line in told)
    assert any("127.0.0.1:9 cannot be reached" in line for line in told)
    assert "--apt-mirror" in done.stderr


def test_base_image_that_no_registry_has(tfbuild: Run, workspace: Path, tmp_path: Path) -> None:
    need(shutil.which("docker-registry"), "there is no docker-registry")
    with registry(tmp_path) as host:
        name = f"{host}/tfbuild-test/known:latest"
        push(name, str(tmp_path).encode())
        told = {}
        for image in (name, f"{host}/tfbuild-test/unknown:latest", "127.0.0.1:9/none:latest"):
            done = tfbuild("doctor", "--engine", "docker", "--json", *options(workspace, image))
            [told[image]] = findings(done)["image"]
    known, unknown, dead = told.values()
    assert (known["state"], known["what"]) == ("ok", f"{name} can be fetched")
    assert (unknown["state"], unknown["exit_code"]) == ("failure", 5)
    assert "unknown" in unknown["why"]
    assert "connection refused" in dead["why"]
    assert "--base-image" in dead["do"]


def test_too_many_jobs_for_the_memory(tfbuild: Run, workspace: Path, docker_base: str) -> None:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    jobs = str(int(4 * gigabytes + 10))  # half a gibibyte each in a small tree, and half of that
    done = tfbuild(
        *("wheel", "--engine", "docker", "--jobs", jobs), *options(workspace, docker_base)
    )
    assert done.returncode == 2, done.stderr
    assert f"for {jobs} compilations at a time are too little" in done.stderr
    assert "--jobs " in done.stderr.split("linker.")[1]


def test_no_preflight_goes_on_to_the_engine(tfbuild: Run, workspace: Path, tmp_path: Path) -> None:
    done = tfbuild(
        *("wheel", "--no-preflight", "--engine", "docker"),
        *options(workspace, "debian:bookworm"),
        *("--apt-mirror", "http://127.0.0.1:9/debian"),
        env={"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"},
    )
    assert done.returncode == 5
    assert "docker does not answer." in done.stderr
    assert "127.0.0.1:9" not in done.stderr


def test_options_that_do_not_fit_are_told_together(tfbuild: Run) -> None:
    words = ("--target", "haswell", "--tensorflow", "2.8.4", "--python", "3.12")
    done = tfbuild("wheel", *words, "--compiler", "gcc-13", "--dry-run")
    assert done.returncode == 2
    assert "cannot be built with GCC 13" in done.stderr
    assert "does not support Python 3.12" in done.stderr


def test_doctor_on_a_machine_without_engines(tfbuild: Run, tmp_path: Path) -> None:
    done = tfbuild(
        "doctor",
        env={"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock", "PATH": "/nowhere"},
    )
    assert done.returncode == 5
    for word in ("docker: docker does not answer", "podman: podman is not installed", "local: "):
        assert word in done.stdout
    assert "No container engine answers." in done.stdout
