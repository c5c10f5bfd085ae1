"""Whether a machine can run a wheel: by its system, architecture, C library and code."""

import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.evidence import LIBRARY, evidence, need
from tests.wheels import make_wheel
from tfbuild import host
from tfbuild.code.evidence import Evidence
from tfbuild.host import Host
from tfbuild.wheel.inspect import inspect
from tfbuild.wheel.inspection import Inspection, Library
from tfbuild.wheel.match import glibc_here, match, python_note

HASWELL = host.from_cpuinfo(DATA / "cpuinfo/linux-rhel7-haswell")
SKYLAKE = host.from_cpuinfo(DATA / "cpuinfo/linux-rhel7-skylake_avx512")
GRAVITON = host.from_cpuinfo(DATA / "cpuinfo/linux-amazon-neoverse_n1")
MAC = host.from_cpuinfo(DATA / "cpuinfo/darwin-mojave-haswell")
CELERON = host.from_cpuinfo(DATA / "odd_cpus/celeron_j3455_no_avx.txt")
HIDING = host.from_cpuinfo(DATA / "odd_cpus/xeon_e5_2620v2_guest_no_avx.txt")
NO_FMA = host.from_cpuinfo(DATA / "odd_cpus/virtualbox_avx2_no_fma.txt")
LINUX = "cp310-cp310-manylinux_2_27_x86_64"


@pytest.fixture
def plain(tmp_path: Path) -> Inspection:
    return inspect(make_wheel(tmp_path))


def of(plain: Inspection, code: Evidence | None, **more: object) -> Inspection:
    """Return a wheel with this code in its one library."""
    unknown = "" if code else "Code for aarch64 is not decoded, only x86 is."
    machine = "x86_64" if code else "aarch64"
    library = Library(name=LIBRARY, size=9, machine=machine, code=code, unknown=unknown)
    fields = {"libraries": (library,), "code": code, "tags": (LINUX,), "glibc": "2.27", **more}
    return replace(plain, **fields)  # type: ignore[arg-type]


AVX = evidence(need("sse4_2"), need("avx"))
FMA = evidence(need("avx"), need("avx2"), need("fma"))
AVX512 = evidence(need("avx"), need("fma"), need("avx512f"), need("avx512vl"))


@pytest.mark.parametrize(
    ("code", "cpu", "lacks"),
    [
        (AVX, HASWELL, []),
        (FMA, HASWELL, []),
        (AVX512, SKYLAKE, []),
        (AVX512, HASWELL, ["avx512f", "avx512vl"]),
        (AVX, CELERON, ["avx"]),
        # Its cpuinfo lists AVX2 and FMA, but no AVX: code that uses them dies.
        (FMA, HIDING, ["avx", "avx2", "fma"]),
        (FMA, NO_FMA, ["fma"]),
        (evidence(), CELERON, []),
    ],
    ids=["avx", "fma", "avx512", "no avx512", "no avx", "hidden avx", "no fma", "baseline"],
)
def test_code_that_always_runs_decides(
    code: Evidence, cpu: Host, lacks: list[str], plain: Inspection
) -> None:
    found = match(of(plain, code), cpu, glibc="2.36")
    assert [each.extension for each in found.missing] == lacks
    assert found.verdict == ("no" if lacks else "yes")
    assert found.doubts == ()
    if lacks:
        (obstacle,) = found.obstacles
        assert all(name in obstacle for name in lacks)
        assert found.missing[0].first[0].function.startswith("Eigen::")


def test_without_names_a_guard_may_be_overlooked(plain: Inspection) -> None:
    stripped = evidence(need("avx512f", ""), symbols="none")
    found = match(of(plain, stripped), HASWELL, glibc="2.36")
    assert (found.verdict, found.obstacles) == ("unknown", ())
    assert "avx512f" in found.doubts[0]
    assert match(of(plain, stripped), SKYLAKE, glibc="2.36").verdict == "yes"


def test_another_architecture_and_code_that_is_not_decoded(plain: Inspection) -> None:
    arm = of(plain, None, tags=("cp310-cp310-manylinux_2_27_aarch64",))
    found = match(arm, HASWELL, glibc="2.36")
    assert (found.verdict, found.missing) == ("no", ())
    assert found.obstacles == ("Its code is for aarch64, and this CPU is x86_64.",)
    assert match(arm, GRAVITON, glibc="2.36").verdict == "unknown"
    assert match(of(plain, AVX), GRAVITON, glibc="2.36").verdict == "no"


def test_another_system(plain: Inspection) -> None:
    found = match(of(plain, AVX), MAC, glibc=None)
    assert found.obstacles == ("It is for Linux, and this is macOS.",)
    both = (LINUX, "cp310-cp310-macosx_12_0_x86_64")
    assert match(of(plain, AVX, tags=both, glibc=None), MAC, glibc=None).verdict == "yes"


@pytest.mark.parametrize(
    ("has", "verdict"),
    [("2.27", "yes"), ("2.100", "yes"), ("2.9", "no"), ("", "no"), (None, "yes")],
)
def test_glibc(has: str | None, verdict: str, plain: Inspection) -> None:
    found = match(of(plain, AVX), HASWELL, glibc=has)
    assert found.verdict == verdict
    assert bool(found.obstacles) == (verdict == "no")
    # A saved CPU decides about the code; what its system must have is said.
    assert bool(found.conditions) == (has is None)
    assert all("2.27" in sentence for sentence in (*found.obstacles, *found.conditions))
    assert match(of(plain, AVX), CELERON, glibc=has).conditions == ()


def test_a_wheel_without_code_runs_anywhere(plain: Inspection) -> None:
    for cpu in (CELERON, GRAVITON, MAC):
        assert match(plain, cpu, glibc=None).verdict == "yes"


def test_this_systems_glibc() -> None:
    assert glibc_here() == platform.libc_ver()[1]


def test_a_system_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise ValueError(name)

    monkeypatch.setattr(os, "confstr", unknown)
    assert glibc_here() == ""


def test_a_python_that_is_not_here_is_noted(
    plain: Inspection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tfbuild import pythons

    monkeypatch.setattr(pythons, "first", lambda _: None)
    assert "uv python install 3.10" in python_note(replace(plain, python="3.10"))
    assert python_note(replace(plain, python="3")) == ""
    assert python_note(replace(plain, python="3.99")) == ""


def test_a_stripped_library_beside_others_leaves_doubts(plain: Inspection) -> None:
    both = replace(AVX, unsure=(need("fma4", ""), need("sse3", "")))
    found = match(of(plain, both), HASWELL, glibc="2.36")
    assert found.verdict == "unknown"
    assert "fma4" in found.doubts[0]
    assert "sse3" not in found.doubts[0]


def test_a_check_that_this_cpu_fails_keeps_it_from_what_is_behind(plain: Inspection) -> None:
    """A check may promise less than its functions use: only CPUs that pass it get there."""
    (witness,) = need("gfni").first
    behind = replace(witness, guard="avx2")
    one = replace(need("gfni"), functions=1, first=(behind,))
    assert match(of(plain, evidence(one)), CELERON, glibc="2.36").verdict == "yes"
    # A CPU that passes the check gets there, and dies.
    assert match(of(plain, evidence(one)), HASWELL, glibc="2.36").verdict == "no"
    # Others, which are not listed, may have no check.
    more = replace(one, functions=2)
    assert match(of(plain, evidence(more)), CELERON, glibc="2.36").verdict == "unknown"
    bare = replace(one, functions=2, first=(behind, witness))
    assert match(of(plain, evidence(bare)), CELERON, glibc="2.36").verdict == "no"
