"""Whose code a function is and what guards it: names from published wheels' symbol tables."""

import re
import tomllib
from typing import Any

import pytest

from tests.conftest import DATA as DATA_OF_TESTS
from tfbuild import target
from tfbuild.code import components, extensions
from tfbuild.resources import DATA

COMPONENTS: dict[str, Any] = tomllib.loads((DATA / "components.toml").read_text())["components"]
DISPATCHERS: dict[str, Any] = tomllib.loads((DATA / "dispatchers.toml").read_text())

LINES = (DATA_OF_TESTS / "function_names.tsv").read_text().splitlines()
REAL = [
    ["" if field == "-" else field for field in line.split("\t")]
    for line in LINES
    if not line.startswith("#")
]


@pytest.mark.parametrize(
    ("symbol", "source", "component", "guard"),
    REAL,
    ids=[row[0][:60] or "nameless" for row in REAL],
)
def test_a_name_tells_whose_it_is_and_what_guards_it(
    symbol: str, source: str, component: str, guard: str
) -> None:
    assert components.place(symbol, source) == (component, guard)


def test_each_rule_has_a_source_and_promises_something_known() -> None:
    guards = DISPATCHERS["guards"]
    for rule in DISPATCHERS["dispatchers"]:
        assert rule["source"].startswith("https://")
        assert rule.get("component", "other") in COMPONENTS
        choices = re.findall(r"\(\?P<guard>(.*?)\)(?=[(\\E|$\w]|$)", rule.get("symbol", ""))
        fixed = [rule["guard"]] if "guard" in rule else []
        for guard in fixed:
            assert guard in guards, guard
        assert fixed or choices or "file" in rule or "?P<guard>" in rule["symbol"]


def test_extensions_are_those_that_instructions_have() -> None:
    assert set(DISPATCHERS["implies"]) == set(extensions.ORDER) - {"baseline", "other"}


@pytest.mark.parametrize("guard", sorted(DISPATCHERS["guards"]))
def test_a_guard_promises_extensions_that_exist(guard: str) -> None:
    assert components.promises(guard) <= set(DISPATCHERS["implies"])


def test_promises_are_closed() -> None:
    assert components.promises("") == components.promises("nobody's") == frozenset()
    assert components.promises("sse2") == frozenset()
    assert {"avx2", "avx", "sse4_2", "ssse3", "fma"} <= components.promises("avx2")
    assert "avx512f" not in components.promises("avx2")
    assert components.promises("any") == set(DISPATCHERS["implies"])
    skx = components.promises("avx512skx")
    assert {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx2"} <= skx
    assert "avx512_vnni" not in skx
    assert "avx512_bf16" in components.promises("n_avx3_spr")
    assert components.promises("arch_haswell") >= target.find("haswell").requires
    assert components.promises("arch_never") == frozenset()


@pytest.mark.parametrize("extension", sorted(DISPATCHERS["implies"]))
def test_what_an_extension_implies_is_true_of_every_cpu_here(extension: str) -> None:
    implied = set(DISPATCHERS["implies"][extension].split())
    for one in target.all_targets():
        if one.architecture == "x86_64" and extension in one.requires:
            assert implied <= one.requires | target.ignorable("x86_64"), one.name


@pytest.mark.parametrize(
    ("symbol", "generates"),
    [
        ("_ZN4dnnl4impl3cpu3x6421jit_avx512_core_kernel_t8generateEv", ("onednn", "avx512f")),
        ("_ZN4dnnl4impl3cpu3x6438jit_avx512_core_amx_kernel_t8generateEv", ("onednn", "amx_tile")),
        ("_ZZN4dnnl4impl3cpu3x6421jit_sse41_1x1_conv_kernel_t8generateEvE1x", ("onednn", "sse4_1")),
        ("_ZN3xla3cpu11CpuCompiler10RunBackendEv", ("xla", "")),
        ("_ZN4dnnl4impl3cpu19ref_convolution_fwd_t7executeEv", None),
        ("xnn_f32_vadd_minmax_ukernel__avx512f_u16", None),
        ("", None),
    ],
)  # fmt: skip
def test_generators_of_code_are_known(symbol: str, generates: tuple[str, str] | None) -> None:
    assert components.generator(symbol) == generates


@pytest.mark.parametrize(
    "symbol",
    [
        "xnn_" + "_ukernel_" * 100_000,
        "xnn_ukernel_" + "_avx" * 100_000 + "!",
        "__kmp_rtm" * 100_000,
        "_ZN" + "4dnnl4impl3cpu3x64" * 50_000,
        "_ZN3ynn9" + "_avx" * 100_000,
        "_ZN3ruy9Kernel" + "Avx" * 100_000,
        "_ZSt13__adjust_heapIPf" + "15_Iter_comp_iterIPFbRKf" * 20_000,
        "sgemm" + "_HASWELL" * 50_000 + "!",
        "_Z" + "9" * 100_000,
        "_ZN999" + "x" * 10,
        "5Eige" * 100_000,
        "\udcff\x00_Z",
    ],
    ids=lambda symbol: symbol[:12].encode("unicode_escape").decode(),
)
def test_absurd_names_are_placed_soon(symbol: str) -> None:
    place = components.place(symbol, symbol)
    assert place.component in COMPONENTS
    assert isinstance(components.promises(place.guard), frozenset)
    components.generator(symbol)


def test_a_library_that_is_released_without_names() -> None:
    place = components.of_library("libgfortran-040039e1.so.5.0.0")
    assert place is not None
    for name in ("libgfortran.so.5", "libgfortran-040039e1-0352e75f.so.5.0.0"):
        assert components.of_library(name) == place
    assert components.promises(place.guard) >= {"avx", "avx2", "fma", "fma4", "avx512f"}
    assert "avx512vl" not in components.promises(place.guard)
    for name in ("libquadmath-96973f99.so.0.0.0", "notlibgfortran.so", "libgfortranish.so"):
        assert components.of_library(name) is None
