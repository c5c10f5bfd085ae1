"""Whose code published wheels hold, and what always runs: from the index, small ones.

What NumPy needs is in its own documentation: its baseline on x86-64 is SSE, SSE2 and SSE3, and all
else is chosen at run time (doc/source/reference/simd/build-options.rst of 1.26 and 2.2).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild import environment, host, spec, target
from tfbuild.choice import choose
from tfbuild.code import minimum
from tfbuild.installer import Installer
from tfbuild.progress import Silent
from tfbuild.verify import instructions
from tfbuild.wheel.inspect import inspect, installed


@pytest.mark.network
@pytest.mark.parametrize("version", ["1.26.4", "2.2.0"])
def test_numpy_needs_its_documented_baseline(version: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", f"numpy=={version}", "--no-deps"]
    command += ["--only-binary", ":all:", "--python-version", "3.11", "--dest", str(tmp_path)]
    command += ["--platform", "manylinux_2_17_x86_64"]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    need(fetched.returncode == 0, f"PyPI does not answer: {fetched.stderr[-300:]}")
    (wheel,) = tmp_path.glob("*.whl")
    found = inspect(wheel, full=True)
    code = found.code
    assert code is not None
    assert found.minimum is not None
    assert code.required - {"3dnowprefetch"} == {"sse3"}
    assert found.minimum.target == "core2"
    numpy, openblas = code.part("numpy"), code.part("openblas")
    assert numpy
    assert openblas
    # Kernels for AVX-512 are there, behind checks.
    assert not numpy.always.has("avx")
    assert not openblas.always.has("avx")
    assert numpy.dispatched.widths[512].value > 1000
    assert openblas.dispatched.widths[512].value > 1000
    # libgfortran beside it is stripped, and known for its choice at run time.
    fortran = code.part("gfortran")
    assert fortran
    assert fortran.dispatched.widths[512].value > 100
    assert code.unsure == ()
    check, flags = instructions.check(code, target.find("x86-64-v2"))
    assert (check.status, flags.status) == ("passed", "passed")
    check, flags = instructions.check(code, target.find("x86-64"))
    assert check.status == "failed"
    assert "_PRESCOTT" in " ".join(check.details)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("requirement", "lowest"),
    # What pip's wheels are compiled with is in TensorFlow's .bazelrc (avx_linux: -mavx). Since some
    # release after 2.18 Eigen converts half-precision numbers by F16C, which Sandy Bridge lacks.
    [("tensorflow-cpu==2.14.0", "sandybridge"), ("tensorflow-cpu==2.21.0", "ivybridge")],
)
def test_the_official_wheels_need_avx_and_hold_more(requirement: str, lowest: str) -> None:
    cpu, installer = host.detect(), Installer()
    (choice,) = choose(
        [spec.parse(requirement)], environment.here(cpu, Path("wheels"), installer)
    ).choices
    need(choice.interpreter, f"no Python {choice.python} for {requirement}")
    made = environment.prepare(choice, installer, cpu, Silent())
    found = installed(made.python)
    code = found.code
    assert code is not None
    assert code.symbols == "full"
    assert minimum.of(code).target == lowest
    assert minimum.excess(code, target.find(lowest).requires) == ()
    # What is beyond AVX is chosen at run time, and whoever does it is named.
    for name in ("xnnpack", "boringssl", "tflite"):
        part = code.part(name)
        assert part
        assert not part.always.has("avx2")
    assert any(part.dispatched.has("avx2") for part in code.parts)
    assert {"onednn", "xla"} <= {one.component for one in code.generators}
    _, flags = instructions.check(code, target.find("haswell"))
    assert flags.status == "failed"
    assert [text.split()[0] for text in flags.details] == ["AVX2", "FMA", "BMI2"]
