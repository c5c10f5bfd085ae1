"""Whose code published wheels hold, and what always runs: from the index, small ones.

What NumPy needs is in its own documentation: its baseline on x86-64 is SSE, SSE2 and SSE3, and all
else is chosen at run time (doc/source/reference/simd/build-options.rst of 1.26 and 2.2).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild import target
from tfbuild.verify import instructions
from tfbuild.wheel.inspect import inspect


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
    # libgfortran beside it is stripped.
    check, flags = instructions.check(code, target.find("x86-64-v2"))
    assert (check.status, flags.status) == ("warning", "passed")
    assert "avx512f" in check.found
    check, flags = instructions.check(code, target.find("x86-64"))
    assert check.status == "failed"
    assert "_PRESCOTT" in " ".join(check.details)
