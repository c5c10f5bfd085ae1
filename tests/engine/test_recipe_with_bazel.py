"""A real Bazel as the oracle: which flags does which compilation get?

The workspace is the one of `tfbuild rehearse`: kernels for the target, and a program that runs
during the build. Bazel's own action query tells each command line.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild import recipe, release, resources, target
from tfbuild.recipe import Options, Sources

pytestmark = pytest.mark.engine
RECORDING = """#!/bin/bash
[[ " $* " != *" build "* ]] || printf '%s\\n' "$@" >"$CALL"
exec bazel "$@"
"""


@pytest.mark.parametrize("tensorflow", ["2.12", "2.21"])
def test_target_flags_reach_kernels_and_not_the_builds_own_tools(
    tensorflow: str, tmp_path: Path
) -> None:
    need(shutil.which("bazel"), "bazel is not here")
    # AVX-512, which few builders have: the tools of the build must run all the same.
    one = release.find(tensorflow)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    need(python in one.pythons, f"TensorFlow {tensorflow} has no Python {python}")
    made = recipe.make(
        one.version,
        python,
        target.find("skylake"),
        Sources(bazel="system"),
        Options(compiler="system", jobs=2),
    )
    made.write(tmp_path / "context")
    tree = tmp_path / "source"
    shutil.copytree(resources.folder("templates") / "rehearsal", tree)
    if one.distinct_host_configuration:
        # As the trees of these releases have it.
        rc = "build --distinct_host_configuration=false\n"
        (tree / "shared_host.bazelrc").write_text(rc)
    (tmp_path / "bazel").write_text(RECORDING)
    (tmp_path / "bazel").chmod(0o755)
    places = {
        "TFBUILD_SOURCE": tree,
        "TFBUILD_CACHE": tmp_path / "cache",
        "TFBUILD_OUTPUT_BASE": tmp_path / "output_base",
        "TFBUILD_OUT": tmp_path / "out",
        "TFBUILD_BAZELRC": tmp_path / "context/tfbuild.bazelrc",
        "TFBUILD_BAZEL": tmp_path / "bazel",
        "TFBUILD_PYTHON": sys.executable,
        "CALL": tmp_path / "call",
    }
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    environment |= {name: str(value) for name, value in places.items()}
    done = subprocess.run(
        ["bash", tmp_path / "context/build.sh"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        assert done.returncode == 0, done.stderr[-3000:]
        assert len(list((tmp_path / "out").glob("*.whl"))) == 1
        actions = _compilations((tmp_path / "call").read_text().splitlines(), tree)
    finally:
        subprocess.run(
            ["bazel", f"--output_base={tmp_path}/output_base", "shutdown"], cwd=tree, check=False
        )
    kernels = [text for text in actions if "tensorflow/core/kernels/" in text]
    tools = [text for text in actions if "gen_coefficients.cc" in text]
    assert len(kernels) >= 10
    assert tools
    for text in kernels:
        assert "-march=skylake-avx512" in text
        assert "-march=x86-64'" not in text
        assert "-march=x86-64 " not in text
    for text in tools:
        assert "skylake" not in text
        assert "-march=x86-64" in text


def _compilations(call: list[str], tree: Path) -> list[str]:
    """Return the text of each C++ compilation that the recorded call of Bazel implies."""
    at = call.index("build")
    query = f'mnemonic("CppCompile", deps({call[-1]}))'
    done = subprocess.run(
        ["bazel", *call[:at], "aquery", *call[at + 1 : -1], query],
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    return [text for text in done.stdout.split("\n\n") if "CppCompile" in text]
