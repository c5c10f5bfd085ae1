"""A real Bazel as the oracle: which flags does which compilation get?

The workspace is the one of `tfbuild rehearse`: kernels for the target, and a program that runs
during the build. Bazel's own action query tells each command line.
"""

import shutil
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine.script import PYTHON, Workspace
from tfbuild import recipe, release, target
from tfbuild.recipe import Options, Sources

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("tensorflow", ["2.12", "2.21"])
def test_target_flags_reach_kernels_and_not_the_builds_own_tools(
    tensorflow: str, tmp_path: Path
) -> None:
    need(shutil.which("bazel"), "bazel is not here")
    # AVX-512, which few builders have: the tools of the build must run all the same.
    one = release.find(tensorflow)
    need(PYTHON in one.pythons, f"TensorFlow {tensorflow} has no Python {PYTHON}")
    made = recipe.make(
        one.version,
        PYTHON,
        target.find("skylake"),
        Sources(bazel="system"),
        Options(compiler="system", jobs=2),
    )
    with Workspace(folder=tmp_path) as workspace:
        out = workspace.build(made, "built")
        assert len(list(out.glob("*.whl"))) == 1
        actions = workspace.compilations()
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
