"""Counts of real libraries from the index against objdump and awk."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import AWK_CLASSES, classes_of, compiled, counted_by_awk, need_tools
from tfbuild.code import library as code
from tfbuild.code import parallel
from tfbuild.wheel.inspect import inspect


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return NumPy's wheel: kernels for many CPUs, a stripped library and a Fortran one."""
    need_tools()
    folder = tmp_path_factory.mktemp("numpy")
    command = [sys.executable, "-m", "pip", "download", "numpy==2.2.0", "--no-deps"]
    command += ["--only-binary", ":all:", "--python-version", "3.11", "--dest", str(folder)]
    command += ["--platform", "manylinux_2_17_x86_64"]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    need(fetched.returncode == 0, f"PyPI does not answer: {fetched.stderr[-300:]}")
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.network
def test_a_library_with_kernels_for_many_cpus(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if "_multiarray_umath.cpython" in each]
        library = Path(archive.extract(name, tmp_path))
    theirs = counted_by_awk(library)
    assert theirs["512"] > 100_000
    assert theirs["instructions"] > 1_000_000
    found = parallel.read(library)
    ours = classes_of(found)
    for key in AWK_CLASSES:
        assert ours[key] == pytest.approx(theirs[key], rel=0.01), key
    for key in ("instructions", "256", "fused", "bmi1", "bmi2", "popcnt"):
        assert ours[key] == theirs[key], key
    drawn = code.read(library, full=False)
    assert drawn.mode == "sample"
    assert drawn.total.bytes == found.total.bytes
    held = [
        drawn.total.extensions[key].low <= count.value <= drawn.total.extensions[key].high
        for key, count in found.total.extensions.items()
    ]
    assert sum(held) >= len(held) - 1


@pytest.mark.network
def test_the_whole_wheel_is_told_library_by_library(wheel: Path) -> None:
    found = inspect(wheel, full=True)
    assert found.code is not None
    assert found.code.mode == "full"
    parts = [each.code.total.instructions.value for each in found.libraries if each.code]
    assert len(parts) > 15
    assert found.code.total.instructions.value == sum(parts)
    assert all(each.code or each.unknown for each in found.libraries)


@pytest.mark.parametrize("march", ["sandybridge", "haswell", "skylake-avx512", "sapphirerapids"])
def test_small_libraries_count_exactly_as_awk_counts_them(march: str, tmp_path: Path) -> None:
    need_tools()
    library = compiled(tmp_path, f"-march={march}", "-mprefer-vector-width=512")
    theirs = counted_by_awk(library)
    assert theirs["fused"] > 0 or march == "sandybridge"
    assert classes_of(code.read(library)) == {key: theirs[key] for key in AWK_CLASSES}
