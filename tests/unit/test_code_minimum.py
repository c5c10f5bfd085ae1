"""The lowest CPU for some code. Which CPU has what: Intel's and AMD's manuals, by hand."""

import msgspec
import pytest

from tests.handmade import evidence
from tfbuild import target
from tfbuild.code import minimum
from tfbuild.code.minimum import Minimum

PIP = "sse3 popcnt avx"
SKYLAKE = "sse3 popcnt aes avx avx2 fma f16c bmi1 bmi2 lzcnt movbe"
SKYLAKE += " avx512f avx512cd avx512bw avx512dq avx512vl"
X86 = [one for one in target.all_targets() if one.architecture == "x86_64"]


@pytest.mark.parametrize(
    ("needs", "name", "others"),
    [
        ("", "x86-64", ""),
        ("sse3", "core2", ""),
        ("sse3 ssse3", "core2", ""),
        ("sse4_2 popcnt", "x86-64-v2", "nehalem"),
        (PIP, "sandybridge", "x86-64-v3"),
        # tensorflow-cpu 2.21.0. Piledriver has F16C, Sandy Bridge and Bulldozer have not.
        (f"{PIP} f16c", "ivybridge", "x86-64-v3 piledriver"),
        ("avx fma", "x86-64-v3", "piledriver"),
        ("avx2", "x86-64-v3", ""),
        ("avx fma4", "bulldozer", ""),
        ("sha_ni", "goldmont", ""),
        ("avx512f avx512vl", "x86-64-v4", ""),
        (SKYLAKE, "skylake", ""),
        ("avx512_vnni", "cascadelake", ""),
        ("avx2 gfni", "alderlake", "icelake"),
        ("avx512_fp16", "sapphirerapids", ""),
        ("avx_vnni", "alderlake", ""),
        ("avx 3dnowprefetch 3dnow", "sandybridge", "x86-64-v3"),
    ],
)
def test_the_lowest_target(needs: str, name: str, others: str) -> None:
    found = minimum.of(evidence(needs=needs.split()))
    assert found.target == name
    assert found.others == tuple(others.split())
    assert not found.is_bound
    assert found.beyond == ()
    lowest = minimum.lowest(frozenset(needs.split()))
    assert lowest is not None
    assert lowest.name == name


@pytest.mark.parametrize("name", [one.name for one in X86])
def test_what_a_target_requires_names_it_or_one_that_needs_the_same(name: str) -> None:
    requires = target.find(name).requires
    found = minimum.lowest(requires)
    assert found is not None
    assert found.requires == requires


def test_a_sample_gives_a_bound() -> None:
    assert minimum.of(evidence(needs=["avx"], mode="sample")).is_bound


def test_needs_that_no_target_has() -> None:
    found = minimum.of(evidence(needs=["avx", "rdtscp"]))
    assert (found.target, found.beyond, found.others) == (None, ("rdtscp",), ())
    # AMX is asked for by the process, so no target promises it; the CPU is known all the same.
    amx = minimum.of(evidence(needs=["amx_tile"]))
    assert (amx.target, amx.beyond) == ("sapphirerapids", ("amx_tile",))
    # Each is there, but no CPU has both.
    both = minimum.of(evidence(needs=["fma4", "avx512f"]))
    assert (both.target, both.beyond) == (None, ())


@pytest.mark.parametrize(
    ("needs", "decisive"),
    [
        (PIP, "avx"),
        (f"{PIP} f16c", "f16c"),
        ("avx avx2 fma bmi1 bmi2", "avx2"),
        (SKYLAKE, "aes avx512bw avx512dq avx512vl"),
        ("sse3", "sse3"),
    ],
)
def test_decisive_needs_are_those_that_no_other_implies(needs: str, decisive: str) -> None:
    found = minimum.of(evidence(needs=needs.split()))
    assert [each.extension for each in found.decisive] == decisive.split()


def test_excess_is_what_a_cpu_lacks() -> None:
    code = evidence(needs=["avx", "avx2", "3dnowprefetch", "avx512f"])

    def beyond(name: str) -> list[str]:
        return [each.extension for each in minimum.excess(code, target.find(name).requires)]

    assert beyond("sandybridge") == ["avx2", "avx512f"]
    assert beyond("haswell") == ["avx512f"]
    assert beyond("skylake") == beyond("zen4") == []
    assert [each.extension for each in minimum.excess(code, frozenset())] == [
        *("avx", "avx2", "avx512f"),
    ]


def test_it_can_be_saved() -> None:
    found = minimum.of(evidence(needs=SKYLAKE.split()))
    text = msgspec.json.encode(found)
    assert msgspec.json.decode(text, type=Minimum) == found
