"""Static facts of x86 instructions: which extension each needs, and how wide its vectors are.

iced numbers every instruction form (`Code`), and both facts belong to the form, so they are looked
up once per form and never per instruction. Extensions are spelled as Linux spells them in
/proc/cpuinfo (arch/x86/include/asm/cpufeatures.h), except "sse3" (there: pni) and "lzcnt" (there:
abm). What every x86-64 CPU has is "baseline"; what has no bearing on compiled code is "other".
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from iced_x86 import (
    Code,
    CpuidFeature,
    EncodingKind,
    Instruction,
    Mnemonic,
    OpCodeInfo,
    OpCodeOperandKind,
)

Encoding = Literal["sse", "vex", "evex"]

BASELINE = "baseline"
OTHER = "other"
# Forms that older CPUs execute too, as a nop or (tzcnt) as bsf. Compilers emit them for any CPU,
# so they are no evidence of a requirement.
_HARMLESS = frozenset({"CET_IBT", "CET_SS", "CLDEMOTE", "HLE_OR_RTM", "MULTIBYTENOP", "PAUSE"})
_HARMLESS_MNEMONICS = frozenset({Mnemonic.TZCNT})
_BASELINE = _HARMLESS | {
    *("CLFSH", "CMOV", "CPUID", "CX8", "FPU", "FPU287", "FPU387", "FXSR", "MMX", "SSE", "SSE2"),
    *("INTEL186", "INTEL286", "INTEL386", "INTEL486", "INTEL8086", "SYSCALL", "TSC", "X64"),
}
_NAMED = {
    "SSE3": "sse3",
    "SSSE3": "ssse3",
    "SSE4_1": "sse4_1",
    "SSE4_2": "sse4_2",
    "SSE4A": "sse4a",
    "POPCNT": "popcnt",
    "CMPXCHG16B": "cx16",
    "AES": "aes",
    "PCLMULQDQ": "pclmulqdq",
    "AVX": "avx",
    "AVX2": "avx2",
    "FMA": "fma",
    "FMA4": "fma4",
    "XOP": "xop",
    "TBM": "tbm",
    "F16C": "f16c",
    "BMI1": "bmi1",
    "BMI2": "bmi2",
    "LZCNT": "lzcnt",
    "MOVBE": "movbe",
    "ADX": "adx",
    "SHA": "sha_ni",
    "SHA512": "sha512",
    "SM3": "sm3",
    "SM4": "sm4",
    "GFNI": "gfni",
    "VAES": "vaes",
    "VPCLMULQDQ": "vpclmulqdq",
    "RDRAND": "rdrand",
    "RDSEED": "rdseed",
    "RDTSCP": "rdtscp",
    "RTM": "rtm",
    "XSAVE": "xsave",
    "D3NOW": "3dnow",
    "PREFETCHW": "3dnowprefetch",
    "AVX512F": "avx512f",
    "AVX512CD": "avx512cd",
    "AVX512BW": "avx512bw",
    "AVX512DQ": "avx512dq",
    "AVX512VL": "avx512vl",
    "AVX512ER": "avx512er",
    "AVX512PF": "avx512pf",
    "AVX512_4FMAPS": "avx512_4fmaps",
    "AVX512_4VNNIW": "avx512_4vnniw",
    "AVX512_IFMA": "avx512ifma",
    "AVX512_VBMI": "avx512vbmi",
    "AVX512_VBMI2": "avx512_vbmi2",
    "AVX512_VNNI": "avx512_vnni",
    "AVX512_BITALG": "avx512_bitalg",
    "AVX512_VPOPCNTDQ": "avx512_vpopcntdq",
    "AVX512_VP2INTERSECT": "avx512_vp2intersect",
    "AVX512_BF16": "avx512_bf16",
    "AVX512_FP16": "avx512_fp16",
    "AVX_VNNI": "avx_vnni",
    "AVX_VNNI_INT8": "avx_vnni_int8",
    "AVX_VNNI_INT16": "avx_vnni_int16",
    "AVX_IFMA": "avx_ifma",
    "AVX_NE_CONVERT": "avx_ne_convert",
    "AMX_TILE": "amx_tile",
    "AMX_INT8": "amx_int8",
    "AMX_BF16": "amx_bf16",
    "AMX_FP16": "amx_fp16",
    "AMX_COMPLEX": "amx_complex",
}
ORDER = (BASELINE, *_NAMED.values(), OTHER)
"""All extension names, older before newer."""


@dataclass(frozen=True)
class Form:
    """One instruction form."""

    extensions: tuple[str, ...]
    """Every extension that it needs; ("avx512f", "avx512vl") for EVEX on xmm registers."""
    encoding: Encoding | None
    """How its vector registers are encoded; None without vector registers."""
    width: int
    """Bits of its widest vector operand (xmm 128, ymm 256, zmm 512), 0 without any."""
    is_fused: bool
    """Whether it multiplies and adds with one rounding, whatever its encoding."""


@cache
def form(code: int) -> Form:
    """Return the facts of an instruction form; `code` is iced's `Code`, not INVALID."""
    value: Any = code  # typed as an enumeration, but a plain number
    instruction = Instruction()
    instruction.code = value
    facts = OpCodeInfo(value)
    width = max((_width(kind) for kind in facts.op_kinds()), default=0)
    return Form(
        extensions=_extensions(instruction),
        encoding=_ENCODINGS.get(facts.encoding) if width else None,
        width=width,
        is_fused=_MNEMONICS[instruction.mnemonic].startswith(_FUSED),
    )


_ENCODINGS: dict[int, Encoding] = {
    EncodingKind.LEGACY: "sse",
    EncodingKind.VEX: "vex",
    EncodingKind.XOP: "vex",
    EncodingKind.EVEX: "evex",
}


def _extensions(instruction: Instruction) -> tuple[str, ...]:
    if instruction.mnemonic in _HARMLESS_MNEMONICS:
        return (BASELINE,)
    names = {_FEATURES[feature] for feature in instruction.cpuid_features()} - _BASELINE
    if not names:
        return (BASELINE,)
    return tuple(sorted({_NAMED.get(name, OTHER) for name in names}, key=ORDER.index))


def _names(enumeration: object) -> dict[int, str]:
    pairs = vars(enumeration).items()
    return {value: name for name, value in pairs if isinstance(value, int) and name.isupper()}


_FEATURES = _names(CpuidFeature)
_OPERANDS = _names(OpCodeOperandKind)
_MNEMONICS = _names(Mnemonic)
_FUSED = ("VFMADD", "VFMSUB", "VFNMADD", "VFNMSUB")
_VSIB = {"X": 128, "Y": 256, "Z": 512}


@cache
def _width(kind: int) -> int:
    name = _OPERANDS[kind]
    for register, width in (("ZMM", 512), ("YMM", 256), ("XMM", 128)):
        if register in name:
            return width
    # A gather's index: MEM_VSIB32X is eight-byte addresses from an xmm register.
    return _VSIB[name[-1]] if "VSIB" in name else 0


INVALID: int = Code.INVALID
FORMS: int = 1 + max(value for value in vars(Code).values() if isinstance(value, int))
"""How many forms there are."""


@cache
def is_odd(code: int) -> bool:
    """Return whether an instruction form is for the kernel only: in a library it must be data."""
    value: Any = code
    facts = OpCodeInfo(value)
    return bool(facts.is_privileged or facts.is_input_output or facts.must_be_cpl0)
