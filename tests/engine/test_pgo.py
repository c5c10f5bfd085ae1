"""`tfbuild wheel --pgo` with real compilers: the second compile uses what the first counted."""

# ruff: noqa: ARG002 - the engine that is ready has the real one's arguments

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need
from tfbuild import recipe, target
from tfbuild.engine.base import NO_SETUP, OnLine, Setup
from tfbuild.engine.container import ContainerEngine
from tfbuild.engine.docker import DockerClient
from tfbuild.engine.local import LocalEngine
from tfbuild.errors import BuildError
from tfbuild.pgo import counts
from tfbuild.recipe import Options, Recipe

pytestmark = pytest.mark.engine
Run = Callable[..., "subprocess.CompletedProcess[str]"]
PROFDATA = Path("/usr/lib/llvm-14/bin/llvm-profdata")
IMAGE = "tfbuild-test/profdata:latest"
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


class Ready(ContainerEngine):
    """An engine whose toolchain image is there already."""

    def prepare(self, recipe: Recipe, on_line: OnLine, setup: Setup = NO_SETUP) -> str:
        image = self.client.image(IMAGE)
        assert image is not None
        return image


@pytest.fixture
def image_with_profdata(docker_base: str, tmp_path: Path) -> Iterator[None]:
    """A toolchain image as Clang's: with llvm-profdata, taken from this machine."""
    need(PROFDATA.exists(), "no llvm-profdata 14")
    listed = subprocess.check_output(["ldd", PROFDATA], text=True)
    files = [str(PROFDATA), *(word for word in listed.split() if word.startswith("/"))]
    folder = tmp_path / "image"
    folder.mkdir()
    subprocess.run(["tar", "-chPf", folder / "files.tar", *files], check=True)
    (folder / "Dockerfile").write_text(f"FROM {docker_base}\nADD files.tar /\n")
    subprocess.run(["docker", "build", "-q", "-t", IMAGE, folder], check=True, capture_output=True)
    yield
    subprocess.run(["docker", "rmi", IMAGE], check=True, capture_output=True)


@pytest.mark.usefixtures("image_with_profdata")
def test_counts_are_merged_in_the_toolchain_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes' counts of a program that calls one function five and seven times."""
    source, program = tmp_path / "x.c", tmp_path / "x"
    source.write_text(
        "__attribute__((noinline)) int f(int i) { return i * i; }\n"
        "int main(int n, char **a) { int s = 0; for (int i = 0; i < a[1][0] - '0'; i++) s += f(i);"
        " return s < 0; }\n"
    )
    subprocess.run(["clang-14", "-fprofile-generate", source, "-o", program], check=True)
    counted = tmp_path / "counted"
    for times in ("5", "7"):
        env = {"LLVM_PROFILE_FILE": f"{counted}/counts-{times}.profraw"}
        subprocess.run([program, times], env=env, check=True)
    made = recipe.make(
        "2.16.2",
        "3.11",
        target.find("haswell"),
        options=Options(compiler="clang-14", instrument=True),
    )
    monkeypatch.setattr(counts, "local_tool", lambda _: None)
    place = counts.merge(made, Ready(client=DockerClient()), counted, tmp_path / "p.profdata")
    words = [str(PROFDATA), "show", "--all-functions", "--counts", str(place)]
    shown = subprocess.check_output(words, text=True)
    assert max(_highest(f"Block counts{part}") for part in shown.split("Block counts")[1:]) == 12


def test_no_counts_are_no_profile(tmp_path: Path) -> None:
    for compiler in ("gcc-12", "clang-14"):
        made = recipe.make(
            "2.12.1", "3.11", target.find("haswell"), options=Options(compiler=compiler)
        )
        with pytest.raises(BuildError, match="left no counts"):
            counts.merge(made, LocalEngine(), tmp_path, tmp_path / "profile")


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
