"""What inspections and verifications look like: tables that a person reads, pinned."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.evidence import LIBRARY, evidence, need, part, tally
from tfbuild import host
from tfbuild.cli import code_shown, inspect_shown, verify_shown
from tfbuild.code import minimum
from tfbuild.code.evidence import Evidence
from tfbuild.verify.model import Check, Verification
from tfbuild.wheel.inspection import Inspection, Library
from tfbuild.wheel.match import match

MB = 1_000_000
FILE = "tensorflow_cpu-2.21.0-cp310-cp310-manylinux_2_27_x86_64.whl"


def code(*, spread: int = 0, named: bool = True) -> Evidence:
    """Return evidence like that of an official wheel: baseline AVX, the rest chosen."""
    kernels = tally(6 * MB, spread, avx=100_000, fma=30_000, avx2=20_000, avx512f=130_000)
    parts = (
        part("eigen", tally(60 * MB, spread, avx=9_123_456)),
        part("tensorflow", tally(50 * MB, spread, avx=5_000_000)),
        part("onednn", tally(30 * MB, spread, avx=1_000_000)),
        part("xnnpack", tally(MB, spread, avx=10_000), kernels),
        part("abseil", tally(99_000, spread, avx=2_000)),
        part("standard", tally(1_000, spread)),
    )
    crc = "absl::crc_internal::CRC32AcceleratedX86ARMCombined::Extend"
    needs = (need("sse4_2", crc, "crc32 eax,edx", functions=12), need("avx", functions=345_678))
    return evidence(
        *needs,
        parts=parts,
        total=tally(147 * MB, spread, popcnt=2_000, avx=15_000_000, fma=30_000, avx512f=130_000),
        mode="sample" if spread else "full",
        symbols="full" if named else "none",
        generators={"onednn": ["avx512_core_amx"]},
    )


def inspection(found: Evidence | None, *, unknown: str = "") -> Inspection:
    library = Library(
        name=LIBRARY, size=400 * MB, machine="x86_64", stripped=False, code=found, unknown=unknown
    )
    return Inspection(
        source="wheel",
        file=FILE,
        distribution="tensorflow-cpu",
        version="2.21.0",
        label=None,
        tensorflow="2.21.0",
        tags=("cp310-cp310-manylinux_2_27_x86_64",),
        python="3.10",
        abi="cp310",
        size=250 * MB,
        unpacked_size=900 * MB,
        files=1200,
        sha256="0" * 64,
        libraries=(library,),
        compilers=("clang version 18.1.8",),
        glibc="2.27",
        glibcxx="3.4.25",
        code=found,
        minimum=minimum.of(found) if found else None,
        reading=("A sentence on what it was compiled with.",),
        record=None,
        notes=("Something is odd.",),
    )


def shown(
    found: Inspection | Verification,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int = 80,
) -> str:
    """Return the lines on stdout, without blanks at their ends."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    if isinstance(found, Verification):
        verify_shown.show(found)
    else:
        inspect_shown.show(found)
    lines = capsys.readouterr().out.splitlines()
    assert "\x1b" not in "".join(lines)
    return "".join(f"{line.rstrip()}\n" for line in lines)


@pytest.mark.parametrize(("columns", "spread"), [(80, 0), (120, 0), (80, 900), (120, 900)])
def test_an_inspection(
    columns: int,
    spread: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = shown(inspection(code(spread=spread)), capsys, monkeypatch, columns)
    assert max(map(len, text.splitlines())) <= columns
    golden = DATA / f"inspect_{'sample' if spread else 'full'}_{columns}.txt"
    assert text == golden.read_text()


def answers(text: str) -> dict[str, str]:
    """Return the first rows: title -> text, continuation lines joined."""
    rows: dict[str, str] = {}
    title = ""
    for line in text.splitlines():
        if not line:
            break
        title = line[:14].strip() or title
        rows[title] = f"{rows.get(title, '')} {line[14:].strip()}".strip()
    return rows


def test_nothing_always_run_beyond_the_baseline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = answers(shown(inspection(evidence()), capsys, monkeypatch))
    assert rows["Runs on"] == "any x86-64 CPU"
    assert rows["Always uses"] == "no AVX, no FMA, no AVX2, no AVX-512"
    assert "At run time" not in rows


def test_a_target_of_avx512(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("avx", "fma", "avx2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
    rows = answers(shown(inspection(evidence(*map(need, names))), capsys, monkeypatch))
    assert rows["Runs on"].endswith("or newer (AVX, FMA, AVX2, AVX-512)")
    assert rows["Always uses"] == "AVX, FMA, AVX2, AVX-512"


def test_what_rules_sandy_bridge_out_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = evidence(need("avx"), need("f16c"), need("3dnowprefetch"))
    text = shown(inspection(code), capsys, monkeypatch)
    assert answers(text)["Runs on"] == "ivybridge or newer (AVX, F16C)"
    # A nop on CPUs that do not have it is no need.
    assert not re.search("^3dnowprefetch  +1 ", text, re.MULTILINE)
    both = evidence(need("avx2"), need("f16c"))
    assert "F16C" not in answers(shown(inspection(both), capsys, monkeypatch))["Runs on"]


def test_needs_that_no_target_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = evidence(need("fma4"), need("avx512f"))
    rows = answers(shown(inspection(both), capsys, monkeypatch))
    assert rows["Runs on"] == "no CPU that tfbuild knows: it needs fma4, avx512f"


def test_without_names_the_minimum_may_be_lower(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = answers(shown(inspection(code(named=False)), capsys, monkeypatch))
    assert "perhaps older ones too" in rows["Runs on"]


def test_code_that_is_not_decoded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = "Code for aarch64 is not decoded, only x86 is."
    rows = answers(shown(inspection(None, unknown=unknown), capsys, monkeypatch))
    assert rows["Runs on"] == f"unknown: {unknown}"
    assert "Always uses" not in rows


@pytest.mark.parametrize(
    ("cpu", "begins", "tells"),
    [
        ("cpuinfo/linux-rhel7-haswell", "yes Intel", "Intel"),
        ("odd_cpus/celeron_j3455_no_avx.txt", "no Intel", "avx: Eigen::internal::gebp_kernel"),
    ],
    ids=["yes", "no"],
)
def test_whether_it_runs_here(
    cpu: str,
    begins: str,
    tells: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = inspection(code())
    told = match(found, host.from_cpuinfo(DATA / cpu), glibc="2.36")
    rows = answers(shown(replace(found, host_match=told), capsys, monkeypatch))
    assert " ".join(rows["Runs there"].split()).startswith(begins)
    assert tells in rows["Runs there"]
    # The CPU can; what its system must have is told beside.
    told = match(found, host.from_cpuinfo(DATA / cpu), glibc=None)
    rows = answers(shown(replace(found, host_match=told), capsys, monkeypatch))
    assert " ".join(rows["Runs there"].split()).startswith(begins)
    assert ("glibc 2.27 or newer" in rows["Runs there"]) == begins.startswith("yes")


def test_colour_where_there_is_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    verify_shown.show(VERIFIED)
    text = capsys.readouterr().out
    assert re.search(r"\x1b\[1;31mfailed *\x1b\[0m", text)
    assert re.search(r"\x1b\[32mpassed *\x1b\[0m", text)


VERIFIED = Verification(
    wheel=FILE.replace("2.21.0", "2.21.0+skylake", 1),
    sha256="0123456789abcdef" * 4,
    target="skylake",
    checks=(
        Check(name="structure", status="passed", found="1,200 files, each where it belongs."),
        Check(
            name="pins",
            status="warning",
            found="numpy is not held below 2.",
            why="Its C interface changed with 2.0.",
            do="Add 'numpy<2' where it is installed.",
        ),
        Check(
            name="instructions",
            status="failed",
            found="Code that always runs needs avx512_vnni, which skylake lacks.",
            details=(f"avx512_vnni: dot [vpdpbusd zmm0,zmm1,zmm2] in {LIBRARY}",),
            why="The flags were those of another CPU.",
            do="Compile it again, or verify it for what it is: --target cascadelake",
        ),
        Check(name="training", status="skipped", found="Not run: this CPU lacks avx512f."),
    ),
)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_verification(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(VERIFIED, capsys, monkeypatch, columns)
    assert text == (DATA / f"verify_{columns}.txt").read_text()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "-"),
        (7, "7"),
        (999, "999"),
        (1000, "1.0k"),
        (9_999, "9.9k"),
        (12_345, "12k"),
        (999_999, "999k"),
        (1_250_000, "1.2M"),
        (54_000_000, "54M"),
    ],
)
def test_short_numbers(number: int, text: str) -> None:
    assert code_shown.short(number) == text


def test_the_pinned_files_are_used() -> None:
    names = {path.name for path in Path(DATA).glob("inspect_*.txt")}
    assert names == {f"inspect_{mode}_{n}.txt" for mode in ("full", "sample") for n in (80, 120)}
