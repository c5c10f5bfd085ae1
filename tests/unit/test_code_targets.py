"""The compiler makes code for each target, and inspection names the target.

What a target requires is what compilers announce for it (test_target_compilers); the source has one
function for each of these instruction sets. That the instructions are there, objdump says.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DATA, need
from tests.libraries import compiled, need_tools
from tfbuild import compilers, target
from tfbuild.code import library, minimum
from tfbuild.compilers import Compiler
from tfbuild.target import Target

X86 = {one.name: one for one in target.all_targets() if one.architecture == "x86_64"}
SOURCE = (DATA / "extensions.c").read_text()
BASELINE = frozenset({"sse", "sse2", "lahf_lm"})
"""What every x86-64 CPU has; and LAHF, which every compiler can do without."""
# An instruction of each set, from Intel's and AMD's manuals.
MNEMONICS = {
    "adx": "adcx",
    "aes": "v?aesenc",
    "avx": "vz(?:eroupper|eroall)|vmovaps|vmovups|vmovss|vmovsd",
    "avx2": "vpaddd .*ymm",
    "avx512_bf16": "vdpbf16ps",
    "avx512_bitalg": "vpopcntb",
    "avx512_fp16": "vaddph",
    "avx512_vbmi2": "vpcompressb",
    "avx512_vnni": "vpdpbusd .*zmm",
    "avx512_vpopcntdq": "vpopcntd",
    "avx512bw": "vpaddb .*zmm",
    "avx512cd": "vpconflictd",
    "avx512dq": "vpmullq",
    "avx512f": "v.* .*zmm",
    "avx512ifma": "vpmadd52luq",
    "avx512vbmi": "vpermb",
    "avx512vl": "vprold .*ymm",
    "avx_vnni": r"\{vex\} vpdpbusd",
    "bmi1": "andn ",
    "bmi2": "shlx",
    "cx16": "(?:lock )?cmpxchg16b",
    "f16c": "vcvtps2ph ",
    "fma": "vfm(?:add|sub)[123]+[ps][sd]",
    "fma4": "vfmaddps",
    "gfni": "v?gf2p8mulb",
    "lzcnt": "lzcnt",
    "movbe": "movbe",
    "pclmulqdq": "v?pclmul",
    "popcnt": "popcnt",
    "rdrand": "rdrand",
    "rdseed": "rdseed",
    "sha_ni": "sha1nexte",
    "sse3": "v?haddps",
    "sse4_1": "v?pmulld",
    "sse4_2": "crc32",
    "sse4a": "extrq",
    "ssse3": "v?pshufb",
    "tbm": "blcfill",
    "vaes": "vaesenc .*ymm",
    "vpclmulqdq": "vpclmul.*ymm",
    "xop": "vprotd",
    "xsave": "xgetbv",
}
# With AVX, what older sets do is encoded as AVX, and needs that alone.
UNDER_AVX = {"sse3", "ssse3", "sse4_1"}


def gcc() -> tuple[int, ...]:
    need(shutil.which("gcc"), "needs gcc")
    done = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True)
    return tuple(int(part) for part in done.stdout.split("."))


def flags(one: Target) -> tuple[str, ...]:
    """Return what this machine's GCC is told for the target; an older one, the nearest CPU."""
    found = compilers.choices(one, Compiler(family="gcc", major=None))
    here = gcc()[:2]
    fit = [choice.flags for choice in found if choice.since <= here <= choice.until]
    need(fit, f"gcc {here} cannot compile for {one.name}")
    return fit[0]


def shown(path: Path) -> set[str]:
    """Return the extensions of which objdump shows an instruction."""
    done = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True
    )
    lines = "\n".join(re.findall(r"^ *[0-9a-f]+:\t(.*)$", done.stdout, re.MULTILINE))
    return {name for name, text in MNEMONICS.items() if re.search(rf"(?m)^{text}", lines)}


@pytest.mark.parametrize("name", X86)
def test_inspection_names_the_target(name: str, tmp_path: Path) -> None:
    need_tools()
    one = X86[name]
    path = compiled(tmp_path, *flags(one), source=SOURCE)
    visible = one.requires - BASELINE
    assert shown(path) == visible
    code = library.read(path)
    assert code.symbols == "full"
    hidden = UNDER_AVX if "avx" in visible else set()
    assert code.required - {"3dnowprefetch"} == visible - hidden
    found = minimum.of(code)
    assert found.target is not None
    assert target.find(found.target).requires == one.requires
    assert minimum.excess(code, one.requires) == ()
    assert minimum.arrived(code, one) == ()
    # A CPU that lacks any of it is too low.
    for other in X86.values():
        if not one.requires <= other.requires:
            assert minimum.excess(code, other.requires)


KERNEL = """
__attribute__((target("{isa}")))
void {name}(float *restrict y, const float *restrict x, float a, int n)
{{ for (int i = 0; i < n; i++) y[i] += a * x[i]; }}
"""


@pytest.mark.parametrize(
    ("name", "isa", "lowest"),
    [
        ("xnn_f32_vmulc_minmax_ukernel__avx512f_u16", "avx512f", "x86-64-v2"),
        ("xnn_f32_vmulc_minmax_ukernel__avx2_u16", "avx2,fma", "x86-64-v2"),
        ("jsimd_convert_avx2", "avx2", "x86-64-v2"),
        ("saxpy_SKYLAKEX", "avx512f,avx512vl", "x86-64-v2"),
        # Names that no project here stands for tell nothing.
        ("saxpy_avx512f", "avx512f", "x86-64-v4"),
        ("saxpy__avx2_u16", "avx2,fma", "x86-64-v3"),
        ("saxpy_SKYLAKE", "avx512f,avx512vl", "x86-64-v4"),
        # The check is there but assures less than the function needs.
        ("xnn_f32_vmulc_minmax_ukernel__sse41_u16", "avx512f", "x86-64-v4"),
        ("xnn_f32_vmulc_minmax_ukernel__avx2_u16", "avx512f", "x86-64-v4"),
        ("xnn_f32_vmulc_minmax_ukernel__f16c_u16", "avx,fma", "x86-64-v3"),
    ],
)
def test_what_is_chosen_at_run_time_does_not_raise_the_minimum(
    name: str, isa: str, lowest: str, tmp_path: Path
) -> None:
    need_tools()
    source = "int bits(unsigned x) { return __builtin_popcount(x); }\n"
    source += KERNEL.format(name=name, isa=isa)
    code = library.read(compiled(tmp_path, "-march=x86-64-v2", source=source))
    assert code.total.vectors
    assert minimum.of(code).target == lowest
    if lowest != "x86-64-v2":
        guards = {witness.guard for each in code.needs for witness in each.first if each.first}
        checked = re.search(r"_ukernel__(\w+)_u16", name)
        assert (checked[1] if checked else "") in guards


def test_clones_of_a_function_are_chosen_by_the_loader(tmp_path: Path) -> None:
    need_tools()
    source = KERNEL.replace("target(", "target_clones(").format(
        isa='default", "avx2", "arch=skylake-avx512', name="saxpy"
    )
    code = library.read(compiled(tmp_path, source=source))
    assert code.total.encodings["evex"].value
    assert minimum.of(code).target == "x86-64"
