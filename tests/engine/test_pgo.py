"""`tfbuild wheel --pgo` with real compilers: the second compile uses what the first counted."""

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need

pytestmark = pytest.mark.engine
Run = Callable[..., "subprocess.CompletedProcess[str]"]
# Of everything the wheel can do, this workspace's check runs one kernel, many times.
CHECK = """
def check():
    from array import array
    side = 120
    a = array("f", [0.5]) * (side * side)
    out = array("f", bytes(4 * side * side))
    for _ in range(30):
        kernels.matmul(side, a, a, out)
    return []
"""


@pytest.fixture
def one_kernel(workspace: Path) -> Path:
    """The workspace with a check that trains `matmul` alone."""
    module = workspace / "tensorflow/python/__init__.py"
    module.write_text(module.read_text() + CHECK)
    return workspace


def options(workspace: Path, compiler: str) -> list[str]:
    return [
        *("wheel", "--json", "--engine", "local", "--bazel", "system", "--target", "haswell"),
        *("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", compiler),
        *("--source", str(workspace)),
    ]


def finish(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def addresses(wheel: Path, into: Path) -> dict[str, int]:
    """Return where each kernel lies in the library, as nm reads it."""
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract("tensorflow_rehearsal/_pywrap_kernels.so", into)
    lines = subprocess.check_output(["nm", "--demangle", library], text=True).splitlines()
    rows = [line.split(maxsplit=2) for line in lines]
    kernels = [(row[2], int(row[0], 16)) for row in rows if row[1:2] in (["T"], ["t"])]
    return {
        name.partition("(")[0]: place
        for name, place in kernels
        if name.startswith("rehearsal::") and "cold" not in name
    }


@pytest.mark.parametrize("compiler", ["system", "clang-14"])
def test_the_trained_kernel_is_hot(
    compiler: str, tfbuild: Run, one_kernel: Path, tmp_path: Path, cache_home: Path
) -> None:
    need(shutil.which("bazel"), "there is no Bazel")
    need(compiler == "system" or Path("/usr/lib/llvm-14/bin/llvm-profdata").exists(), "no Clang 14")
    words, env = options(one_kernel, compiler), {"XDG_CACHE_HOME": str(cache_home)}
    done = tfbuild(*words, "--pgo", env=env)
    trained = finish(done)
    assert trained["version"] == "2.15.1+haswell.pgo"
    assert not list(tmp_path.glob("wheels/*instrumented*")), "it stays in the cache"
    [profile] = Path(cache_home, "tfbuild/pgo").glob(f"*/profile-numbers{_suffix(compiler)}")
    [instrumented] = profile.parent.glob("*.instrumented-*.whl")

    # Compilers put what ran often into a section of its own, and linkers that one first.
    before = addresses(instrumented, tmp_path / "instrumented")
    after = addresses(tmp_path / "wheels" / trained["file"], tmp_path / "trained")
    assert min(before, key=before.__getitem__) != "rehearsal::MatMul"
    assert min(after, key=after.__getitem__) == "rehearsal::MatMul"

    assert trained["profile"] == subprocess.check_output(["sha256sum", profile]).decode().split()[0]
    assert _counted(profile, tmp_path) == {"matmul"}

    # A second time neither the instrumented wheel nor its training is repeated.
    again = tfbuild(*words, "--pgo", env=env)
    assert finish(again)["sha256"] == trained["sha256"]
    assert "Running the instrumented wheel" in done.stderr
    assert "Running the instrumented wheel" not in again.stderr


def _suffix(compiler: str) -> str:
    return ".zip" if compiler == "system" else ".profdata"


def _counted(profile: Path, folder: Path) -> set[str]:
    """Return the kernels that ran, as the compiler's own tools read the profile."""
    if profile.suffix == ".profdata":
        words = ["/usr/lib/llvm-14/bin/llvm-profdata", "show", "--all-functions", "--counts"]
        shown = subprocess.check_output([*words, profile], text=True)
        blocks = shown.split("\n  _ZN9rehearsal")[1:]
        return {_name(block).lower() for block in blocks if _highest(block) > 0}
    with zipfile.ZipFile(profile) as archive:
        archive.extractall(folder / "counts")
    ran = set()
    for path in (folder / "counts").glob("*core#kernels#_objs#*.gcda"):
        lines = subprocess.check_output(["gcov-dump", path], text=True).splitlines()
        if any("COUNTERS arcs" in line and "all zero" not in line for line in lines):
            ran.add(path.name.split("#")[-2])
    return ran


def _highest(block: str) -> int:
    line = next(line for line in block.splitlines() if "Block counts" in line)
    return max(int(word) for word in line.partition("[")[2].rstrip("]").split(", ") if word)


def _name(block: str) -> str:
    digits = block[: next(place for place, letter in enumerate(block) if not letter.isdigit())]
    return block[len(digits) : len(digits) + int(digits)]


def test_a_cpu_that_cannot_be_trained_on(tfbuild: Run, workspace: Path) -> None:
    from tfbuild import host, target

    need(target.find("zen5").why_not(host.detect()), "this CPU runs everything")
    words = options(workspace, "system")
    words[words.index("haswell")] = "zen5"
    words[words.index("2.15.1")] = "2.21.0"
    done = tfbuild(*words, "--pgo")
    assert done.returncode == 4, done.stderr
    assert "--pgo trains on this machine" in done.stderr
    assert "avx512" in done.stderr
