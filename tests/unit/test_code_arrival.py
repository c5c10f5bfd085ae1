"""Whether flags arrived: on the figures of published wheels, and on small stand-ins."""

import pytest

from tests.handmade import evidence, part, tally
from tfbuild import target
from tfbuild.code import minimum
from tfbuild.code.evidence import Evidence, Part

# Eigen and XLA in tensorflow-cpu 2.8.4 (-mavx) and in intel-tensorflow-avx512 2.8.0
# (-march=skylake-avx512): counted with objdump's rules, rounded.
EIGEN_AVX = tally(instructions=11_000_000, vex=1_436_000)
XLA_AVX = tally(instructions=3_000_000, vex=50_000)
EIGEN_SKYLAKE = tally(
    instructions=14_000_000,
    vex=998_000,
    evex=823_000,
    zmm=499_000,
    fused=23_000,
    extensions={"avx2": 16_700, "bmi2": 77_000},
)
XLA_SKYLAKE = tally(
    instructions=3_200_000,
    vex=44_600,
    evex=32_400,
    zmm=11_800,
    fused=55,
    extensions={"avx2": 146, "bmi2": 4_000},
)
PLAIN = tally(instructions=11_000_000, sse=1_436_000)


def absent(code: Evidence, name: str, width: int = 0) -> list[str]:
    one = target.find(name)
    return list(minimum.arrived(code, one.with_vector_width(width) if width else one))


def whole(*parts: Part) -> Evidence:
    return evidence(*parts)


AVX = whole(part("eigen", EIGEN_AVX), part("xla", XLA_AVX))
SKYLAKE = whole(part("eigen", EIGEN_SKYLAKE), part("xla", XLA_SKYLAKE))


@pytest.mark.parametrize(
    ("code", "name", "missing"),
    [
        (AVX, "sandybridge", []),
        (AVX, "ivybridge", []),
        (AVX, "haswell", ["AVX2", "FMA", "BMI2"]),
        (AVX, "piledriver", ["FMA"]),
        (AVX, "skylake", ["AVX2", "FMA", "BMI2", "AVX-512"]),
        (SKYLAKE, "skylake", []),
        (SKYLAKE, "haswell", []),
        (SKYLAKE, "x86-64", []),
        (whole(part("eigen", PLAIN)), "x86-64-v2", []),
        (whole(part("eigen", PLAIN)), "sandybridge", ["AVX"]),
        (whole(part("eigen", PLAIN)), "haswell", ["AVX", "AVX2", "FMA", "BMI2"]),
    ],
)
def test_what_is_absent(code: Evidence, name: str, missing: list[str]) -> None:
    found = absent(code, name)
    assert [text.split()[0] for text in found] == missing
    assert all("Eigen" in text for text in found)


def test_512_bits_are_expected_where_they_were_asked_for() -> None:
    narrow = tally(instructions=14_000_000, vex=1_500_000, evex=300_000, zmm=900, fused=20_000,
                   extensions={"avx2": 16_700, "bmi2": 77_000})  # fmt: skip
    code = whole(part("eigen", narrow))
    assert absent(code, "skylake", 256) == []
    (told,) = absent(code, "skylake", 512)
    assert told == "512-bit code is absent from Eigen (900 of 1,800,000 vector instructions)."
    assert absent(SKYLAKE, "skylake", 512) == []


def test_flags_that_reached_one_component_only_are_told() -> None:
    code = whole(part("eigen", EIGEN_SKYLAKE), part("xla", XLA_AVX))
    found = absent(code, "skylake")
    assert found == [
        f"{name} is in Eigen, but not in XLA: the flags reached one and not the other."
        for name in ("BMI2", "AVX-512")
    ]


def test_dispatched_code_does_not_count() -> None:
    code = evidence(part("eigen", EIGEN_AVX, EIGEN_SKYLAKE), total=EIGEN_SKYLAKE)
    assert [text.split()[0] for text in absent(code, "haswell")] == ["AVX2", "FMA", "BMI2"]


def test_of_a_sample_only_what_its_interval_excludes_is_absent() -> None:
    def eigen(spread: int) -> Evidence:
        counts = {"avx2": 600, "bmi2": 100}
        made = tally(
            instructions=11_000_000, vex=1_400_000, fused=900, spread=spread, extensions=counts
        )
        return evidence(part("eigen", made))

    assert absent(eigen(spread=600), "haswell") == []
    assert len(absent(eigen(spread=0), "haswell")) == 3


# The kernels of `tfbuild rehearse`, and smaller: a few hundred vector instructions, no known name.
@pytest.mark.parametrize(
    ("vectors", "name", "missing"),
    [
        ({"vex": 400}, "haswell", []),
        ({"vex": 300, "evex": 100}, "skylake", []),
        ({"vex": 400}, "skylake", []),
        ({"sse": 400}, "haswell", ["AVX"]),
        ({"sse": 400}, "nehalem", []),
        ({"sse": 40}, "haswell", []),
        ({}, "haswell", []),
    ],
)
def test_small_libraries_raise_no_false_alarm(
    vectors: dict[str, int], name: str, missing: list[str]
) -> None:
    sse, vex, evex = (vectors.get(name, 0) for name in ("sse", "vex", "evex"))
    code = evidence(part("other", tally(instructions=2000, sse=sse, vex=vex, evex=evex)))
    assert [text.split()[0] for text in absent(code, name)] == missing


def test_without_names_the_library_as_a_whole_counts() -> None:
    nameless = evidence(part("unknown", EIGEN_AVX), symbols="none")
    told = absent(nameless, "haswell")
    assert told
    assert "the library" in told[0]
    assert absent(evidence(part("unknown", EIGEN_SKYLAKE), symbols="none"), "skylake") == []
    # Of code that nothing is known of, few such instructions may be as it should be.
    few = tally(vex=100_000, fused=1, extensions={"avx2": 1, "bmi2": 1})
    assert absent(evidence(part("numpy", few)), "haswell") == []
