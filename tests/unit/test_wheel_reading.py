"""What is said of machine code."""

import pytest

from tests.handmade import evidence, need, part, tally
from tfbuild.code.evidence import Evidence, Generator
from tfbuild.wheel.reading import percent, read

PIP = evidence(
    part("eigen", tally(vex=100_000)),
    part("xnnpack", tally(vex=2000), tally(vex=500, evex=900, extensions={"avx512f": 900})),
    part("libjpeg", tally(sse=10), tally(vex=900, extensions={"avx": 900, "avx2": 300})),
    needs=["sse3", "popcnt", "avx"],
    generators=[
        Generator(component="onednn", extensions=("avx2", "avx512f")),
        Generator(component="xla", extensions=()),
    ],
)


def test_a_wheel_from_pypi() -> None:
    needed, *others = read(PIP)
    assert needed == (
        "What always runs needs sse3, popcnt, avx: the lowest target that has all is sandybridge "
        "(x86-64-v3 would do too)."
    )
    assert others == [
        "Eigen's vector code is 100 % AVX (VEX); none of it is fused multiply-adds.",
        "Code for up to AVX-512 that runs only where the CPU has it: in XNNPACK.",
        "Code for up to AVX2 that runs only where the CPU has it: in libjpeg-turbo.",
        "oneDNN also writes code at run time, for CPUs up to avx512f: in no file.",
        "XLA also writes code at run time for the CPU at hand: in no file.",
    ]


def test_a_build_for_avx512() -> None:
    eigen = tally(vex=55_000, evex=45_000, fused=1300)
    chosen = part("xnnpack", tally(), tally(evex=900, extensions={"avx512f": 900}))
    code = evidence(part("eigen", eigen), chosen, needs=["avx", "avx2", "avx512f", "avx512vl"])
    text = " ".join(read(code))
    assert "the lowest target that has all is x86-64-v4." in text
    assert "where the CPU has it" not in text
    assert "Eigen's vector code is 55 % AVX (VEX), 45 % AVX-512 (EVEX); 1 % of it is fused" in text
    assert "probably" not in text


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (evidence(part("other", tally(sse=10))), "needs nothing that not every x86-64 CPU has."),
        (
            evidence(part("other", tally(vex=10)), needs=["avx"], mode="sample"),
            "as far as a sample",
        ),
        (evidence(part("other", tally(vex=10)), needs=["rdtscp"]), "no target has rdtscp."),
        (
            evidence(part("other", tally(vex=10)), needs=[need("fma", guard="sse41")]),
            "behind a check of the CPU that does not assure it: sse41.",
        ),
        (
            evidence(part("other", tally(vex=10)), unsure=[need("fma", symbol="")]),
            "Libraries without names hold fma:",
        ),
        (evidence(), "holds no instructions."),
        (evidence(part("other", tally())), "nothing tells which CPU"),
    ],
)
def test_what_else_is_said(code: Evidence, says: str) -> None:
    assert says in " ".join(read(code))


def judged(sse: int, vex: int, evex: int, bmi2: int = 0) -> Evidence:
    total = tally(sse=sse, vex=vex, evex=evex, extensions={"bmi2": bmi2})
    return evidence(part("unknown", total), symbols="none", needs=["avx"])


@pytest.mark.parametrize(
    ("found", "says", "says_not"),
    [
        # The shares of tensorflow-cpu 2.8.4, of intel-tensorflow-avx512 2.8.0, and of a plain
        # x86-64 build with a few kernels for newer CPUs.
        (judged(160, 42_000, 0, 6), "allowed AVX but not AVX2", "AVX-512"),
        (judged(250, 31_500, 22_900, 2_400), "expect an illegal instruction", "small part"),
        (judged(50_000, 2_000, 500), "not allowed AVX", "illegal"),
        (judged(300, 50_000, 600, 2_000), "allowed AVX2 and FMA", "illegal"),
        (judged(300, 50_000, 600, 2_000), "small part", "illegal"),
    ],
)
def test_without_names_shares_are_judged(found: Evidence, says: str, says_not: str) -> None:
    text = " ".join(read(found))
    assert says in text
    assert says_not not in text
    assert "Containing is not needing" in text
    assert "What always runs" not in text


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.0001, "< 0.1 %"), (0.004, "0.4 %"),
     (0.9999, "> 99.9 %"), (0.996, "99.6 %"), (0.0099, "1.0 %")],
)  # fmt: skip
def test_a_part_is_never_rounded_to_nothing_or_all(share: float, shown: str) -> None:
    assert percent(share) == shown
