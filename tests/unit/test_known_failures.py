"""The failures that builders meet most often: kept away by the recipe, or recognised in the log.

The lines in data/failure_lines.txt are what programs print, from the reports that failures.toml
names, with paths of our own.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import DATA
from tfbuild import recipe, release, target
from tfbuild.engine import known
from tfbuild.engine.base import Exit, Facts
from tfbuild.engine.blame import failure
from tfbuild.engine.watch import Watch
from tfbuild.errors import UsageError
from tfbuild.host import Host
from tfbuild.progress import Silent
from tfbuild.recipe import Options, Recipe


def read_lines() -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    here: list[str] = []
    for line in (DATA / "failure_lines.txt").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[([a-z0-9-]+)\]", line):
            here = lines.setdefault(heading[1], [])
        elif line and not line.startswith("#"):
            here.append(line)
    return lines


LINES = read_lines()
FACTS = Facts(name="docker", version="20.10", architecture="x86_64", cpus=4, memory=8 << 30)
# What a build prints when all is well, or fails for a reason of its own.
HARMLESS = [
    "INFO: From Compiling external/upb/upb/upb.c:",
    "[1,234 / 14,094] Compiling tensorflow/core/kernels/matmul_op_fused.cc; 40s local",
    "warning: unknown warning option '-Wno-gnu-offsetof-extensions' [-Wunknown-warning-option]",
    "tensorflow/core/kernels/x.cc:1:1: error: expected ';' after expression",
    "tfbuild: Bazel 6.5.0, -march=skylake-avx512 -mno-avx512fp16",
    "undefined reference to `foo'",
]


def made(tensorflow: str, wanted: str = "haswell", **options: object) -> Recipe:
    one = release.find(tensorflow)
    chosen = Options(**options)  # type: ignore[arg-type]
    return recipe.make(one.version, one.default_python, target.find(wanted), options=chosen)


def bazelrc(one: Recipe) -> set[str]:
    lines = one.files["tfbuild.bazelrc"].decode().splitlines()
    return {word for line in lines for word in shlex.split(line, comments=True)[1:]}


def text(one: Recipe, name: str) -> str:
    return one.files[name].decode()


def refused(tensorflow: str, said: str, python: str = "", **options: object) -> None:
    one = release.find(tensorflow)
    chosen = Options(**options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=said):
        recipe.make(
            one.version, python or one.default_python, target.find("haswell"), options=chosen
        )


SERIES = [one.series for one in release.known()]


def tools_for_any_cpu() -> None:
    for series in SERIES:
        one = made(series, "skylake")
        host = {word for word in bazelrc(one) if word.startswith("--host_copt=-m")}
        assert host == {"--host_copt=-march=x86-64"}
        asked = "--distinct_host_configuration=true" in text(one, "build.sh")
        assert asked == (int(series.partition(".")[2]) <= 12)
    assert "--host_copt=-march=armv8-a" in bazelrc(made("2.21", "neoverse-v1"))
    refused("2.21", "not for a recipe", bazel_args=("--host_copt=-mavx2",))


def named_cpus() -> None:
    for one in target.all_targets():
        assert not [flag for flag in one.flags if "native" in flag]
    refused("2.21", "cannot be part", copts=("-march=native",))


def told_before_the_build() -> None:
    old = Host(
        system="Linux",
        architecture="x86_64",
        vendor="GenuineIntel",
        brand="",
        microarchitecture="core2",
        features=frozenset({"sse", "sse2"}),
        cpus=1,
        source="",
    )
    assert "does not offer" in str(target.find("haswell").why_not(old))


def no_configure() -> None:
    for series in SERIES:
        assert not re.search(r"^\s*\S*\./configure\b", text(made(series), "build.sh"), re.MULTILINE)
    refused("2.21", "cannot be part", configs=("opt",))


def no_avx() -> None:
    for series in SERIES:
        words = bazelrc(made(series, "nehalem"))
        assert not [word for word in words if "avx" in word and "xnn" not in word]
    refused("2.21", "cannot be part", configs=("avx_linux",))
    refused("2.21", "cannot be part", configs=("release_cpu_linux",))


def old_kernels() -> None:
    assert "--define=xnn_enable_avxvnniint8=false" in bazelrc(made("2.18", compiler="gcc-12"))
    assert "--define=xnn_enable_avxvnni=false" in bazelrc(made("2.16", compiler="gcc-10"))
    script = text(made("2.18", compiler="system"), "build.sh")
    assert "without_kernels -mavx512fp16 avx512fp16" in script
    assert "without_kernels -mavxvnniint8 avxvnniint8" in script


def kernels_by_hand() -> None:
    word = "--define=xnn_enable_avx512f=false"
    assert word in bazelrc(made("2.21", "nehalem", bazel_args=(word,)))


def without(flag: str, tensorflow: str) -> Callable[[], None]:
    def look() -> None:
        assert f"--copt={flag}" in bazelrc(made(tensorflow, "sapphirerapids"))
        assert f"--copt={flag}" not in bazelrc(made(tensorflow, "skylake"))

    return look


def warned() -> None:
    assert "49944" in made("2.21", "skylake").known_problems[0]
    assert "49944" in text(made("2.21", "skylake"), "recipe.json")


def whole_march() -> None:
    for one in target.all_targets():
        assert not [flag for flag in made("2.15", one.name).flags if flag.startswith("-mavx512")]
    refused("2.15", "which CPUs run the wheel", copts=("-mavx512f",))


def with_every_clang(*words: str) -> Callable[[], None]:
    def look() -> None:
        for one in release.known():
            if one.compiler.startswith(("clang", "llvm")):
                assert set(words) <= bazelrc(made(one.version))
        assert set(words) <= bazelrc(made("2.12", compiler="clang-14"))

    return look


def headers_of_gcc_12() -> None:
    for series in SERIES:
        assert made(series).base_image.endswith("-slim-bookworm")  # Debian 12: GCC 12
    refused("2.13", "cannot be built with GCC 13", compiler="gcc-13")


def patchelf_in_the_image() -> None:
    for series in SERIES:
        (line,) = re.findall(
            r"^ +install ca-certificates .*$", text(made(series), "toolchain.sh"), re.MULTILINE
        )
        assert "patchelf" in line.split()


def the_releases_own_target() -> None:
    for series in SERIES:
        goal = "wheel" if int(series.partition(".")[2]) >= 17 else "build_pip_package"
        assert f"goal=//tensorflow/tools/pip_package:{goal}" in text(made(series), "build.sh")


def no_script_by_hand() -> None:
    for series in SERIES:
        by_hand = 'build_pip_package "$TFBUILD_OUT"' in text(made(series), "build.sh")
        assert by_hand == (int(series.partition(".")[2]) <= 16)


def python_is_checked() -> None:
    refused("2.18", "does not support Python 3.13", python="3.13")


def the_releases_own_bazel() -> None:
    for one in release.known():
        script = text(made(one.version), "toolchain.sh")
        assert f"/{one.bazel}/bazel-{one.bazel}-linux-" in script


def one_compiler() -> None:
    for one in release.known():
        named = {word for word in bazelrc(made(one.version)) if word.startswith("--repo_env=CC=")}
        assert len(named) == (0 if one.hermetic_compiler else 1)
        assert all(word.startswith("--repo_env=CC=/usr/") for word in named)


def library_of_the_compiler() -> None:
    assert "install gcc-11 g++-11" in text(made("2.12"), "toolchain.sh")
    assert re.search(r"install .*g\+\+ libc6-dev", text(made("2.16"), "toolchain.sh"))


def floors_are_told() -> None:
    from tfbuild.wheel.inspection import Inspection

    assert {"glibc", "glibcxx"} <= set(Inspection.__dataclass_fields__)


def oldest_numpy() -> None:
    packages = text(made("2.12"), "toolchain.sh")
    assert "numpy==1.23.5" in packages
    assert "numpy" not in text(made("2.14"), "toolchain.sh")


PREVENTED: dict[str, Callable[[], None]] = {
    "build-tools-for-another-cpu": tools_for_any_cpu,
    "wheel-for-the-builders-cpu": named_cpus,
    "illegal-instruction-on-import": told_before_the_build,
    "native-by-default": no_configure,
    "no-avx": no_avx,
    "xnnpack-avx512fp16": old_kernels,
    "xnnpack-newer-kernels": old_kernels,
    "xnnpack-kernels-beyond-the-target": kernels_by_hand,
    "eigen-avx512fp16": without("-mno-avx512fp16", "2.16"),
    "wrong-quantised-casts": warned,
    "clang-16-single-avx512-options": whole_march,
    "clang-18-avx512bf16": without("-mno-avx512bf16", "2.20"),
    "lld-undefined-version": with_every_clang("--linkopt=-Wl,--undefined-version"),
    "clang-offsetof": with_every_clang(
        "--copt=-Wno-gnu-offsetof-extensions", "--host_copt=-Wno-gnu-offsetof-extensions"
    ),
    "missing-cstdint": headers_of_gcc_12,
    "patchelf-missing": patchelf_in_the_image,
    "target-missing": the_releases_own_target,
    "script-asks-for-arguments": no_script_by_hand,
    "python-without-lock-file": python_is_checked,
    "another-bazel": the_releases_own_bazel,
    "undeclared-inclusion": one_compiler,
    "libstdcxx-of-build-tools": library_of_the_compiler,
    "libstdcxx-at-import": floors_are_told,
    "numpy-mismatch": oldest_numpy,
}
ALL = {one.id: one for one in known.failures()}


def test_each_is_prevented_or_recognised() -> None:
    assert len(ALL) == 26
    for one in ALL.values():
        assert one.title
        assert one.source
        assert one.prevented or one.pattern
        assert bool(one.pattern) == bool(one.explain) == bool(one.fix)
    assert set(PREVENTED) == {one.id for one in ALL.values() if one.prevented}
    assert set(LINES) == {one.id for one in ALL.values() if one.pattern}


@pytest.mark.parametrize("name", PREVENTED)
def test_what_is_prevented(name: str) -> None:
    PREVENTED[name]()


@pytest.mark.parametrize("name", LINES)
def test_what_is_recognised(name: str) -> None:
    for line in LINES[name]:
        meaning = known.explain([*HARMLESS, line])
        assert meaning is not None, line
        assert meaning.id == name
        assert meaning.line == line
        assert "{" not in meaning.cause + meaning.fix


def test_other_lines_mean_nothing() -> None:
    assert known.explain(HARMLESS) is None


def test_the_first_line_counts() -> None:
    meaning = known.explain([LINES["disk-full"][0], LINES["another-bazel"][0]])
    assert meaning is not None
    assert meaning.id == "disk-full"


@pytest.mark.parametrize("name", sorted(set(LINES) - {"compiler-killed"}))
def test_the_error_tells_the_cause_and_the_fix(name: str, tmp_path: Path) -> None:
    with Watch(tmp_path / "log", Silent()) as run:
        for line in [*HARMLESS[:2], LINES[name][0]]:
            run.line(line)
        error = failure(Exit(code=1), run, FACTS)
    meaning = known.explain([LINES[name][0]])
    assert meaning is not None
    assert meaning.cause in error.why
    assert meaning.source in error.why
    assert meaning.fix in error.do
    assert str(tmp_path / "log") in error.do


def test_a_killed_compiler_is_named_as_want_of_memory(tmp_path: Path) -> None:
    with Watch(tmp_path / "log", Silent()) as run:
        run.line(LINES["compiler-killed"][0])
        error = failure(Exit(code=1), run, FACTS)
    assert "out of memory" in error.what
    assert "--jobs" in error.do


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("47307", "tensorflow/tensorflow issue 47307"),
        ("45744, 46108", "tensorflow/tensorflow issue 45744, 46108"),
        ("llvm/llvm-project issue 67967", "llvm/llvm-project issue 67967"),
    ],
)
def test_reports_are_named_in_full(source: str, told: str) -> None:
    assert known._ISSUE.sub(known._named, source, count=1) == told
