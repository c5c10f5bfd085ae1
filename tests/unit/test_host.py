"""What counts as a usable feature, and what is refused."""

import os
import platform
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA, need
from tfbuild import host
from tfbuild.errors import HostError
from tfbuild.host import fallback, live, text

CPU = "processor : 0\nvendor_id : GenuineIntel\nmodel name : A CPU\nflags : {}\n"
BASE = "lm sse sse2 pni ssse3 sse4_1 sse4_2 popcnt"


def read(folder: Path, content: str) -> host.Host:
    path = folder / "cpuinfo"
    path.write_text(content)
    return host.from_cpuinfo(path)


@pytest.mark.parametrize(
    ("flags", "dropped", "kept"),
    [
        # KVM guest of a Xeon E5-2620 v3 (tensorflow #12163): AVX2 and FMA, but no AVX, no XSAVE.
        ("avx2 fma f16c bmi1 bmi2 movbe", "avx2 fma f16c", "bmi1 bmi2 movbe"),
        ("avx avx2 fma", "avx avx2 fma", "sse4_2"),
        ("xsave avx2 avx512f vaes", "avx2 avx512f vaes", "xsave"),
        ("xsave avx avx512f avx512vl", "avx512f avx512vl", "avx"),
        ("xsave avx avx2 avx512vl avx512_vnni", "avx512vl avx512_vnni", "avx avx2"),
        ("amx_tile amx_bf16", "amx_tile amx_bf16", "popcnt"),
    ],
)
def test_what_the_system_has_not_enabled_does_not_count(
    tmp_path: Path, flags: str, dropped: str, kept: str
) -> None:
    found = read(tmp_path, CPU.format(f"{BASE} {flags}"))
    assert not set(dropped.split()) & found.features
    assert set(kept.split()) <= found.features
    (warning,) = found.warnings
    assert all(name in warning for name in dropped.split())


def test_a_whole_set_needs_no_warning(tmp_path: Path) -> None:
    found = read(tmp_path, CPU.format(f"{BASE} xsave avx avx2 fma avx512f avx512vl"))
    assert found.warnings == ()
    assert {"avx512vl", "fma"} <= found.features


def test_avx2_without_fma_stays(tmp_path: Path) -> None:
    found = read(tmp_path, CPU.format(f"{BASE} xsave avx avx2 hypervisor"))
    assert "avx2" in found.features
    assert found.warnings == ()


def test_virtual_machine_without_avx_is_told_why(tmp_path: Path) -> None:
    assert "hypervisor" in read(tmp_path, CPU.format(f"{BASE} hypervisor")).warnings[0]
    assert read(tmp_path, CPU.format(BASE)).warnings == ()


def test_only_what_all_cpus_have_counts(tmp_path: Path) -> None:
    found = read(tmp_path, CPU.format(f"{BASE} xsave avx") + "\n" + CPU.format(BASE))
    assert "avx" not in found.features
    assert found.cpus == 2
    assert "same features" in found.warnings[0]


def test_truncated_list_is_mentioned(tmp_path: Path) -> None:
    found = read(tmp_path, CPU.format(f"{BASE} xsave av").rstrip("\n"))
    assert "ends inside" in found.warnings[0]


def test_32_bit_and_foreign_cpus_are_unknown(tmp_path: Path) -> None:
    assert read(tmp_path, CPU.format("sse sse2")).architecture == "unknown"
    s390 = "vendor_id : IBM/S390\n# processors : 2\nfeatures : esan3 zarch\n"
    assert read(tmp_path, s390).architecture == "unknown"
    arm32 = "processor : 0\nFeatures : half thumb neon\nCPU implementer : 0x41\n"
    assert read(tmp_path, arm32).architecture == "unknown"
    loong = "processor : 0\nCPU Family : Loongson-64bit\nFeatures : cpucfg lam fpu lsx\n"
    assert read(tmp_path, loong).architecture == "unknown"


def test_a_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    evil = CPU.format(BASE).replace("A CPU", "\x1b[31mred\x07" + "x" * 1000)
    brand = read(tmp_path, evil).brand
    assert brand.isprintable()
    assert len(brand) <= 200


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (os.urandom(65536) + b"\0", "not text"),
        (b"\xff\xfe\xfd" * 1000, "does not describe"),
        (b"hello\nworld: 1\n", "does not describe"),
        (b'{"flags": ["avx"]}', "does not describe"),
        (b"1, 2, 3\n", "does not describe"),
        (b"0, 0, 99999999999, 0, 0, 0\n", "does not describe"),
        (b"\n".join([b"x" * 1000] * 1000), "does not describe"),
        (b"processor : 0\nvendor_id : GenuineIntel\nflags : \n", "does not say"),
        (b"processor : 0\nflags : ", "does not say"),
        (b"processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel na", "does not say"),
        (b"processor : 0\nFeatures : \nCPU implementer : 0x41\n", "does not say"),
    ],
)
def test_what_is_no_cpuinfo_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "cpuinfo"
    path.write_bytes(content)
    with pytest.raises(HostError, match=says) as caught:
        host.from_cpuinfo(path)
    assert caught.value.exit_code == 4
    assert caught.value.do


def test_missing_folder_and_device_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="Cannot read"):
        host.from_cpuinfo(tmp_path / "absent")
    with pytest.raises(HostError, match="Cannot read"):
        host.from_cpuinfo(tmp_path)
    need(Path("/dev/zero").exists(), "needs /dev/zero")
    with pytest.raises(HostError):
        host.from_cpuinfo(Path("/dev/zero"))


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(CPU.format(BASE))
    path.chmod(0)
    if os.access(path, os.R_OK):
        # The superuser reads everything: /proc/self/mem refuses even him (address 0).
        path = Path("/proc/self/mem")
    with pytest.raises(HostError, match="Cannot read"):
        host.from_cpuinfo(path)


def test_endless_text_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MOST_BYTES", 1000)
    with pytest.raises(HostError, match="not text"):
        read(tmp_path, CPU.format(BASE) * 100)


def test_xsave_that_the_system_does_not_use_is_seen_in_cpuid(tmp_path: Path) -> None:
    lines = (DATA / "cpuinfo" / "windows-cpuid-icelake").read_text().splitlines()
    leaf, sub, eax, ebx, ecx, edx = lines[2].split(", ")
    lines[2] = ", ".join([leaf, sub, eax, ebx, str(int(ecx) & ~(1 << 27)), edx])
    found = read(tmp_path, "\n".join(lines))
    assert not {"xsave", "avx", "avx2", "avx512f"} & found.features
    assert found.warnings


def test_emulation_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "CPUINFO", DATA / "cpuinfo" / "linux-asahi-m1")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(HostError, match="aarch64") as caught:
        host.detect()
    assert "emulated" in caught.value.why
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert host.detect().microarchitecture == "m1"


def test_power_keeps_its_byte_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "CPUINFO", DATA / "cpuinfo" / "linux-rhel8-power9")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "ppc64")
    assert host.detect().microarchitecture == "power9"


def test_macos_asks_sysctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "sysctl"
    fake.write_text(f"#!/bin/sh\ncat {DATA / 'cpuinfo' / 'darwin-monterey-m2'}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(live, "SYSCTL", str(fake))
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    found = host.detect()
    assert (found.microarchitecture, found.source) == ("m2", "sysctl")


def test_py_cpuinfo_serves_where_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directly = host.detect()
    monkeypatch.setattr(live, "CPUINFO", tmp_path / "absent")
    found = host.detect()
    assert found.source == "py-cpuinfo"
    for attribute in ("architecture", "vendor", "brand", "microarchitecture", "cpus"):
        assert getattr(found, attribute) == getattr(directly, attribute)
    vectors = {name for name in directly.features if name.startswith(("sse", "avx", "fma", "bmi"))}
    assert vectors <= found.features


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import time; time.sleep(60)", "did not finish"),
        ("print('no json')", "Expecting value"),
        ("print('[]')", "another shape"),
        ("print('{}')", "no list of features"),
        ("raise SystemExit(3)", "failed with 3"),
    ],
)
def test_py_cpuinfo_that_fails_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    monkeypatch.setattr(live, "CPUINFO", tmp_path / "absent")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(fallback, "COMMAND", (sys.executable, "-c", code))
    monkeypatch.setattr(fallback, "SECONDS", 3.0)
    with pytest.raises(HostError, match="Cannot find out") as caught:
        host.detect()
    assert says in caught.value.why
    assert "absent" in caught.value.why
