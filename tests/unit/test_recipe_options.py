"""What a user may ask for: where it ends up, and what is refused."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tfbuild import recipe, target
from tfbuild.errors import UsageError
from tfbuild.recipe import Options, Recipe

HASWELL = target.find("haswell")
PLAIN = recipe.make("2.16", "3.12", HASWELL)


def made(tensorflow: str = "2.16", **options: Any) -> Recipe:
    python = "3.12" if tensorflow != "2.12" else "3.11"
    return recipe.make(tensorflow, python, HASWELL, options=Options(**options))


def bazelrc(one: Recipe) -> list[str]:
    lines = one.files["tfbuild.bazelrc"].decode().splitlines()
    return [word for line in lines for word in shlex.split(line, comments=True)[1:]]


@pytest.mark.parametrize(
    ("options", "word", "suffix"),
    [
        ({"optimize": "size"}, "--copt=-Os", ".os"),
        ({"optimize": "speed"}, "--copt=-O3", ".o3"),
        ({"lto": "thin"}, "--copt=-flto=thin", ".lto"),
        ({"lto": "thin"}, "--linkopt=-flto=thin", ".lto"),
        ({"lto": "thin"}, "--repo_env=AR=/usr/lib/llvm-17/bin/llvm-ar", ".lto"),
        ({"instrument": True}, "--copt=-fprofile-generate=/tmp/tfbuild-profile", ".instrumented"),
        ({"instrument": True}, "--linkopt=-fprofile-generate=/tmp/tfbuild-profile", None),
        ({"copts": ("-fno-math-errno",)}, "--copt=-fno-math-errno", None),
        ({"bazel_args": ("--define=a=b",)}, "--define=a=b", None),
        ({"configs": ("nogcp",)}, "--config=nogcp", None),
    ],
)
def test_an_option_reaches_bazel_and_the_label(
    options: dict[str, Any], word: str, suffix: str | None
) -> None:
    one = made(**options)
    assert word in bazelrc(one)
    assert word not in bazelrc(PLAIN)
    assert one.label != PLAIN.label
    assert suffix is None or one.label == PLAIN.label + suffix
    assert one.digest != PLAIN.digest
    assert one.toolchain_digest == PLAIN.toolchain_digest
    if word.startswith("--copt="):
        assert word.removeprefix("--copt=") in one.flags
        assert word.removeprefix("--copt=") in json.loads(one.files["recipe.json"])["flags"]
    assert not [said for said in bazelrc(one) if said.startswith("--host_copt=-f")]


def test_the_same_free_options_give_the_same_label() -> None:
    first, again = made(copts=("-fno-math-errno",)), made(copts=("-fno-math-errno",))
    assert first.label == again.label
    assert first.label != made(copts=("-ffinite-math-only",)).label


def test_thin_lto_is_refused_where_gcc_compiles() -> None:
    for tensorflow, compiler in (("2.12", "release"), ("2.16", "system"), ("2.16", "gcc-12")):
        with pytest.raises(UsageError, match="needs Clang"):
            made(tensorflow, lto="thin", compiler=compiler)
    assert made("2.21", lto="thin").flags[-1] == "-flto=thin"


@pytest.mark.parametrize(
    "flag",
    [
        *("-march=native", "-mtune=native", "-march=znver3", "-mcpu=native", "-mavx512f", "-mfma"),
        *(
            "-Wa,-mavx2",
            "-Wp,-D__AVX2__",
            "-Xclang",
            "-Xclang=-mavx2",
            "-c",
            "-o",
            "-include",
            "-flto",
            "@file",
        ),
        *("-O2 -g", "-DA='b'", "-D$(id)", "-DA=1\nbuild --host_copt=-O3", "", "-", "#", "-D"),
        *("-fprofile-use=/x", "-mprefer-vector-width=512", "haswell", "--copt=-O3"),
    ],
)
def test_a_flag_that_would_lie_or_break_is_refused(flag: str) -> None:
    with pytest.raises(UsageError, match="--copt"):
        made(copts=(flag,))


@pytest.mark.parametrize(
    "flag", ["-mno-fma", "-mtune=znver3", "-DA=1", "-fno-math-errno", "-g1", "-Wno-error=x"]
)
def test_other_flags_pass(flag: str) -> None:
    assert made(copts=(flag,)).flags[-1] == flag


def test_fast_math_is_taken_with_a_word_of_warning() -> None:
    assert "denormal" in made(copts=("-ffast-math",)).notices[0]
    assert made(copts=("-fno-math-errno",)).notices == ()


@pytest.mark.parametrize(
    "word",
    [
        *("--copt=-mavx2", "--host_copt=-O3", "--per_file_copt=x@-mavx2", "--config=opt"),
        *("--jobs=3", "--remote_cache=grpc://x", "--remote_header=a=b"),
        *("--disk_cache=/x", "--cpu=k8", "--platforms=//x", "--output_base=/x", "--color=yes"),
        *("--fdo_optimize=/x", "--nobuild", "--bes_backend=x", "--host_jvm_args=-Xmx1g"),
        *("--repo_env=BAZEL_CXXOPTS=-mavx2", "--action_env=BAZEL_COPTS=-mavx2"),
        *("--repo_env=CC=/x", "--repo_env=BAZEL_LINKOPTS=-lx", "--repo_env=BAZEL_LINKLIBS=-lx"),
    ],
)
def test_what_a_recipe_or_a_run_sets_itself_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="not for a recipe") as caught:
        made(bazel_args=(word,))
    assert caught.value.do


@pytest.mark.parametrize("word", ["", "x", "-x", "--", "--a b", "--a='b'", "--a=$(id)", "--a\n"])
def test_what_is_no_bazel_option_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="--bazel-arg"):
        made(bazel_args=(word,))


@pytest.mark.parametrize("name", ["", "a b", "--x", "A", "a\n"])
def test_what_is_no_name_of_a_configuration_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--config"):
        made(configs=(name,))


def test_a_profile_travels_along(tmp_path: Path) -> None:
    profile = tmp_path / "counts.profdata"
    profile.write_bytes(b"one")
    one = made(profile=profile)
    assert one.archives == {"profile.profdata": profile}
    assert one.script_files()["profile.profdata"] == b"one"
    assert one.label == "haswell.pgo"
    assert "profile.profdata" in one.files["Dockerfile"].decode()
    assert one.toolchain_digest == PLAIN.toolchain_digest
    one.write(tmp_path / "out")
    assert (tmp_path / "out/profile.profdata").read_bytes() == b"one"
    profile.write_bytes(b"two")
    with pytest.raises(UsageError, match="has changed"):
        one.script_files()
    profile.write_bytes(b"two")
    assert made(profile=profile).digest != one.digest
    PLAIN.write(tmp_path / "out")
    assert not (tmp_path / "out/profile.profdata").exists()


def test_a_profile_belongs_to_its_compiler(tmp_path: Path) -> None:
    clangs, gccs = tmp_path / "a.profdata", tmp_path / "a.zip"
    clangs.touch()
    gccs.touch()
    assert made("2.12", profile=gccs).label == "haswell.pgo"
    with pytest.raises(UsageError, match="cannot be used by GCC"):
        made("2.12", profile=clangs)
    with pytest.raises(UsageError, match="cannot be used by Clang"):
        made("2.16", profile=gccs)
    with pytest.raises(UsageError, match="no profile that tfbuild can use"):
        made(profile=Path(__file__))
    with pytest.raises(UsageError, match="There is no profile"):
        made(profile=tmp_path / "none.profdata")
    with pytest.raises(UsageError, match="either gathers"):
        made(profile=clangs, instrument=True)


@pytest.mark.parametrize("name", ["icc", "gcc", "clang-", "gcc-12; id", "gcc-012", "llvm-18", ""])
def test_a_compiler_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--compiler"):
        made(compiler=name)


def test_a_named_compiler_in_place_of_bazels_own() -> None:
    one = made("2.21", compiler="clang-18")
    assert "--repo_env=CC=/usr/lib/llvm-18/bin/clang" in bazelrc(one)
    assert "--repo_env=USE_HERMETIC_CC_TOOLCHAIN=0" in bazelrc(one)
    script = one.files["build.sh"].decode()
    assert "--noincompatible_enable_cc_toolchain_resolution" in script
