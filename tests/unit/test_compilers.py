"""Flags by compiler and version, judged by the compilers that are here and by archspec."""

import json
import re
import shutil
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import archspec
import pytest

from tests.conftest import need
from tests.unit.test_target_compilers import RECORDED, arm_features, x86_features
from tfbuild import compilers, target
from tfbuild.compilers import Choice, Compiler
from tfbuild.target import Target

TABLE = json.loads(
    (Path(archspec.__path__[0]) / "json/cpu/microarchitectures.json").read_text(encoding="utf-8")
)["microarchitectures"]
# Program and its options, family, architecture.
COMPILERS = [
    ("gcc-11", "gcc", "x86_64"),
    ("gcc-12", "gcc", "x86_64"),
    ("clang-14", "clang", "x86_64"),
    ("aarch64-linux-gnu-gcc-12", "gcc", "aarch64"),
    ("clang-14 --target=aarch64-linux-gnu", "clang", "aarch64"),
]
KNOWN = set().union(
    *(macros.split() for compiler in RECORDED.values() for macros in compiler.values())
)
TARGETS = target.all_targets()


@cache
def version(command: str) -> tuple[int, int]:
    words = command.split()
    need(shutil.which(words[0]), f"needs {words[0]}")
    option = "-dumpfullversion" if "gcc" in words[0] else "-dumpversion"
    done = subprocess.run([words[0], option], capture_output=True, text=True, check=True)
    major, minor = done.stdout.split(".")[:2]
    return int(major), int(minor)


def macros(command: str, flags: tuple[str, ...]) -> str | None:
    """Return what the compiler defines with these flags, None if it does not know one."""
    words = [*command.split(), *flags, "-dM", "-E", "-x", "c", "/dev/null"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout


def announced(text: str, architecture: str) -> set[str]:
    defined = set(re.findall(r"^#define (\w+)", text, re.MULTILINE)) & KNOWN
    if architecture == "x86_64":
        return x86_features(" ".join(defined))
    return arm_features(" ".join(name for name in defined if name.startswith("__ARM_FEATURE")))


def rows() -> list[tuple[Target, str, Choice]]:
    return [
        (one, family, choice)
        for one in TARGETS
        for family in compilers.FAMILIES
        for choice in compilers._all(one, family)
    ]


@pytest.mark.parametrize(("command", "family", "architecture"), COMPILERS)
def test_compilers_take_the_flags_of_their_version_and_promise_no_more_than_the_target(
    command: str, family: str, architecture: str
) -> None:
    here = version(command)
    judged = 0
    for one, whose, choice in rows():
        if whose != family or one.architecture != architecture:
            continue
        if not choice.since <= (here if family == "gcc" else (here[0], 99)):
            continue
        text = macros(command, choice.flags)
        assert text is not None, f"{command} does not take {choice.flags} of {one.name}"
        needed = announced(text, architecture) - target.ignorable(architecture)
        assert needed <= one.requires, (one.name, choice.flags)
        judged += 1
    assert judged >= sum(one.architecture == architecture for one in TARGETS)


@pytest.mark.parametrize(("command", "family", "architecture"), COMPILERS)
def test_the_first_choice_that_a_compiler_takes_is_that_of_its_version(
    command: str, family: str, architecture: str
) -> None:
    here = version(command)
    for one in TARGETS:
        if one.architecture != architecture:
            continue
        asked = compilers.choices(one, Compiler(family=family, major=None))
        taken = next(
            (choice for choice in asked if macros(command, choice.flags) is not None), None
        )
        offered = compilers.choices(one, Compiler(family=family, major=here[0]))
        assert taken is not None
        if taken.native and not offered[0].native:
            # archspec is more careful about Arm's newest CPUs than this Clang itself.
            assert one.name.startswith("neoverse"), one.name
            assert family == "clang"
            continue
        assert taken in offered, one.name
        if compilers.decided(offered, Compiler(family=family, major=here[0])):
            assert taken == offered[0], one.name


@pytest.mark.parametrize(
    ("command", "family", "architecture"), [row for row in COMPILERS if row[2] == "x86_64"]
)
def test_as_near_as_the_compiler_can(command: str, family: str, architecture: str) -> None:
    # What a fallback leaves out of the target's instruction sets is what this compiler has no
    # option for. GCC's and Clang's option for a feature, where it is not -m<feature>.
    option = {"avx_vnni": "avxvnni", "avx512_fp16": "avx512fp16", "avx512_bf16": "avx512bf16"}
    here = version(command)
    for one in TARGETS:
        if one.architecture != architecture:
            continue
        found = compilers.choices(one, Compiler(family=family, major=here[0]))
        taken = [choice for choice in found if macros(command, choice.flags) is not None]
        text = macros(command, taken[0].flags)
        assert text is not None
        for feature in sorted(one.requires - announced(text, architecture)):
            flag = f"-m{option.get(feature, feature)}"
            assert macros(command, (flag,)) is None, (one.name, flag)


def test_rows_of_one_target_and_compiler_do_not_overlap_or_leave_gaps() -> None:
    for one in TARGETS:
        for family in compilers.FAMILIES:
            found = compilers._all(one, family)
            for newer, older in pairwise(found):
                assert older.since <= older.until < newer.since, (one.name, family)
                following = (older.until[0], older.until[1] + 1)
                starts = {following, (older.until[0] + 1, 0), (older.until[0] + 1, 1)}
                assert newer.since in starts, (one.name, family, older, newer)


def test_native_versions_are_those_of_archspec() -> None:
    for one in TARGETS:
        for family in compilers.FAMILIES:
            entries = TABLE.get(one.microarchitecture, {}).get("compilers", {}).get(family, [])
            own = [
                entry["versions"]
                for entry in entries
                if one.march in {entry.get("name"), one.microarchitecture}
                or f"-mcpu={one.march}" in entry["flags"]
            ]
            newest = [text.removesuffix(":") for text in own if text.endswith(":") and text != ":"]
            for text in newest:
                # archspec counts from .0, which GCC never released.
                ours = compilers.first_native(one, family)
                # Clang 16 to 18 mean more by Neoverse N2 than the CPU must have.
                expected = "19" if (one.name, family) == ("neoverse-n2", "clang") else None
                assert (expected or text.split(".")[0]) == ours.split(".")[0], one.name


def test_archspecs_fallbacks_are_in_ours() -> None:
    rows_of_archspec = [
        row for row in compilers._data()["fallbacks"] if row["source"] == "archspec"
    ]
    assert len(rows_of_archspec) > 10
    for row in rows_of_archspec:
        entries = TABLE[target.find(row["target"]).microarchitecture]["compilers"]
        theirs = [
            entry
            for entry in entries.get(row["compiler"], [])
            if covers(entry["versions"], row["since"])
        ]
        (entry,) = theirs
        name = entry.get("name", "")
        flags = entry["flags"].format(name=name).split()
        wanted = {flag for flag in flags if not flag.startswith("-mtune=")}
        # Less the random numbers of Neoverse V1, which the target does not need.
        assert {flag.removesuffix("+rng") for flag in wanted} == set(row["flags"].split())


def covers(versions: str, since: str) -> bool:
    first, _, last = versions.partition(":")
    low = compilers._version(short(first))
    high = compilers._version(short(last), last=True) if last else (999, 0)
    return low <= compilers._version(since) <= high


def short(text: str) -> str:
    """Return "11.3.99" as "11.3"."""
    return ".".join(text.split(".")[:2])


def test_every_row_names_a_source() -> None:
    data = compilers._data()
    assert {row["source"] for row in data["fallbacks"]} == set(data["sources"])


@pytest.mark.parametrize(
    ("name", "family", "major"),
    [
        ("gcc-11", "gcc", 11),
        ("clang-17", "clang", 17),
        ("llvm-18", "clang", 18),
        ("system", "gcc", None),
    ],
)
def test_names_of_compilers(name: str, family: str, major: int | None) -> None:
    assert compilers.named(name) == Compiler(family=family, major=major)


@pytest.mark.parametrize(
    ("name", "compiler", "first"),
    [
        ("zen4", "gcc-11", "-march=znver3"),
        ("zen4", "gcc-13", "-march=znver4"),
        ("zen4", "clang-15", "-march=znver3"),
        ("zen5", "llvm-18", "-march=znver4"),
        ("zen5", "clang-19", "-march=znver5"),
        ("x86-64-v3", "gcc-10", "-march=x86-64"),
        ("neoverse-v2", "gcc-11", "-mcpu=neoverse-n2"),
    ],
)
def test_what_an_older_compiler_gets(name: str, compiler: str, first: str) -> None:
    found = compilers.choices(target.find(name), compilers.named(compiler))
    assert compilers.decided(found, compilers.named(compiler))
    assert found[0].flags[0] == first
    assert found[0].native == (first in target.find(name).flags)


def test_where_only_the_image_knows() -> None:
    zen4 = target.find("zen4")
    # 12.3 knows znver4, Debian's 12.2 does not.
    for name in ("gcc-12", "system"):
        found = compilers.choices(zen4, compilers.named(name))
        assert [choice.flags[0] for choice in found] == ["-march=znver4", "-march=znver3"]
        assert not compilers.decided(found, compilers.named(name))
    assert not compilers.choices(zen4, compilers.named("gcc-9"))


def test_the_vector_width_stays() -> None:
    narrow = target.find("zen4").with_vector_width(256)
    for choice in compilers.choices(narrow, compilers.named("gcc-12")):
        assert "-mprefer-vector-width=256" in choice.flags
        assert "-mprefer-vector-width=512" not in choice.flags
