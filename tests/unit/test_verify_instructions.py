"""The checks of machine code against a target."""

from dataclasses import replace

import pytest

from tests.handmade import evidence, need, part, tally
from tfbuild import target
from tfbuild.code.evidence import Evidence
from tfbuild.verify.instructions import check

AVX = tally(instructions=11_000_000, vex=1_436_000)
HASWELL = tally(
    instructions=11_000_000,
    vex=1_436_000,
    fused=20_000,
    extensions={"avx2": 13_000, "bmi2": 50_000},
)
PIP = evidence(part("eigen", AVX), needs=["sse3", "popcnt", "avx"])


def outcome(code: Evidence | None, name: str | None) -> tuple[str, str]:
    instructions, flags = check(code, target.find(name) if name else None)
    assert (instructions.name, flags.name) == ("instructions", "flags")
    return instructions.status, flags.status


@pytest.mark.parametrize(
    ("code", "name", "statuses"),
    [
        (PIP, "sandybridge", ("passed", "passed")),
        (PIP, "nehalem", ("failed", "passed")),
        (PIP, "haswell", ("passed", "failed")),
        (evidence(part("eigen", HASWELL), needs=["avx2"]), "haswell", ("passed", "passed")),
        (evidence(part("eigen", HASWELL), needs=["avx2"]), "sandybridge", ("failed", "passed")),
        (evidence(part("other", tally(sse=400))), "haswell", ("passed", "failed")),
        (evidence(part("other", tally(sse=400))), "x86-64", ("passed", "passed")),
        (evidence(part("other", tally(sse=20))), "haswell", ("passed", "skipped")),
        (None, "haswell", ("skipped", "skipped")),
        (PIP, None, ("passed", "skipped")),
        (PIP, "neoverse-v1", ("failed", "skipped")),
    ],
)
def test_outcomes(code: Evidence | None, name: str | None, statuses: tuple[str, str]) -> None:
    assert outcome(code, name) == statuses


def test_without_a_target_the_minimum_is_told() -> None:
    found, _ = check(PIP, None)
    assert "needs sse3, popcnt, avx; the lowest target that has all is sandybridge" in found.found
    unnamed, _ = check(replace(PIP, symbols="none"), None)
    assert unnamed.status == "skipped"


def test_a_stripped_library_beside_others_is_a_warning() -> None:
    stray = evidence(part("other", AVX), needs=["avx", "fma4"]).needs
    found, _ = check(replace(PIP, unsure=stray), target.find("sandybridge"))
    assert found.status == "warning"
    assert found.found == "Code without names needs fma4, which sandybridge does not have."
    assert found.details == ("fma4: foo::bar (vaddps zmm0,zmm1,zmm2) in libtensorflow_cc.so.2",)
    both, _ = check(replace(PIP, unsure=stray), target.find("nehalem"))
    assert both.status == "failed"
    assert any(line.startswith("avx: ") for line in both.details)
    assert any(line.startswith("fma4: ") for line in both.details)


def test_what_needs_too_much_is_named() -> None:
    found, _ = check(evidence(part("eigen", AVX), needs=["avx", "avx512f"]), target.find("haswell"))
    assert found.found == "What always runs needs avx512f, which haswell does not have."
    assert found.details == ("avx512f: foo::bar (vaddps zmm0,zmm1,zmm2) in libtensorflow_cc.so.2",)
    assert found.why == (
        "The compiler was allowed what x86-64-v4 has, or a dispatcher is not known here."
    )
    assert "CPUs from x86-64-v4 on" in found.do


def test_what_too_little_code_tells_of_is_named() -> None:
    _, flags = check(evidence(part("other", tally(vex=400))), target.find("haswell"))
    assert flags.status == "passed"
    assert flags.found == (
        "AVX: where the flags of haswell should put them. Too little code tells of AVX2, FMA, BMI2."
    )
    _, flags = check(evidence(part("eigen", HASWELL), needs=["avx2"]), target.find("haswell"))
    assert "Too little" not in flags.found


def test_instances_of_a_template_are_told_once() -> None:
    (one,) = need("avx512f").first
    twice = replace(need("avx512f"), functions=2, first=(one, replace(one, address=9)))
    found, _ = check(replace(PIP, needs=(twice,)), target.find("haswell"))
    assert len(found.details) == 1


def test_a_check_that_assures_too_little_is_named() -> None:
    code = evidence(part("eigen", AVX), needs=["avx", need("avx512f", guard="avx2")])
    found, _ = check(code, target.find("haswell"))
    assert found.status == "failed"
    assert "behind the check 'avx2'" in found.details[0]
    assert "(avx2) does not assure" in found.why


def test_flags_that_did_not_arrive_are_named() -> None:
    _, found = check(PIP, target.find("haswell"))
    assert found.found.startswith("3 faults")
    assert [text.split()[0] for text in found.details] == ["AVX2", "FMA", "BMI2"]
    assert "did not reach" in found.why
    assert "tfbuild render" in found.do


def test_what_was_looked_for_is_told() -> None:
    _, found = check(evidence(part("eigen", HASWELL), needs=["avx2"]), target.find("haswell"))
    assert found.found == "AVX, AVX2, FMA, BMI2: where the flags of haswell should put them."
    _, found = check(evidence(part("other", tally(vex=400))), target.find("haswell"))
    assert found.found.startswith("AVX: ")


def test_without_names_too_much_is_a_warning() -> None:
    code = evidence(part("unknown", HASWELL), symbols="none", needs=[need("avx512f", symbol="")])
    found, flags = check(code, target.find("haswell"))
    assert (found.status, flags.status) == ("warning", "passed")
    assert "at run time" in found.why
    assert "unnamed code at 0x1000" in found.details[0]


def test_a_sample_is_told() -> None:
    code = evidence(part("eigen", AVX), needs=["avx"], mode="sample")
    found, _ = check(code, target.find("sandybridge"))
    assert "in the sample" in found.found


def test_a_stripped_library_beside_is_a_warning() -> None:
    code = evidence(part("eigen", AVX), needs=["avx"], unsure=[need("avx512f", symbol="")])
    found, _ = check(code, target.find("sandybridge"))
    assert (found.status, found.found) == (
        "warning",
        "Code without names needs avx512f, which sandybridge does not have.",
    )
    found, _ = check(code, target.find("nehalem"))
    assert found.status == "failed"
