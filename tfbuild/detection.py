"""A host, the target that serves it best, and what the installed TensorFlow makes of it."""

from dataclasses import dataclass
from typing import ClassVar

from tfbuild import target as targets
from tfbuild.host import Host
from tfbuild.installed import Installed
from tfbuild.target import Target

# Instruction sets in the order and the spelling in which people know them: group, then Linux's
# name and the usual one.
_X86 = {
    "SSE": "sse=SSE sse2=SSE2 sse3=SSE3 ssse3=SSSE3 sse4_1=SSE4.1 sse4_2=SSE4.2",
    "AVX": "avx=AVX avx2=AVX2 fma=FMA f16c=F16C fma4=FMA4 xop=XOP avx_vnni=AVX-VNNI "
    "avx_vnni_int8=AVX-VNNI-INT8 avx_ifma=AVX-IFMA avx_ne_convert=AVX-NE-CONVERT",
    "AVX-512": "avx512f=F avx512cd=CD avx512bw=BW avx512dq=DQ avx512vl=VL avx512_vnni=VNNI "
    "avx512_bf16=BF16 avx512_fp16=FP16 avx512ifma=IFMA avx512vbmi=VBMI avx512_vbmi2=VBMI2 "
    "avx512_bitalg=BITALG avx512_vpopcntdq=VPOPCNTDQ avx512_vp2intersect=VP2INTERSECT "
    "avx512er=ER avx512pf=PF avx512_4vnniw=4VNNIW avx512_4fmaps=4FMAPS",
    "AMX": "amx_tile=TILE amx_int8=INT8 amx_bf16=BF16 amx_fp16=FP16 amx_complex=COMPLEX",
    "Integer": "popcnt=POPCNT lzcnt=LZCNT bmi1=BMI1 bmi2=BMI2 movbe=MOVBE adx=ADX",
    "Cryptography": "aes=AES pclmulqdq=PCLMUL sha_ni=SHA vaes=VAES vpclmulqdq=VPCLMUL gfni=GFNI",
}
_ARM = {
    "NEON": "asimd=NEON asimdhp=FP16 asimddp=DotProd asimdrdm=RDM asimdfhm=FHM fcma=FCMA "
    "bf16=BF16 i8mm=I8MM",
    "SVE": "sve=SVE sve2=SVE2 svebf16=SVE-BF16 svei8mm=SVE-I8MM",
    "SME": "sme=SME sme2=SME2",
    "Atomics": "atomics=LSE lrcpc=RCPC",
    "Cryptography": "aes=AES pmull=PMULL sha1=SHA1 sha2=SHA2 sha3=SHA3 sha512=SHA512 crc32=CRC32",
}
# Groups whose use makes the arithmetic of a model faster.
_ARITHMETIC = ("SSE", "AVX", "AVX-512", "AMX", "NEON", "SVE", "SME")


@dataclass(frozen=True, kw_only=True)
class Detection:
    """What `tfbuild detect` tells."""

    SCHEMA: ClassVar[str] = "tfbuild.detection"
    VERSION: ClassVar[int] = 1

    host: Host
    instruction_sets: dict[str, tuple[str, ...]]
    """By group ("AVX-512"), the names that people use ("F", "BW"); a group may be empty."""
    recommended: Target | None
    command: str | None
    """The command that compiles for the recommended target."""
    tensorflow: Installed | None
    """TensorFlow in the current environment; None without one, or for another machine's CPU."""
    unused: tuple[str, ...] | None
    """What this CPU has and that TensorFlow was compiled without; None where unknown."""
    missing: tuple[str, ...] = ()
    """What TensorFlow was compiled with and this CPU lacks (Linux spelling): it will not run."""


def of(host: Host, tensorflow: Installed | None) -> Detection:
    """Return everything that can be told about the host without running anything on it."""
    best = targets.recommend(host)
    return Detection(
        host=host,
        instruction_sets={
            group: tuple(shown for name, shown in names.items() if name in host.features)
            for group, names in _groups(host).items()
        },
        recommended=best,
        command=f"tfbuild wheel --target {best.name}" if best else None,
        tensorflow=tensorflow,
        unused=_unused(host, tensorflow),
        missing=_missing(host, tensorflow),
    )


def _missing(host: Host, tensorflow: Installed | None) -> tuple[str, ...]:
    if tensorflow is None or tensorflow.features is None:
        return ()
    return tuple(sorted(tensorflow.features - host.features))


def _unused(host: Host, tensorflow: Installed | None) -> tuple[str, ...] | None:
    if tensorflow is None or tensorflow.features is None:
        return None
    return tuple(
        f"{group}-{shown}" if group in {"AVX-512", "AMX"} else shown
        for group, names in _groups(host).items()
        if group in _ARITHMETIC
        for name, shown in names.items()
        if name in host.features and name not in tensorflow.features
    )


def _groups(host: Host) -> dict[str, dict[str, str]]:
    """Return for each group Linux's names and the usual ones."""
    texts = {"x86_64": _X86, "aarch64": _ARM}.get(host.architecture, {})
    return {group: dict(map(_pair, text.split())) for group, text in texts.items()}


def _pair(text: str) -> tuple[str, str]:
    name, _, shown = text.partition("=")
    return name, shown
