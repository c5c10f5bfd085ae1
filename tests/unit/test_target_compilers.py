"""The compilers themselves say what they may emit for a target."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DATA, need
from tfbuild import target
from tfbuild.target import Target

# Compiler macro -> Linux's feature, by hand from GCC's and Clang's manuals and the kernel's
# cpufeatures.h; what is not here is spelled alike once underscores and case are gone.
FEATURE = {
    "__ABM__": "lzcnt",
    "__AVX512BF16__": "avx512_bf16",
    "__AVX512BITALG__": "avx512_bitalg",
    "__AVX512FP16__": "avx512_fp16",
    "__AVX512VBMI2__": "avx512_vbmi2",
    "__AVX512VNNI__": "avx512_vnni",
    "__AVX512VP2INTERSECT__": "avx512_vp2intersect",
    "__AVX512VPOPCNTDQ__": "avx512_vpopcntdq",
    "__AVXVNNI__": "avx_vnni",
    "__BMI__": "bmi1",
    "__CRC32__": "sse4_2",
    "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16": "cx16",
    "__LAHF_SAHF__": "lahf_lm",
    "__PCLMUL__": "pclmulqdq",
    "__PRFCHW__": "3dnowprefetch",
    "__RDRND__": "rdrand",
    "__SHA__": "sha_ni",
}
# Not instruction sets: which encodings a compiler may use for AVX-512; and MMX, which every x86-64
# CPU has.
NO_FEATURE = {"__EVEX256__", "__EVEX512__", "__MMX__"}

ARM_FEATURE = {
    "AES": "aes pmull",
    "ATOMICS": "atomics",
    "BF16": "bf16",
    "BF16_SCALAR_ARITHMETIC": "bf16",
    "BF16_VECTOR_ARITHMETIC": "bf16",
    "BTI": "bti",
    "COMPLEX": "fcma",
    "CRC32": "crc32",
    "CRYPTO": "aes pmull sha1 sha2",
    "DOTPROD": "asimddp",
    "FMA": "fp asimd",
    "FP16_FML": "asimdfhm",
    "FP16_SCALAR_ARITHMETIC": "fphp",
    "FP16_VECTOR_ARITHMETIC": "asimdhp",
    "FRINT": "frint",
    "JCVT": "jscvt",
    "MATMUL_INT8": "i8mm",
    "MEMORY_TAGGING": "mte",
    "PAUTH": "paca pacg",
    "QRDMX": "asimdrdm",
    "RCPC": "lrcpc",
    "RNG": "rng",
    "SHA2": "sha1 sha2",
    "SHA3": "sha3",
    "SHA512": "sha512",
    "SM3": "sm3",
    "SM4": "sm4",
    "SVE": "sve",
    "SVE2": "sve2",
    "SVE2_BITPERM": "svebitperm",
    "SVE_BF16": "svebf16",
    "SVE_MATMUL_INT8": "svei8mm",
    # What every 64-bit Arm CPU has, or what is no instruction.
    **dict.fromkeys(
        [
            *("CLZ", "DIRECTED_ROUNDING", "DIV", "IDIV", "LDREX"),
            *("NUMERIC_MAXMIN", "SVE_VECTOR_OPERATORS", "UNALIGNED"),
        ],
        "",
    ),
}
RECORDED: dict[str, dict[str, str]] = json.loads((DATA / "compiler_macros.json").read_text())
TARGETS = {one.name: one for one in target.all_targets()}
X86 = [one for one in TARGETS.values() if one.architecture == "x86_64"]
LOOP = """
void add(float *restrict a, const float *restrict b, int n)
{ for (int i = 0; i < n; i++) a[i] += b[i] * 2.0f; }
"""


def x86_features(macros: str) -> set[str]:
    return {
        FEATURE.get(macro, macro.strip("_").lower())
        for macro in macros.split()
        if macro not in NO_FEATURE
    }


def arm_features(macros: str) -> set[str]:
    names = (macro.removeprefix("__ARM_FEATURE_").rstrip("_") for macro in macros.split())
    return {feature for name in names for feature in ARM_FEATURE[name].split()}


def announced(one: Target) -> set[str]:
    """Return what any recorded compiler announces for the target."""
    read = x86_features if one.architecture == "x86_64" else arm_features
    found = [
        read(macros[one.march])
        for compiler, macros in RECORDED.items()
        if ("aarch64" in compiler) == (one.architecture == "aarch64") and one.march in macros
    ]
    assert found, f"no recorded compiler knows {one.march}"
    return set().union(*found)


@pytest.mark.parametrize("name", TARGETS)
def test_requires_all_that_compilers_may_emit_and_nothing_else(name: str) -> None:
    one = TARGETS[name]
    assert announced(one) - target.ignorable(one.architecture) == one.requires


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_nothing_is_ignorable_in_vain(architecture: str) -> None:
    every = set().union(*(announced(one) for one in TARGETS.values()))
    assert target.ignorable(architecture) <= every


def test_arithmetic_is_never_ignorable() -> None:
    arithmetic = re.compile(
        r"sse|avx(?!512_vp2intersect)|fma|f16c|bmi|popcnt|lzcnt|movbe|asimd|sve2?$"
    )
    for one in TARGETS.values():
        assert not [name for name in target.ignorable(one.architecture) if arithmetic.match(name)]


def gcc() -> tuple[str, tuple[int, ...]]:
    path = shutil.which("gcc")
    need(path, "needs gcc")
    assert path
    text = subprocess.run(
        [path, "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout
    return path, tuple(int(part) for part in text.split("."))


def knows(one: Target, version: tuple[int, ...]) -> bool:
    return version >= tuple(int(part) for part in one.gcc.split("."))


@pytest.mark.parametrize("name", [one.name for one in X86])
def test_this_gcc_agrees(name: str) -> None:
    path, version = gcc()
    done = subprocess.run(
        [path, *TARGETS[name].flags, "-dM", "-E", "-x", "c", "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == knows(TARGETS[name], version)
    if done.returncode:
        return
    # Macros for what no target is about (__CET__, __code_model_small__) have other names.
    known = set().union(
        *(macros.split() for compiler in RECORDED.values() for macros in compiler.values())
    )
    defined = set(re.findall(r"^#define (\w+)", done.stdout, re.MULTILINE)) & known
    needed = x86_features(" ".join(defined)) - target.ignorable("x86_64")
    assert needed <= TARGETS[name].requires


@pytest.mark.parametrize("name", [one.name for one in X86])
def test_vectors_are_as_wide_as_the_target_says(name: str, tmp_path: Path) -> None:
    one = TARGETS[name]
    path, version = gcc()
    if not knows(one, version):
        pytest.skip(f"gcc {version} is older than {one.march}")
    assert widest(path, one, tmp_path) == one.vector_width


@pytest.mark.parametrize(
    ("name", "bits"),
    [("skylake", 512), ("skylake", 128), ("x86-64-v4", 512), ("zen", 256), ("haswell", 128)],
)
def test_another_width_reaches_the_code(name: str, bits: int, tmp_path: Path) -> None:
    path, _ = gcc()
    assert widest(path, TARGETS[name].with_vector_width(bits), tmp_path) == bits


def widest(compiler: str, one: Target, folder: Path) -> int:
    source = folder / "loop.c"
    source.write_text(LOOP)
    done = subprocess.run(
        [compiler, "-O3", *one.flags, "-S", "-o", "-", source],
        capture_output=True,
        text=True,
        check=True,
    )
    # A vector of floats that is moved whole: scalar code uses xmm registers too.
    moves = re.findall(r"v?(?:mov[au]ps|mulps|addps|fmadd\d+ps)\s.*%([xyz])mm", done.stdout)
    return max({"x": 128, "y": 256, "z": 512}[letter] for letter in moves)
