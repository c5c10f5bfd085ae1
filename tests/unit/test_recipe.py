"""What holds for every rendered context, whatever its golden copy says."""

import json
import re
import shlex
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need
from tfbuild import recipe, release, target
from tfbuild.errors import SaveError, UsageError
from tfbuild.recipe import Options, Recipe, Sources

SKYLAKE = target.find("skylake")
HASWELL = target.find("haswell")
RELEASES = release.known()
IDS = [one.version for one in RELEASES]
# Patch releases of one series differ in numbers only.
SERIES = {one.series: one for one in RELEASES}.values()
BIN = Path(sys.executable).parent


def made(version: str, wanted: target.Target = SKYLAKE, **sources: str) -> Recipe:
    one = release.find(version)
    return recipe.make(version, one.default_python, wanted, Sources(**sources))


def bazelrc(made_: Recipe) -> list[str]:
    """Return the words after `build` of the lines that are no comment."""
    lines = made_.files["tfbuild.bazelrc"].decode().splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    assert all(not line or line[0] == "build" for line in words)
    return [word for line in words for word in line[1:]]


def text(made_: Recipe) -> str:
    return "\n".join(data.decode() for data in made_.files.values())


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_every_python_of_every_release_renders(one: release.Release) -> None:
    for python in one.pythons:
        assert recipe.make(one.version, python, SKYLAKE).python == python


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_target_flags_reach_target_code_only(one: release.Release) -> None:
    words = bazelrc(made(one.version))
    assert [word for word in words if "avx512" in word and "xnn" not in word] == [
        "--copt=-march=skylake-avx512"
    ]
    assert [word for word in words if word.startswith("--host_copt=-march")] == [
        "--host_copt=-march=x86-64"
    ]
    for flag in SKYLAKE.flags:
        assert f"--copt={flag}" in words
    # A flag for C++ alone would leave C kernels behind; the build has many.
    assert not [word for word in words if word.startswith(("--cxxopt", "--host_cxxopt"))]


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_nothing_depends_on_the_builders_own_cpu(one: release.Release) -> None:
    assert "=native" not in text(made(one.version))


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_host_configuration_is_distinct_up_to_2_12_and_not_named_after(
    one: release.Release,
) -> None:
    script = made(one.version).files["build.sh"].decode()
    named = re.findall(r"--distinct_host_configuration=\w+", script)
    minor = int(one.version.split(".")[1])
    assert named == (["--distinct_host_configuration=true"] if minor <= 12 else [])
    assert "distinct_host" not in made(one.version).files["tfbuild.bazelrc"].decode()


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_no_named_config_is_used(one: release.Release) -> None:
    # `opt` exists only after ./configure, `release_cpu_linux` and `avx_linux` set flags for tools.
    assert "--config" not in text(made(one.version))
    assert "./configure\n" not in made(one.version).files["build.sh"].decode()


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_the_right_thing_is_built(one: release.Release) -> None:
    script = made(one.version).files["build.sh"].decode()
    minor = int(one.version.split(".")[1])
    assert ("//tensorflow/tools/pip_package:wheel" in script) == (minor >= 17)
    assert ("//tensorflow/tools/pip_package:build_pip_package" in script) == (minor <= 16)


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_variables_of_the_repositories(one: release.Release) -> None:
    words = bazelrc(made(one.version))
    minor = int(one.version.split(".")[1])
    python = one.default_python
    assert (f"--repo_env=TF_PYTHON_VERSION={python}" in words) == (minor >= 14)
    assert (f"--repo_env=HERMETIC_PYTHON_VERSION={python}" in words) == (minor >= 14)
    assert ("--repo_env=WHEEL_NAME=tensorflow" in words) == (minor >= 17)
    assert ("--repo_env=USE_PYWRAP_RULES=1" in words) == (minor >= 20)
    assert ("--repo_env=ML_WHEEL_TYPE=release" in words) == (minor >= 20)


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_a_compiler_is_named_where_bazel_downloads_none(one: release.Release) -> None:
    compilers = [word for word in bazelrc(made(one.version)) if word.startswith("--repo_env=CC=")]
    minor = int(one.version.split(".")[1])
    if minor >= 20:
        assert compilers == []
        assert "--repo_env=USE_HERMETIC_CC_TOOLCHAIN=1" in bazelrc(made(one.version))
    elif minor >= 13:
        version = 16 if minor <= 15 else 17 if minor <= 18 else 18
        assert compilers == [f"--repo_env=CC=/usr/lib/llvm-{version}/bin/clang"]
        assert 'install "clang-$version"' in made(one.version).files["toolchain.sh"].decode()
    else:
        assert compilers == ["--repo_env=CC=/usr/bin/gcc-11"]
        assert "install gcc-11 g++-11" in made(one.version).files["toolchain.sh"].decode()


def test_kernels_that_the_compiler_does_not_know_are_left_out() -> None:
    gcc_12 = recipe.make("2.18", "3.12", SKYLAKE, options=Options(compiler="gcc-12"))
    # GCC 12 knows all but avxvnniint8, which came with 13.
    off = [word for word in bazelrc(gcc_12) if "xnn" in word]
    assert off == ["--define=xnn_enable_avxvnniint8=false"]
    # This release's XNNPACK has neither the kernels nor the switch.
    assert not [word for word in bazelrc(made("2.12")) if "xnn" in word]
    for one in RELEASES:
        if one.compiler.startswith(("clang", "llvm")):
            assert not [word for word in bazelrc(made(one.version)) if "xnn" in word]


def test_the_images_compiler() -> None:
    chosen = recipe.make("2.21", "3.12", SKYLAKE, options=Options(compiler="system"))
    words, script = bazelrc(chosen), chosen.files["build.sh"].decode()
    assert not [word for word in words if word.startswith("--repo_env=CC=")]
    assert "--repo_env=USE_HERMETIC_CC_TOOLCHAIN=0" in words
    assert "--noincompatible_enable_cc_toolchain_resolution" in script
    assert "without_kernels -mavx512fp16 avx512fp16" in script
    older = recipe.make("2.18", "3.12", SKYLAKE, options=Options(compiler="system"))
    assert "USE_HERMETIC" not in text(older)


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_same_input_same_bytes(one: release.Release) -> None:
    first, second = made(one.version), made(one.version)
    assert first == second
    assert list(first.files) == sorted(first.files)


def test_digests_tell_what_changes_what() -> None:
    base = made("2.21")
    assert re.fullmatch(r"[0-9a-f]{64}", base.digest)
    other_target = made("2.21", HASWELL)
    assert other_target.digest != base.digest
    assert other_target.toolchain_digest == base.toolchain_digest
    width = recipe.make("2.21", "3.12", SKYLAKE, options=Options(vector_width=512))
    assert width.digest != base.digest
    assert width.toolchain_digest == base.toolchain_digest
    busy = recipe.make("2.21", "3.12", SKYLAKE, options=Options(jobs=7, memory=9000))
    assert (busy.digest, busy.files == base.files) == (base.digest, False)
    for changed in (
        made("2.20"),
        recipe.make("2.21", "3.11", SKYLAKE),
        made("2.21", bazel="7.7.0"),
        made("2.21", base_image="debian:trixie"),
        made("2.21", apt_mirror="http://mirror.example/debian"),
    ):
        assert changed.digest != base.digest
        assert changed.toolchain_digest != base.toolchain_digest


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
def test_every_target_shares_the_toolchain(one: release.Release) -> None:
    known_to_gcc_11 = [SKYLAKE, HASWELL, target.find("nehalem"), target.find("x86-64-v3")]
    digests = {made(one.version, wanted).toolchain_digest for wanted in known_to_gcc_11}
    assert len(digests) == 1


def test_a_local_tree_travels_along_and_counts(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tensorflow/tools/pip_package").mkdir(parents=True)
    (tree / "a").write_text("1")
    first = made("2.21", source=str(tree))
    assert first.archives == {"source.tar": tree}
    assert "COPY source.tar" in first.files["Dockerfile"].decode()
    (tree / "a").write_text("2")
    second = made("2.21", source=str(tree))
    assert second.digest != first.digest
    assert second.toolchain_digest != first.toolchain_digest
    assert str(tmp_path) not in text(first)


def test_a_local_tree_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    (tree / "tensorflow/tools/pip_package").mkdir(parents=True)
    (tree / "a").write_text("1")
    real = Path.open

    def forbid(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self == tree / "a":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", forbid)
    with pytest.raises(UsageError, match=r"Cannot read .*tree/a") as caught:
        made("2.21", source=str(tree))
    assert caught.value.why == "Permission denied"


def test_a_local_bazel_travels_along(tmp_path: Path) -> None:
    (tmp_path / "bazel-7").write_bytes(b"\x7fELF")
    one = made("2.21", bazel=str(tmp_path / "bazel-7"))
    one.write(tmp_path / "out")
    assert (tmp_path / "out" / "bazel").read_bytes() == b"\x7fELF"
    assert "COPY bazel /tfbuild/bin/bazel" in one.files["Dockerfile"].decode()


def test_sources_replace_what_is_outside() -> None:
    one = made(
        "2.19",
        base_image="registry.example:5000/debian:12",
        source="https://git.example/tf.git#abc",
        bazel="6.5.0",
        bazel_mirror="https://files.example/bazel",
        pip_index="http://pypi.example:8080/simple",
        apt_mirror="http://apt.example/debian",
        llvm_mirror="https://llvm.example",
    )
    # What is left of the world: nothing but the addresses that were given.
    scripts = "\n".join(
        one.files[name].decode()
        for name in ("Dockerfile", "toolchain.sh", "build.sh", "tfbuild.bazelrc")
    )
    hosts = set(re.findall(r"https?://([a-z0-9.:-]+)", scripts))
    # Where uv looks for a Python that the distribution lacks is named for --mirror's sake.
    assert "python-build-standalone" in scripts
    assert hosts - {"github.com"} == {
        "git.example",
        "files.example",
        "pypi.example:8080",
        "apt.example",
        "llvm.example",
    }
    assert "FROM registry.example:5000/debian:12 AS toolchain" in scripts
    assert "PIP_TRUSTED_HOST=pypi.example:8080" in scripts
    assert "--repo_env=PIP_INDEX_URL=http://pypi.example:8080/simple" in bazelrc(one)


def test_bazel_is_checked_by_its_hash() -> None:
    script = made("2.21").files["toolchain.sh"].decode()
    assert "check /tfbuild/bin/bazel c97f02133adce63f0c28678ac1f21d65fa8255c8" in script
    assert ".sha256" in made("2.21", bazel="7.4.2").files["toolchain.sh"].decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"flags": ("-march=native",)},
        {"flags": ("-mtune=native",)},
        {"flags": ("-march=haswell", "-O2 -g")},
        {"flags": ("-march=haswell\nbuild --host_copt=-mavx2",)},
        {"flags": ("-march=$(id)",)},
        {"flags": ("-march=haswell;id",)},
        {"flags": ("@/etc/passwd",)},
        {"flags": ("haswell",)},
        {"name": "a\nRUN id"},
        {"name": "$(id)"},
        {"label": "a b"},
        {"architecture": "x86_64; id"},
        {"requires": frozenset({"avx\n"})},
    ],
)
def test_a_target_that_is_not_one_never_reaches_a_file(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        made("2.21", replace(HASWELL, **wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("python", ["3", "3.12.1", "3.12; id", "python3.12", "", "3.12\n"])
def test_a_python_that_is_none_is_refused(python: str) -> None:
    with pytest.raises(UsageError):
        recipe.make("2.21", python, SKYLAKE)


@pytest.mark.parametrize("number", [0, -1])
def test_numbers_are_positive(number: int) -> None:
    for options in (Options(jobs=number), Options(memory=number)):
        with pytest.raises(UsageError):
            recipe.make("2.21", "3.12", SKYLAKE, options=options)


def test_a_vector_width_changes_flags_and_label() -> None:
    wide = recipe.make("2.21", "3.12", SKYLAKE, options=Options(vector_width=512))
    assert "--copt=-mprefer-vector-width=512" in bazelrc(wide)
    assert "--copt=-mprefer-vector-width=256" not in bazelrc(wide)
    assert wide.label != made("2.21").label
    assert wide.target.vector_width == 512
    with pytest.raises(UsageError):
        recipe.make("2.21", "3.12", HASWELL, options=Options(vector_width=512))


def test_known_problems_are_told() -> None:
    assert made("2.21").known_problems
    assert not made("2.21", HASWELL).known_problems


def test_recipe_json_says_what_was_decided() -> None:
    decided = json.loads(made("2.21").files["recipe.json"])
    assert decided["schema"] == "tfbuild.recipe/1"
    assert decided["tensorflow"] == "2.21.0"
    assert decided["flags"] == list(SKYLAKE.flags)
    assert decided["source"]["sha256"] == release.find("2.21").source_sha256


# Writing


def test_written_files_are_the_recipes(tmp_path: Path) -> None:
    one = made("2.21")
    one.write(tmp_path / "a" / "b")
    found = {path.name: path.read_bytes() for path in (tmp_path / "a" / "b").iterdir()}
    assert found == dict(one.files)
    for name in ("build.sh", "toolchain.sh"):
        assert (tmp_path / "a" / "b" / name).stat().st_mode & stat.S_IXUSR


def test_an_older_context_is_written_over_and_its_archives_go(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tensorflow/tools/pip_package").mkdir(parents=True)
    made("2.21", source=str(tree)).write(tmp_path / "out")
    assert (tmp_path / "out" / "source.tar").exists()
    made("2.20", HASWELL).write(tmp_path / "out")
    assert not (tmp_path / "out" / "source.tar").exists()
    assert b"haswell" in (tmp_path / "out" / "tfbuild.bazelrc").read_bytes()


@pytest.mark.parametrize("name", ["notes.txt", "Dockerfile", "recipe.json"])
def test_somebody_elses_folder_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"schema": "somebody.else/1"}')
    with pytest.raises(UsageError, match="not empty"):
        made("2.21").write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        made("2.21").write(tmp_path / "file")


def test_a_full_disk_while_writing_is_told(tmp_path: Path) -> None:
    need(Path("/dev/full").exists(), "/dev/full is not here")
    (tmp_path / "out").symlink_to("/dev/full")
    with pytest.raises((SaveError, UsageError)):
        made("2.21").write(tmp_path / "out")


# What other programs think of the files


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three contexts of every series: plain, with local sources, with remote ones."""
    top = tmp_path_factory.mktemp("contexts")
    (top / "tree/tensorflow/tools/pip_package").mkdir(parents=True)
    local = Sources(
        source=str(top / "tree"),
        bazel="apt",
        base_image="debian:bookworm",
        pip_index="http://pypi.example/simple",
        apt_mirror="http://apt.example/debian",
    )
    remote = Sources(source="https://git.example/tf.git", bazel="https://files.example/bazel")
    system = Options(compiler="system", jobs=2, memory=4096)
    for one in SERIES:
        for name, sources, options in (
            ("plain", None, None),
            ("local", local, None),
            ("remote", remote, system),
        ):
            context = recipe.make(one.version, one.default_python, SKYLAKE, sources, options)
            context.write(top / f"{one.version}-{name}")
        # Where build.sh has most to find out, and where nothing is x86.
        asks = recipe.make(one.version, one.default_python, target.find("zen4"), None, system)
        asks.write(top / f"{one.version}-asks")
        arm = recipe.make(one.version, one.default_python, target.find("neoverse-v2"))
        arm.write(top / f"{one.version}-arm")
    return top


def test_hadolint_finds_nothing(contexts: Path) -> None:
    need((BIN / "hadolint").exists(), "hadolint is not installed")
    # Files that differ in their first comment only count once.
    dockerfiles = {
        path.read_text().partition("\n\n")[2]: path for path in contexts.glob("*/Dockerfile")
    }
    assert len(dockerfiles) >= 3
    subprocess.run([BIN / "hadolint", *sorted(dockerfiles.values())], check=True)


def test_shellcheck_finds_nothing(contexts: Path) -> None:
    need((BIN / "shellcheck").exists(), "shellcheck is not installed")
    scripts = sorted(contexts.glob("*/*.sh"))
    assert len(scripts) == 2 * 5 * len(SERIES)
    # Scripts that differ in numbers only count once.
    numbers = re.compile(r"\b[0-9a-f]{16,}\b|\d+(?:\.\d+)+")
    distinct = {numbers.sub("0", path.read_text()): path for path in scripts}
    assert len(distinct) >= 10
    subprocess.run([BIN / "shellcheck", *distinct.values()], check=True)


@pytest.mark.parametrize("one", RELEASES, ids=IDS)
@pytest.mark.parametrize("name", ["neoverse-n1", "neoverse-v1", "neoverse-v2"])
def test_an_arm_recipe_has_nothing_of_x86(one: release.Release, name: str) -> None:
    made_ = made(one.version, target.find(name))
    words, all_files = bazelrc(made_), text(made_)
    # GCC 11 knows the newest one's predecessor, which has the same instruction sets.
    known_as = "neoverse-n2" if made_.compiler == "gcc-11" and name == "neoverse-v2" else name
    assert f"--copt=-mcpu={known_as}" in words
    assert [word for word in words if word.startswith("--host_copt=-m")] == [
        "--host_copt=-march=armv8-a"
    ]
    assert not re.search(r"avx|xnn_enable|x86-64|mprefer", "\n".join(words))
    assert "[[ $(uname -m) == aarch64 ]]" in made_.files["build.sh"].decode()
    assert "without_kernels" not in all_files
    # Bazel's own compiler came to Arm later.
    assert made_.compiler == ("clang-18" if one.hermetic_compiler else one.compiler)
    assert ("--repo_env=USE_HERMETIC_CC_TOOLCHAIN=0" in words) == one.hermetic_compiler
    assert "--platform linux/arm64" in made_.files["README.md"].decode()


def test_bazel_for_arm_is_checked_too() -> None:
    arm = target.find("neoverse-v1")
    newest = made("2.21", arm).files["toolchain.sh"].decode()
    # jax-ml/jax, build/build.py.
    assert "check /tfbuild/bin/bazel d7aedc8565ed47b6231badb80b09f034e389c5f2b1c2ac2c5540" in newest
    oldest = made("2.8", arm).files["toolchain.sh"].decode()
    assert 'fetch "$address.sha256"' in oldest


def test_no_builder_needs_buildkit() -> None:
    for one in RELEASES:
        dockerfile = made(one.version).files["Dockerfile"].decode()
        assert "# syntax" not in dockerfile
        assert "--mount" not in dockerfile
        assert "<<" not in dockerfile
        # Buildah ignores it in its own image format, and the steps would run in another shell.
        assert not re.search(r"^SHELL", dockerfile, re.MULTILINE)
        stages = re.findall(r"^FROM (\S+) AS (\S+)$", dockerfile, re.MULTILINE)
        assert [name for _, name in stages] == ["toolchain", "compile", "wheel"]
        assert stages[2][0] == "scratch"
