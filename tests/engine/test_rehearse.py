"""The rehearsal on real engines; its wheels are read with objdump."""

import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need, pyenv_python
from tests.engine import disassembly
from tests.engine.disassembly import Disassembly

pytestmark = pytest.mark.engine
RELEASE = ("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def rehearse(
    tfbuild: Run, folder: Path, cache_home: Path, *args: str, path: Path | None = None
) -> tuple[Disassembly, dict[str, Any]]:
    """Run `tfbuild rehearse`; return objdump's view on the kept wheel, and the JSON document."""
    done = tfbuild(
        *("rehearse", *RELEASE, "--json", "--keep", folder / "kept", *args),
        env={
            "XDG_CACHE_HOME": str(cache_home),
            "PATH": os.pathsep.join([*([str(path)] if path else []), os.environ["PATH"]]),
        },
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    wheel = folder / "kept/wheels" / document["wheel"]["file"]
    assert wheel.is_file()
    return disassembly.of_wheel(wheel, folder / "unpacked"), document


def check_code(target: str, code: Disassembly) -> None:
    """Check that the code is what the target demands, and not what another one would."""
    if target == "nehalem":
        assert code.packed > 50
        assert (code.vex, code.ymm, code.zmm, code.fused) == (0, 0, 0, 0)
    elif target == "haswell":
        assert code.ymm > 20
        assert code.fused > 20
        assert (code.avx512, code.zmm) == (0, 0)
    else:
        assert code.avx512 > 0
        assert code.fused > 20


@pytest.mark.parametrize("target", ["skylake", "haswell", "nehalem"])
def test_docker(
    target: str, tfbuild: Run, tmp_path: Path, cache_home: Path, docker_base: str
) -> None:
    code, document = rehearse(
        tfbuild,
        tmp_path,
        cache_home,
        *("--engine", "docker", "--target", target, "--base-image", docker_base),
    )
    check_code(target, code)
    assert document["wheel"]["version"] == f"2.15.1+{target}"
    assert document["engine"].startswith("docker ")
    outcomes = {step["name"]: step["outcome"] for step in document["steps"]}
    assert {
        outcomes[name] for name in ("instructions", "host tools", "components", "pip install")
    } == {"passed"}


def test_docker_prefers_wide_vectors(
    tfbuild: Run, tmp_path: Path, cache_home: Path, docker_base: str
) -> None:
    code, _ = rehearse(
        tfbuild,
        tmp_path,
        cache_home,
        *("--engine", "docker", "--target", "skylake", "--vector-width", "512"),
        *("--base-image", docker_base),
    )
    assert code.zmm > 20


def test_the_newest_release_uses_the_other_target(
    tfbuild: Run, tmp_path: Path, cache_home: Path, docker_base: str
) -> None:
    """2.21 makes its wheel as an output of the build (kind C), 2.15 runs a program (kind A)."""
    code, document = rehearse(
        tfbuild,
        tmp_path,
        cache_home,
        *("--engine", "docker", "--target", "haswell", "--base-image", docker_base),
        *("--tensorflow", "2.21.0"),
    )
    check_code("haswell", code)
    assert document["wheel"]["version"] == "2.21.0+haswell"


def test_a_release_that_shares_flags_with_host_tools(
    tfbuild: Run, tmp_path: Path, cache_home: Path, local_bazel: None
) -> None:
    """The trees up to 2.12 do; the recipe undoes it, or `host tools` would fail."""
    pyenv = pyenv_python("3.10")
    need(pyenv, "no Python 3.10")
    assert pyenv is not None
    _, document = rehearse(
        tfbuild,
        tmp_path,
        cache_home,
        *("--engine", "local", "--target", "haswell"),
        *("--tensorflow", "2.12.1", "--python", "3.10"),
        path=pyenv.parent,
    )
    assert document["wheel"]["version"] == "2.12.1+haswell"
    source = tmp_path / "kept/source/release.bazelrc"
    assert source.read_text() == "build --distinct_host_configuration=false\n"


def test_podman(tfbuild: Run, tmp_path: Path, cache_home: Path, podman_base: str) -> None:
    code, document = rehearse(
        tfbuild,
        tmp_path,
        cache_home,
        *("--engine", "podman", "--target", "haswell", "--base-image", podman_base),
    )
    check_code("haswell", code)
    assert document["engine"].startswith("podman ")


def test_local(tfbuild: Run, tmp_path: Path, cache_home: Path, local_bazel: None) -> None:
    code, document = rehearse(
        tfbuild, tmp_path, cache_home, "--engine", "local", "--target", "nehalem"
    )
    check_code("nehalem", code)
    assert document["wheel"]["image"] is None
    runs = [step for step in document["steps"] if step["name"].endswith(" run")]
    assert {step["outcome"] for step in runs} == {"passed"}


def test_shared_host_configuration_is_found_out(
    tmp_path: Path, workspace: Path, local_bazel: None
) -> None:
    """Without the recipe's care, host tools get the target's flags: the rehearsal refuses that."""
    from tfbuild.errors import WheelError
    from tfbuild.rehearse import checks

    startup = ["bazel", f"--output_base={tmp_path}/output"]
    build = ["build", "-c", "opt", "--copt=-mavx2", "--repo_env=PYTHON_BIN_PATH=/usr/bin/python3"]
    wheels: dict[str, Path] = {}
    for distinct in ("true", "false"):
        options = [f"--distinct_host_configuration={distinct}"]
        target = "//tensorflow/tools/pip_package:wheel"
        subprocess.run(
            [*startup, *build, *options, target], cwd=workspace, check=True, capture_output=True
        )
        made = next(workspace.glob("bazel-bin/tensorflow/tools/pip_package/wheel_house/*.whl"))
        wheels[distinct] = tmp_path / f"{distinct}.whl"
        wheels[distinct].write_bytes(made.read_bytes())
    subprocess.run([*startup, "shutdown"], cwd=workspace, check=True, capture_output=True)
    with zipfile.ZipFile(wheels["false"]) as archive:
        assert b'"avx2"' in archive.read("tensorflow_rehearsal/host_tools.py")
    with pytest.raises(WheelError, match="reached programs that run during the build"):
        checks.host_tools(wheels["false"])
    assert checks.host_tools(wheels["true"])


@pytest.fixture
def local_bazel() -> None:
    done = subprocess.run(["bazel", "--version"], capture_output=True, check=False, cwd="/")
    need(done.returncode == 0, "no Bazel on this machine")
    headers = subprocess.run(
        ["/usr/bin/python3", "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    need(headers, "no /usr/bin/python3")
