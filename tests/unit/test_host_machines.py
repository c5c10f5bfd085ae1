"""Real machines: 54 saved descriptions, a few odd ones, and the one that runs the tests."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA, need
from tfbuild import host

MACHINES = sorted(path for path in (DATA / "cpuinfo").iterdir() if path.suffix != ".md")
LINUX_X86 = [
    path
    for path in MACHINES
    if path.name.startswith("linux") and "GenuineIntel" in path.read_text()
] + [path for path in MACHINES if "AuthenticAMD" in path.read_text()]
ODD = json.loads((DATA / "odd_cpus" / "expected.json").read_text())

# From a file alone nobody can tell the byte order of a POWER9 or 10, and archspec has no POWER7
# without a level of its own; all three are called by what they most likely are.
NAMED_OTHERWISE = {"linux-rhel8-power9": "power9le", "linux-unknown-power10": "power10le"}

# Counted by hand in the files.
AVX512_FLAGS = {
    "linux-centos7-cascadelake": 6,
    "linux-rhel7-skylake_avx512": 5,
    "linux-unknown-sapphirerapids": 13,
    "linux-rocky8.5-zen4": 12,
    "linux-rocky9-zen5": 13,
    "linux-ubuntu24.04-alderlake": 0,
    "linux-rhel7-zen": 0,
}


def test_all_machines_are_here() -> None:
    assert len(MACHINES) == 54


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.name)
def test_machine_is_named_as_archspec_names_it(path: Path) -> None:
    expected = NAMED_OTHERWISE.get(path.name, path.name.split("-", 2)[2])
    assert host.from_cpuinfo(path).microarchitecture == expected


@pytest.mark.parametrize("path", LINUX_X86, ids=lambda path: path.name)
def test_every_listed_flag_counts_on_a_healthy_machine(path: Path) -> None:
    listed = re.search(r"^flags\s*: (.*)$", path.read_text(), re.MULTILINE)
    assert listed
    found = host.from_cpuinfo(path)
    assert found.features - {"sse3", "lzcnt"} == set(listed[1].split())
    assert ("sse3" in found.features) == ("pni" in found.features)
    assert ("lzcnt" in found.features) == ("abm" in found.features)
    assert found.architecture == "x86_64"
    assert found.brand in path.read_text()
    assert found.source == str(path)


@pytest.mark.parametrize("name", AVX512_FLAGS)
def test_avx512_subsets(name: str) -> None:
    found = host.from_cpuinfo(DATA / "cpuinfo" / name)
    assert sum(flag.startswith("avx512") for flag in found.features) == AVX512_FLAGS[name]


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("darwin-mojave-haswell", "avx avx2 fma bmi1 bmi2 sse4_2 movbe f16c", "avx512f adx"),
        ("darwin-mojave-ivybridge", "avx f16c sse4_1", "avx2 fma"),
        ("darwin-mojave-skylake", "avx2 adx clflushopt lzcnt", "avx512f"),
        ("darwin-monterey-m1", "asimd asimddp atomics fphp crc32", "bf16 i8mm sve"),
        ("darwin-monterey-m2", "asimd bf16 i8mm", "sve sme"),
        ("darwin-sequoia-m4", "asimd bf16 i8mm sme sme2", "sve"),
        ("darwin-bigsur-m1", "asimd atomics fphp sha3", "sve"),
        ("windows-cpuid-broadwell", "avx2 fma adx rdseed lzcnt 3dnowprefetch", "avx512f sha_ni"),
        ("windows-cpuid-icelake", "avx512f avx512_vnni avx512_vbmi2 vaes sha_ni", "amx_tile"),
        ("linux-amazon-neoverse_v1", "sve bf16 i8mm", "sve2"),
        ("linux-rhel9-neoverse_n2", "sve sve2", "avx"),
    ],
)
def test_features_of_other_systems_are_spelled_as_linux_does(
    name: str, has: str, lacks: str
) -> None:
    features = host.from_cpuinfo(DATA / "cpuinfo" / name).features
    assert set(has.split()) <= features
    assert not set(lacks.split()) & features


def test_other_systems_tell_vendor_and_brand() -> None:
    broadwell = host.from_cpuinfo(DATA / "cpuinfo" / "windows-cpuid-broadwell")
    assert (broadwell.system, broadwell.vendor) == ("Windows", "GenuineIntel")
    assert broadwell.brand.startswith("Intel(R) Core(TM)")
    m2 = host.from_cpuinfo(DATA / "cpuinfo" / "darwin-monterey-m2")
    assert (m2.system, m2.vendor, m2.brand, m2.cpus) == ("Darwin", "Apple", "Apple M2", 8)
    graviton = host.from_cpuinfo(DATA / "cpuinfo" / "linux-amazon-neoverse_n1")
    assert (graviton.vendor, graviton.architecture) == ("ARM", "aarch64")


@pytest.mark.parametrize("name", ODD)
def test_odd_cpu(name: str) -> None:
    linux = {"SSE3": "sse3", "SSE4.2": "sse4_2"}
    found = host.from_cpuinfo(DATA / "odd_cpus" / f"{name}.txt")
    usable = {linux.get(one, one.lower()) for one in ODD[name]["usable"]}
    lacking = {linux.get(one, one.lower()) for one in ODD[name]["not"]}
    assert usable <= found.features
    assert not lacking & found.features


def test_this_machine_as_lscpu_sees_it() -> None:
    need(sys.platform == "linux" and shutil.which("lscpu"), "needs lscpu")
    done = subprocess.run(["lscpu", "--json"], capture_output=True, text=True, check=True)
    rows = {row["field"].rstrip(":"): row["data"] for row in json.loads(done.stdout)["lscpu"]}
    found = host.detect()
    assert found.architecture == rows["Architecture"]
    assert found.cpus == int(rows["CPU(s)"])
    assert found.source == "/proc/cpuinfo"
    if found.architecture == "x86_64":
        assert found.vendor == rows["Vendor ID"]
        assert found.features - {"sse3", "lzcnt"} <= set(rows["Flags"].split())
        assert {"sse2", "fpu"} <= found.features


def test_this_machine_as_archspec_names_it() -> None:
    code = "import archspec.cpu; print(archspec.cpu.host().name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert host.detect().microarchitecture == done.stdout.strip()
