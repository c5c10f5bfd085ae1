"""Says what instruction counts tell where there are no names: by their shares.

A compiler that may use an extension uses it everywhere; a hand-written kernel for one CPU is a
small part of the library and is reached only after a check at run time. So shares tell the two
apart where a mere presence cannot. Observed in `_pywrap_tensorflow_internal.so`: tensorflow-cpu
2.8.4 (-mavx) has 99.6 % VEX, no FMA, and 6 BMI2 instructions per million; intel-tensorflow-avx512
2.8.0 (-march=skylake-avx512) has 42 % EVEX, and 2,400 BMI2 instructions per million.
"""

from collections.abc import Iterator

from tfbuild.code.evidence import Tally

_SPREAD_EVEX = 0.10
_SPREAD_VEX = 0.50
_SPREAD_BMI2 = 2e-4


def judged(counts: Tally) -> Iterator[str]:
    """Yield sentences that begin with "probably" where they are a judgement."""
    evex = encoded(counts, "evex")
    if evex >= _SPREAD_EVEX:
        yield (
            "AVX-512 is spread over it, so the compiler was probably allowed AVX-512: "
            "expect an illegal instruction on a CPU without it."
        )
    elif encoded(counts, "vex") >= _SPREAD_VEX:
        yield from _avx(counts)
    else:
        yield "Most of it is SSE, so the compiler was probably not allowed AVX."
    if 0 < evex < _SPREAD_EVEX:
        yield "Its AVX-512 is a small part: probably kernels that are chosen at run time."
    yield (
        "Containing is not needing: oneDNN, XNNPACK and others choose kernels at run time, and "
        "what they or XLA generate at run time is in no file."
    )


def encoded(counts: Tally, encoding: str) -> float:
    """Return which part of the vector instructions has an encoding."""
    count = counts.encodings.get(encoding)
    return count.value / counts.vectors if count and counts.vectors else 0.0


def _avx(counts: Tally) -> Iterator[str]:
    bmi2 = counts.has("bmi2") / counts.instructions.value
    if bmi2 >= _SPREAD_BMI2:
        yield (
            "AVX and BMI2 are spread over it, so the compiler was probably allowed AVX2 and FMA "
            "(Haswell or newer)."
        )
    else:
        yield (
            "AVX is spread over it and BMI2 is not, so the compiler was probably allowed AVX "
            "but not AVX2 and FMA."
        )
