"""Targets: what is in the table, which one fits a CPU, and why not."""

import re

import pytest
from packaging.version import Version

from tests.conftest import DATA
from tfbuild import host, target
from tfbuild.errors import HostError, TfbuildError, UsageError
from tfbuild.host import Host

# By hand: what a person who knows these CPUs would compile for.
BEST = {
    "bgq-rhel6-power7": None,
    "darwin-bigsur-m1": "armv8-a",  # the oldest systems list too little for more
    "darwin-mojave-haswell": "haswell",
    "darwin-mojave-ivybridge": "ivybridge",
    "darwin-mojave-skylake": "skylake-client",
    "darwin-monterey-m1": "neoverse-n1",  # dot product and FP16, neither BF16 nor SVE
    "darwin-monterey-m2": "neoverse-n1",
    "darwin-sequoia-m3": "neoverse-n1",
    "darwin-sequoia-m4": "neoverse-n1",
    "linux-amazon-cortex_a72": "cortex-a72",
    "linux-amazon-neoverse_n1": "neoverse-n1",
    "linux-amazon-neoverse_v1": "neoverse-v1",
    "linux-asahi-m1": "neoverse-n1",
    "linux-asahi-m2": "neoverse-n1",
    "linux-centos7-cascadelake": "cascadelake",
    "linux-centos7-power8le": None,
    "linux-centos7-thunderx2": "armv8-a",
    "linux-debian13-x60": None,
    "linux-rhel6-piledriver": "piledriver",
    "linux-rhel7-broadwell": "broadwell",
    "linux-rhel7-haswell": "haswell",
    "linux-rhel7-ivybridge": "ivybridge",
    "linux-rhel7-skylake_avx512": "skylake",
    "linux-rhel7-x86_64_v3": "haswell",  # a Haswell without AES, which no Haswell code needs
    "linux-rhel7-zen": "zen",
    "linux-rhel8-neoverse_v1": "neoverse-v1",
    "linux-rhel8-power9": None,
    "linux-rhel9-neoverse_n2": "neoverse-n2",
    "linux-rhel9-neoverse_v2": "neoverse-v2",
    "linux-rocky8-a64fx": "armv8-a",
    "linux-rocky8.5-zen4": "zen4",
    "linux-rocky9-zen5": "zen5",
    "linux-rocky9-zen6": "zen5",  # the newest that there is
    "linux-scientific7-k10": "x86-64",  # no SSSE3
    "linux-scientific7-piledriver": "piledriver",
    "linux-scientificfermi6-bulldozer": "bulldozer",
    "linux-scientificfermi6-piledriver": "piledriver",
    "linux-sifive-u74mc": None,
    "linux-spacemit-x60": None,
    "linux-ubuntu18.04-broadwell": "broadwell",
    "linux-ubuntu20.04-zen3": "zen3",
    "linux-ubuntu22.04-ampere1": "neoverse-n1",
    "linux-ubuntu22.04-ampere1a": "neoverse-n1",
    "linux-ubuntu22.04-neoverse_n2": "neoverse-n2",
    "linux-ubuntu22.04-neoverse_v2": "neoverse-v2",
    "linux-ubuntu24.04-alderlake": "alderlake",
    "linux-ubuntu24.04-neoverse_v3ae": "neoverse-v2",
    "linux-ubuntu26.04-arrowlake_s": "alderlake",
    "linux-ubuntu26.04-olympus": "neoverse-v2",
    "linux-unknown-neoverse_v2": "neoverse-v2",
    "linux-unknown-power10": None,
    "linux-unknown-sapphirerapids": "sapphirerapids",
    "windows-cpuid-broadwell": "broadwell",
    "windows-cpuid-icelake": "icelake",
}
BEST_ODD = {
    "celeron_j3455_no_avx": "westmere",
    "guest_stops_at_pni": "x86-64",
    "knights_landing": "haswell",
    "virtualbox_avx2_no_fma": "sandybridge",
    "xeon_e5_2620v2_guest_no_avx": "nehalem",
}


def machine(name: str) -> Host:
    return host.from_cpuinfo(DATA / "cpuinfo" / name)


def cpu(features: str, vendor: str = "GenuineIntel", name: str = "x86_64") -> Host:
    return Host(
        system="Linux",
        architecture="x86_64",
        vendor=vendor,
        brand="",
        microarchitecture=name,
        features=frozenset(features.split()),
        cpus=1,
        source="test",
    )


def features(name: str) -> str:
    return " ".join(target.find(name).requires)


def best(one: Host) -> str:
    found = target.recommend(one)
    assert found
    return found.name


def test_the_table_covers_every_machine() -> None:
    names = {path.name for path in (DATA / "cpuinfo").iterdir() if path.suffix != ".md"}
    assert names == BEST.keys()


@pytest.mark.parametrize(("name", "expected"), BEST.items())
def test_recommended_for_a_real_machine(name: str, expected: str | None) -> None:
    found = target.recommend(machine(name))
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(("name", "expected"), BEST_ODD.items())
def test_recommended_for_an_odd_machine(name: str, expected: str) -> None:
    assert best(host.from_cpuinfo(DATA / "odd_cpus" / f"{name}.txt")) == expected


@pytest.mark.parametrize("name", [name for name in BEST if BEST[name]])
def test_what_is_recommended_runs(name: str) -> None:
    found = target.recommend(machine(name))
    assert found
    assert found.requires <= machine(name).features


@pytest.mark.parametrize("hidden", ["aes", "pclmulqdq", "adx", "rdseed", "rdrand"])
def test_one_hidden_feature_keeps_avx512(hidden: str) -> None:
    masked = cpu(features("skylake").replace(hidden, ""))
    assert best(masked) == "x86-64-v4"


@pytest.mark.parametrize(
    "hidden",
    [
        *("clflushopt", "clwb", "clzero", "fsgsbase", "pku"),
        *("3dnowprefetch", "sgx", "xsavec", "xsaves"),
    ],
)
def test_features_that_no_code_uses_may_be_hidden(hidden: str) -> None:
    for name, expected in (("linux-rhel7-skylake_avx512", "skylake"), ("linux-rhel7-zen", "zen")):
        one = machine(name)
        masked = cpu(" ".join(one.features - {hidden}), one.vendor)
        assert best(masked) == expected


def test_vendor_decides_between_equals() -> None:
    avx2 = f"{features('x86-64-v3')} {features('broadwell')} {features('zen')}"
    assert best(cpu(avx2, "GenuineIntel")) == "broadwell"  # no CLFLUSHOPT: not yet a Skylake
    assert best(cpu(avx2, "AuthenticAMD")) == "zen"
    assert best(cpu(avx2, "HygonGenuine")) == "zen"
    assert best(cpu(avx2, "CentaurHauls")) == "x86-64-v3"


def test_wider_vectors_beat_the_vendor() -> None:
    assert best(cpu(features("sandybridge"), "AuthenticAMD")) == "sandybridge"


def test_no_target_without_the_baseline() -> None:
    assert target.recommend(cpu("sse")) is None


def test_names_and_labels() -> None:
    names = [one.name for one in target.all_targets()]
    labels = [one.label for one in target.all_targets()]
    widened = [
        one.with_vector_width(width).label
        for one in target.all_targets()
        if one.architecture == "x86_64"
        for width in (128, 256, 512)
        if width <= one.register_width and width != one.vector_width
    ]
    assert len(set(names)) == len(names)
    assert len({*labels, *widened}) == len(labels) + len(widened)
    for label in labels + widened:
        assert re.fullmatch(r"[a-z][a-z0-9.]*", label)
        assert Version(f"2.21.0+{label}").local == label


def test_skylake_is_the_server_with_avx512() -> None:
    server, client = target.find("skylake"), target.find("skylake-client")
    assert server.flags == ("-march=skylake-avx512", "-mprefer-vector-width=256")
    assert client.flags == ("-march=skylake",)
    assert "avx512f" in server.requires
    assert "avx512f" not in client.requires


def test_never_native() -> None:
    assert not any("native" in flag for one in target.all_targets() for flag in one.flags)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("skylake-avx512", "skylake"),
        ("SKYLAKE", "skylake"),
        ("x86_64_v3", "x86-64-v3"),
        ("x86.64.v3", "x86-64-v3"),
        ("znver4", "zen4"),
        ("icelake-server", "icelake"),
        (" haswell ", "haswell"),
    ],
)
def test_find_knows_the_compilers_names(word: str, name: str) -> None:
    assert target.find(word).name == name


@pytest.mark.parametrize(
    "word", ["skylak", "has well", "", "avx2", "native", "-march=haswell", "é"]
)
def test_find_refuses_unknown_names(word: str) -> None:
    with pytest.raises(UsageError, match="no target") as caught:
        target.find(word)
    assert caught.value.exit_code == 2
    assert "tfbuild targets" in caught.value.do


def test_find_suggests() -> None:
    with pytest.raises(UsageError) as caught:
        target.find("skylakeclient")
    assert "'skylake-client'" in caught.value.why


def test_resolve() -> None:
    zen = machine("linux-rhel7-zen")
    assert target.resolve("native", zen) == target.find("zen")
    assert target.resolve("haswell", zen) == target.find("haswell")
    with pytest.raises(HostError, match="No target runs"):
        target.resolve("native", machine("linux-centos7-power8le"))


def test_why_not() -> None:
    skylake = target.find("skylake")
    assert skylake.why_not(machine("linux-centos7-cascadelake")) is None
    lacking = skylake.why_not(host.from_cpuinfo(DATA / "odd_cpus" / "knights_landing.txt"))
    assert lacking
    assert re.match(r"skylake needs adx, avx512bw, avx512dq, avx512vl, rdseed, which", lacking)
    assert "avx512f" not in lacking
    assert skylake.why_not(machine("linux-asahi-m1")) == (
        "skylake is for x86_64, and this CPU is aarch64."
    )


def test_haswell_is_refused_where_fma_is_hidden() -> None:
    odd = host.from_cpuinfo(DATA / "odd_cpus" / "virtualbox_avx2_no_fma.txt")
    reason = target.find("haswell").why_not(odd)
    assert reason
    assert {"fma", "bmi1", "bmi2"} <= set(re.findall(r"\w+", reason))


def test_any_x86_host_builds_any_x86_target() -> None:
    oldest = machine("linux-scientific7-k10")
    for one in target.all_targets():
        assert (one.why_not_build(oldest) is None) == (one.architecture == "x86_64")


def test_vector_width() -> None:
    skylake = target.find("skylake")
    wide = skylake.with_vector_width(512)
    assert wide.flags == ("-march=skylake-avx512", "-mprefer-vector-width=512")
    assert (wide.label, wide.vector_width, wide.name) == ("skylake.w512", 512, "skylake")
    assert wide.requires == skylake.requires
    assert skylake.with_vector_width(256) is skylake


@pytest.mark.parametrize(
    ("name", "bits"), [("haswell", 512), ("nehalem", 256), ("skylake", 64), ("neoverse-n1", 256)]
)
def test_vector_width_that_does_not_exist(name: str, bits: int) -> None:
    with pytest.raises(UsageError, match=f"cannot prefer {bits}-bit"):
        target.find(name).with_vector_width(bits)


GOOD = {"description": "x", "march": "x", "width": 128, "gcc": "1", "clang": "1"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"march": None}, "march is missing"),
        ({"width": "128"}, "width is missing or not int"),
        ({"width": 100}, "width is not one of"),
        ({"from": "later"}, "builds on 'later'"),
        ({"colour": "red"}, "colour is unknown"),
        ({"adds": ["avx"]}, "adds is unknown or not a string"),
    ],
)
def test_damaged_table_is_refused(change: dict[str, object], says: str) -> None:
    with pytest.raises(TfbuildError, match=says):
        target.read_table({"one": {**GOOD, **change}})


# By hand from the manuals of GCC 14 and Clang 19.
MARCH = {
    "x86-64": "x86-64",
    "x86-64-v2": "x86-64-v2",
    "x86-64-v3": "x86-64-v3",
    "x86-64-v4": "x86-64-v4",
    "core2": "core2",
    "silvermont": "silvermont",
    "nehalem": "nehalem",
    "westmere": "westmere",
    "goldmont": "goldmont",
    "sandybridge": "sandybridge",
    "ivybridge": "ivybridge",
    "haswell": "haswell",
    "broadwell": "broadwell",
    "skylake-client": "skylake",
    "alderlake": "alderlake",
    "skylake": "skylake-avx512",
    "cascadelake": "cascadelake",
    "cooperlake": "cooperlake",
    "icelake": "icelake-server",
    "sapphirerapids": "sapphirerapids",
    "bulldozer": "bdver1",
    "piledriver": "bdver2",
    "zen": "znver1",
    "zen2": "znver2",
    "zen3": "znver3",
    "zen4": "znver4",
    "zen5": "znver5",
}


def test_the_compilers_name() -> None:
    flags = {one.name: one.flags[0] for one in target.all_targets() if one.architecture == "x86_64"}
    assert flags == {name: f"-march={march}" for name, march in MARCH.items()}
