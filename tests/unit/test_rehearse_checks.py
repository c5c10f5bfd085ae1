"""The rehearsal's checks refuse wheels that are not what the target demands."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import need
from tests.unit.test_sbom import RECORD
from tests.wheels import make_wheel
from tfbuild import provenance, target
from tfbuild.errors import SaveError, WheelError
from tfbuild.made import Made
from tfbuild.progress import Silent
from tfbuild.rehearse import checks, copy_workspace
from tfbuild.rehearse.steps import CheckList, Skipped, Stopwatch
from tfbuild.wheel.label import relabel

KERNELS = """
void axpy(float a, const float *x, float *y, long n) {
  for (long i = 0; i < n; ++i) y[i] += a * x[i];
}
void multiply(const long *x, long *y, long n) {
  for (long i = 0; i < n; ++i) y[i] *= x[i];
}
"""


def wheel(folder: Path, *flags: str, host_tools: str = "HOST_TOOLS = ()\n") -> Path:
    """Compile the kernels and put them where the rehearsal's wheel has its own."""
    source, library = folder / "k.c", folder / "k.so"
    source.write_text(KERNELS)
    subprocess.run(
        ["gcc", "-O3", "-shared", "-fPIC", "-nostdlib", *flags, source, "-o", library], check=True
    )
    package = "tensorflow_rehearsal"
    files: dict[str, bytes | str] = {
        f"{package}/_pywrap_kernels.so": library.read_bytes(),
        f"{package}/host_tools.py": host_tools,
    }
    return make_wheel(folder, package, "2.15.1", "cp311-cp311-linux_x86_64", files=files)


@pytest.fixture(autouse=True)
def _compiler() -> None:
    done = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=False)
    need(done.stdout.startswith("x86_64"), "no GCC for x86-64")


@pytest.mark.parametrize("name", ["nehalem", "sandybridge", "haswell", "skylake"])
def test_right_flags_pass(name: str, tmp_path: Path) -> None:
    one = target.find(name)
    assert "fused" in checks.instructions(wheel(tmp_path, *one.flags), one)


@pytest.mark.parametrize(
    ("compiled", "wanted", "why"),
    [
        ("nehalem", "haswell", "no AVX code"),
        ("haswell", "skylake", "no AVX-512 code"),
        ("haswell", "nehalem", "code that needs avx"),
        ("skylake", "haswell", "code that needs avx512"),
    ],
)
def test_wrong_flags_are_refused(compiled: str, wanted: str, why: str, tmp_path: Path) -> None:
    made = wheel(tmp_path, *target.find(compiled).flags)
    with pytest.raises(WheelError) as caught:
        checks.instructions(made, target.find(wanted))
    assert why in caught.value.why


def test_other_architectures_are_skipped(tmp_path: Path) -> None:
    with pytest.raises(Skipped):
        checks.instructions(tmp_path / "x.whl", target.find("neoverse-n1"))


def test_host_tools_with_target_flags_are_refused(tmp_path: Path) -> None:
    made = wheel(tmp_path, host_tools='# told\nHOST_TOOLS = (\n    "avx2",\n)\n')
    with pytest.raises(WheelError, match="during the build") as caught:
        checks.host_tools(made)
    assert "avx2" in caught.value.why


def test_host_tools_at_the_baseline(tmp_path: Path) -> None:
    assert "baseline" in checks.host_tools(wheel(tmp_path))


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="bundled workspace"):
        checks.host_tools(make_wheel(tmp_path))


def test_numbers_are_not_asked_of_a_foreign_cpu(tmp_path: Path) -> None:
    with pytest.raises(Skipped, match="needs avx512f"):
        checks.numbers(tmp_path, "3.11", "skylake needs avx512f.")


def test_check_list_keeps_the_reason_of_a_skip() -> None:
    todo = CheckList(Silent())
    with todo.step("fine") as finding:
        finding.detail = "found"
    with todo.step("not here"):
        raise Skipped("because")
    with pytest.raises(WheelError), todo.step("broken"):
        raise WheelError("broken")
    assert [(step.name, step.outcome, step.detail) for step in todo.steps] == [
        ("fine", "passed", "found"),
        ("not here", "skipped", "because"),
    ]


def test_stopwatch_knows_every_phase() -> None:
    watch = Stopwatch(Silent())
    watch.phase("a")
    watch.phase("b")
    assert list(watch.times()) == ["a", "b"]


def test_a_workspace_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="cannot be copied") as caught:
        copy_workspace(tmp_path / "file/source", "2.21.0")
    assert caught.value.why == "Not a directory"


def test_a_disk_that_fills_up_meanwhile_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object, **_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(SaveError) as caught:
        copy_workspace(tmp_path / "source", "2.21.0")
    assert "No space left" in caught.value.why
    assert len(caught.value.why.splitlines()) == 1


@pytest.mark.parametrize(
    ("names", "recipe", "said"),
    [
        ((), "ab" * 32, "1 in sboms/tfbuild.cdx.json"),
        (None, "ab" * 32, "does not tell"),
        ((), "cd" * 32, "another recipe"),
    ],
)
def test_the_wheel_tells_what_it_was_made_of(
    names: tuple[str, ...] | None, recipe: str, said: str, tmp_path: Path
) -> None:
    inside = provenance.inside(RECORD, Made(repositories=names))
    made = relabel(make_wheel(tmp_path / "in"), "haswell", tmp_path, inside)
    built = replace(RECORD, recipe_digest=recipe)
    try:
        found = checks.components(made, built)
    except (Skipped, WheelError) as error:
        found = str(error)
    assert said in found
