"""Says in sentences what instruction counts tell, and what they do not.

A compiler that may use an extension uses it everywhere; a hand-written kernel for one CPU is a
small part of the library and is reached only after a check at run time. So shares tell the two
apart where a mere presence cannot. Observed in `_pywrap_tensorflow_internal.so`: tensorflow-cpu
2.8.4 (-mavx) has 99.6 % VEX, no FMA, and 6 BMI2 instructions per million; intel-tensorflow-avx512
2.8.0 (-march=skylake-avx512) has 42 % EVEX, and 2,400 BMI2 instructions per million.
"""

from collections.abc import Iterator

from tfbuild.code.evidence import Evidence, Tally

_SPREAD_EVEX = 0.10
_SPREAD_VEX = 0.50
_SPREAD_BMI2 = 2e-4
_NAMES = {"sse": "SSE", "vex": "AVX (VEX)", "evex": "AVX-512 (EVEX)"}
_CAVEAT = (
    "Containing is not needing: oneDNN, XNNPACK and others choose kernels at run time, and what "
    "they or XLA generate at run time is in no file."
)


def read(code: Evidence) -> tuple[str, ...]:
    """Return sentences about the counts, most telling first."""
    counts = code.total
    if not counts.instructions.value:
        return ("It holds no instructions.",)
    if not counts.vectors:
        return ("It holds no vector instructions: nothing tells which CPU it was compiled for.",)
    return tuple(_sentences(counts))


def _sentences(counts: Tally) -> Iterator[str]:
    shares = {
        name: counts.encodings[name].value / counts.vectors if name in counts.encodings else 0.0
        for name in _NAMES
    }
    yield (
        "Vector code is "
        + ", ".join(f"{percent(share)} {_NAMES[name]}" for name, share in shares.items() if share)
        + "."
    )
    if shares["evex"] >= _SPREAD_EVEX:
        yield (
            "AVX-512 is spread over it, so the compiler was probably allowed AVX-512: "
            "expect an illegal instruction on a CPU without it."
        )
    elif shares["vex"] >= _SPREAD_VEX:
        yield from _avx(counts)
    else:
        yield "Most of it is SSE, so the compiler was probably not allowed AVX."
    if 0 < shares["evex"] < _SPREAD_EVEX:
        yield "Its AVX-512 is a small part: probably kernels that are chosen at run time."
    yield _CAVEAT


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


def percent(share: float) -> str:
    """Return "12 %", "0.4 %" or "< 0.1 %"; never a rounded 0 % or 100 % for part of a thing."""
    if 0 < share < 0.001:  # noqa: PLR2004
        return "< 0.1 %"
    if share in {0, 1} or 0.01 <= share <= 0.99:  # noqa: PLR2004
        return f"{share:.0%}".replace("%", " %")
    return "> 99.9 %" if share > 0.999 else f"{share * 100:.1f} %"  # noqa: PLR2004
