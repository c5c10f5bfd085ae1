"""What a recipe does where compiler, release and target do not fit."""

import json
import shlex

import pytest

from tfbuild import recipe, release, target
from tfbuild.errors import UsageError
from tfbuild.recipe import Options, Recipe

ZEN4, ZEN5 = target.find("zen4"), target.find("zen5")
SAPPHIRE_RAPIDS = target.find("sapphirerapids")


def made(tensorflow: str, wanted: target.Target, compiler: str = "release") -> Recipe:
    one = release.find(tensorflow)
    return recipe.make(one.version, one.default_python, wanted, options=Options(compiler=compiler))


def copts(one: Recipe) -> list[str]:
    lines = one.files["tfbuild.bazelrc"].decode().splitlines()
    words = [word for line in lines for word in shlex.split(line, comments=True)]
    return [word.removeprefix("--copt=") for word in words if word.startswith("--copt=-m")]


def test_an_older_compiler_gets_the_nearest_flags_and_says_so() -> None:
    one = made("2.21", ZEN5)
    assert copts(one)[:3] == ["-march=znver4", "-mavxvnni", "-mprefer-vector-width=512"]
    assert one.flags[: len(copts(one))] == tuple(copts(one))
    assert any("Clang 18" in notice and "-march=znver4" in notice for notice in one.notices)
    assert json.loads(one.files["recipe.json"])["notices"] == list(one.notices)
    # Less than the target has: a CPU that has all of it runs the wheel.
    assert one.target.requires == ZEN5.requires
    assert one.label == "zen5"


def test_gcc_11_gets_zen_4_as_zen_3_with_avx512() -> None:
    one = made("2.12", ZEN4)
    assert copts(one)[0] == "-march=znver3"
    assert {"-mavx512f", "-mavx512bf16", "-mgfni"} <= set(copts(one))
    assert "-march=znver4" not in copts(one)
    assert len(one.notices) == 1


def test_a_compiler_that_knows_the_target_says_nothing() -> None:
    for tensorflow in ("2.8", "2.13", "2.17", "2.21"):
        assert made(tensorflow, target.find("skylake")).notices == ()


def test_the_script_chooses_where_only_it_can_ask() -> None:
    for compiler in ("gcc-12", "system"):
        one = made("2.18", ZEN4, compiler)
        assert "-march=znver4" not in copts(one)
        script = one.files["build.sh"].decode()
        first, second = script.index("knows -march=znver4"), script.index("knows -march=znver3")
        assert first < second
        assert one.flags[0] == "-march=znver4"
        assert any("may be older than znver4" in notice for notice in one.notices)


def test_nothing_near_is_refused() -> None:
    with pytest.raises(UsageError, match="Clang 10 does not know neoverse-v2") as caught:
        made("2.8", target.find("neoverse-v2"), "clang-10")
    assert "neoverse-v2 came with Clang 16" in caught.value.why


@pytest.mark.parametrize(
    ("tensorflow", "compiler", "said"),
    [
        ("2.14", "gcc-13", "cannot be built with GCC 13"),
        ("2.17", "gcc-11", "cannot be built with GCC 11"),
        ("2.18", "clang-15", "cannot be built with Clang 15"),
        ("2.13", "clang-17", "cannot be built with Clang 17"),
    ],
)
def test_pairs_that_fail_are_refused_with_the_source(
    tensorflow: str, compiler: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        made(tensorflow, target.find("haswell"), compiler)
    assert "py_tensorflow" in caught.value.why
    assert release.find(tensorflow).compiler in caught.value.do


def test_what_a_compiler_dies_of_is_left_out_and_said() -> None:
    # Clang 18 and AVX512-BF16: llvm/llvm-project issue 143365; -FP16: easybuild-easyconfigs 25233.
    one = made("2.21", SAPPHIRE_RAPIDS)
    assert copts(one)[0] == "-march=sapphirerapids"
    assert {"-mno-avx512bf16", "-mno-avx512fp16"} <= set(copts(one))
    assert any("143365" in notice for notice in one.notices)
    assert any("25233" in notice for notice in one.notices)
    # Clang 17 with an Eigen that fails on it: tensorflow/tensorflow issue 64221.
    one = made("2.16", SAPPHIRE_RAPIDS)
    assert "-mno-avx512fp16" in copts(one)
    assert "-mno-avx512bf16" not in copts(one)
    # GCC 11 has no AVX512-FP16, and would not know the flag.
    assert not [flag for flag in copts(made("2.12", SAPPHIRE_RAPIDS)) if flag.startswith("-mno")]


def test_every_pair_of_release_and_target_renders_with_flags_of_its_compiler() -> None:
    for series in ("2.8", "2.12", "2.13", "2.16", "2.17", "2.18", "2.19", "2.20", "2.21"):
        for one in target.all_targets():
            rendered = made(series, one)
            assert rendered.flags
            single = [flag for flag in rendered.flags if flag.startswith("-mavx512")]
            # Single AVX-512 options crash Clang 16 and 18: llvm/llvm-project issue 67967.
            if rendered.compiler.startswith(("clang", "llvm")):
                assert single == [], (series, one.name)
