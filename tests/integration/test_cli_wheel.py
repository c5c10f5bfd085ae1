"""`tfbuild wheel` and `tfbuild rehearse` without an engine: plans, refusals, exit codes."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]
COMMANDS = ["wheel", "rehearse"]


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment in which no engine is to be found."""
    folder = tmp_path / "path"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    return {"DOCKER_HOST": "unix:///nonexistent", "PATH": str(folder)}


def test_the_plan_names_everything(tfbuild: Run, nowhere: dict[str, str], tmp_path: Path) -> None:
    done = tfbuild(
        "wheel",
        "--target",
        "skylake",
        "--tensorflow",
        "2.21.0",
        "--dry-run",
        env={**nowhere, "COLUMNS": "400"},
    )
    assert done.returncode == 0, done.stderr
    for word in (
        "-march=skylake-avx512",
        "7.4.1",
        "python:3.12-slim-bookworm",
        "https://pypi.org/simple",
        "github.com",
        "tfbuild-cache-",
        "+skylake-cp312-cp312",
        "hours",
        "not measured here",
    ):
        assert word in done.stdout
    assert "Nothing was contacted" in done.stderr
    assert not (tmp_path / "wheels").exists()


def test_the_plan_as_json(tfbuild: Run, nowhere: dict[str, str]) -> None:
    done = tfbuild(
        *("wheel", "--target", "haswell", "--tensorflow", "2.15.1", "--python", "3.11"),
        *("--bazel-mirror", "https://mirror.example/bazel", "--pip-index", "https://pip.example"),
        *("--apt-mirror", "http://apt.example/debian", "--dry-run", "--json"),
        *("--source", "https://git.example/tf.git#abc"),
        env=nowhere,
    )
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    places = {place["what"]: place["where"] for place in plan["outside"]}
    assert places["TensorFlow source"] == "https://git.example/tf.git#abc"
    assert places["Bazel"] == "https://mirror.example/bazel/6.1.0/bazel-6.1.0-linux-x86_64"
    assert places["Python packages"] == "https://pip.example"
    assert places["system packages"] == "http://apt.example/debian"
    assert plan["flags"][0] == "-march=haswell"


def test_the_digest_fits_into_80_columns(tfbuild: Run, nowhere: dict[str, str]) -> None:
    words = ("wheel", "--target", "haswell", "--tensorflow", "2.21", "--dry-run")
    digest = json.loads(tfbuild(*words, "--json", env=nowhere).stdout)["recipe_digest"]
    assert digest in tfbuild(*words, env={**nowhere, "COLUMNS": "80"}).stdout


def test_the_plan_leads_addresses_to_mirrors_and_nothing_else(
    tfbuild: Run, nowhere: dict[str, str]
) -> None:
    words = ("wheel", "--target", "haswell", "--tensorflow", "2.21", "--dry-run", "--json")
    done = tfbuild(*words, "--mirror", "*=https://mirror.example/all", env=nowhere)
    assert done.returncode == 0, done.stderr
    places = {place["what"]: place["where"] for place in json.loads(done.stdout)["outside"]}
    assert places["system packages"] == "the servers that the base image names"
    hosts = [f"https://mirror.example/all/{host}" for host in ("github.com", "pypi.org")]
    named = places["what that source names"].split(", ")
    assert set(hosts) <= set(named)
    assert named[-1] == "the LLVM project's releases"


def test_the_plan_has_every_option_and_the_memory_of_all_jobs(
    tfbuild: Run, nowhere: dict[str, str]
) -> None:
    done = tfbuild(
        *("wheel", "--target", "haswell", "--tensorflow", "2.15.1", "--python", "3.11"),
        *("--config", "monolithic", "--bazel-arg=--define=a=b", "--jobs", "50", "--dry-run"),
        env={**nowhere, "COLUMNS": "4000"},
    )
    assert done.returncode == 0, done.stderr
    for word in ("--copt=-march=haswell", "--config=monolithic", "--define=a=b"):
        assert word in done.stdout
    assert " 106 GB of memory" in done.stdout  # 6 + 50 * 2


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--target", "skylke"), "skylake"),
        (("--target", "haswell", "--tensorflow", "2.99"), "2.99"),
        (("--target", "haswell", "--tensorflow", "2.8.4", "--python", "3.13"), "3.10"),
        (("--target", "haswell", "--engine", "dokcer"), "docker"),
        (("--target", "haswell", "--base-image", "x; rm -rf /"), "image"),
        (("--target", "haswell", "--vector-width", "512"), "haswell"),
    ],
)
def test_what_does_not_exist(
    command: str, args: tuple[str, ...], word: str, tfbuild: Run, nowhere: dict[str, str]
) -> None:
    done = tfbuild(command, *args, env=nowhere)
    assert done.returncode == 2, done.stderr
    assert word in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_no_engine(command: str, tfbuild: Run, nowhere: dict[str, str]) -> None:
    done = tfbuild(command, "--target", "haswell", env=nowhere)
    assert done.returncode == 5, done.stderr
    assert "No container engine answers" in done.stderr
    assert "apt install docker.io" in done.stderr
    assert "--engine local" in done.stderr


@pytest.mark.parametrize("engine", ["docker", "podman", "local"])
def test_one_engine_that_is_not_there(engine: str, tfbuild: Run, nowhere: dict[str, str]) -> None:
    done = tfbuild("wheel", "--target", "haswell", "--engine", engine, env=nowhere)
    assert done.returncode == 5, done.stderr
    assert "nstall" in done.stderr


def test_a_cpu_that_this_host_is_not(tfbuild: Run, nowhere: dict[str, str]) -> None:
    """No x86-64 host has them all, and no Arm host any."""
    done = tfbuild("wheel", "--target", "sapphirerapids", "--dry-run", env=nowhere)
    assert done.returncode == 0, done.stderr
    if "amx_tile" not in Path("/proc/cpuinfo").read_text():
        assert "this host cannot run the wheel: sapphirerapids needs" in done.stderr
        same = os.uname().machine == "x86_64"
        assert ("It can compile it" in done.stderr) == same


def test_another_architecture_is_not_compiled_here(tfbuild: Run, nowhere: dict[str, str]) -> None:
    x86 = os.uname().machine == "x86_64"
    name, needs = ("neoverse-v1", "aarch64") if x86 else ("haswell", "x86_64")
    done = tfbuild("wheel", "--target", name, "--dry-run", env=nowhere)
    assert done.returncode == 0, done.stderr
    assert f"Nor can it compile it: that takes an engine on {needs}." in done.stderr


def test_rehearsal_keeps_nothing_of_others(
    tfbuild: Run, nowhere: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "precious").write_text("x")
    done = tfbuild("rehearse", "--target", "haswell", "--keep", place, env=nowhere)
    assert done.returncode in {2, 5}
    assert (place / "precious").read_text() == "x"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str, tfbuild: Run) -> None:
    done = tfbuild(command, "--help")
    assert done.returncode == 0
    assert f"Example: tfbuild {command}" in done.stdout


def test_a_proxy_that_containers_do_not_reach(tfbuild: Run) -> None:
    words = ("wheel", "--target", "haswell", "--dry-run")
    env = {"HTTPS_PROXY": "http://127.0.0.1:9"}
    done = tfbuild(*words, env=env)
    assert done.returncode == 0, done.stderr
    assert "HTTPS_PROXY" in done.stderr
    assert "loopback" in done.stderr
    assert "loopback" not in tfbuild(*words, "--engine", "local", env=env).stderr


def test_a_certificate_that_is_none(tfbuild: Run, tmp_path: Path) -> None:
    (tmp_path / "own.pem").write_text("nothing")
    done = tfbuild("wheel", "--target", "haswell", "--dry-run", "--ca-certificate", "own.pem")
    assert done.returncode == 2
    assert "own.pem is no certificate" in done.stderr
