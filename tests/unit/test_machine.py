"""Facts of a machine, read from folders that look like /proc and /sys of real ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.test_bench import HOST
from tfbuild import machine


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_a_bare_root_gives_unknown_and_no_failure(tmp_path: Path) -> None:
    facts = machine.read(HOST, tmp_path)
    assert (facts.cpu_quota, facts.memory_bytes, facts.governor) == (None, None, None)
    assert (facts.turbo, facts.smt) == (None, None)
    load = machine.load(tmp_path)
    assert (load.load_1min, load.pressure_avg10, load.busy_seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/", {"cpu.max": "max 100000\n"}, None),
        ("0::/user.slice/a", {"user.slice/a/cpu.max": "50000 100000", "cpu.max": "max 1"}, 0.5),
        ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
    ],
)
def test_quota_of_both_control_group_versions(
    tmp_path: Path, groups: str, files: dict[str, str], quota: float | None
) -> None:
    put(tmp_path, "proc/self/cgroup", groups + "\n")
    for name, text in files.items():
        put(tmp_path, f"sys/fs/cgroup/{name}", text)
    assert machine.read(HOST, tmp_path).cpu_quota == quota


def test_frequency_facts(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu"
    put(tmp_path, f"{cpu}/cpu0/cpufreq/scaling_governor", "performance\n")
    put(tmp_path, f"{cpu}/intel_pstate/no_turbo", "1\n")
    put(tmp_path, f"{cpu}/cpufreq/boost", "1\n")
    put(tmp_path, f"{cpu}/smt/active", "0\n")
    put(tmp_path, "proc/meminfo", "MemFree: 1 kB\nMemTotal:       2048 kB\n")
    facts = machine.read(HOST, tmp_path)
    assert (facts.governor, facts.turbo, facts.smt) == ("performance", False, False)
    assert facts.memory_bytes == 2 * 1024 * 1024


@pytest.mark.parametrize(
    ("allowed", "quota", "threads"),
    [(8, None, 8), (8, 2.5, 2), (8, 0.5, 1), (2, 64.0, 2)],
)
def test_threads_keep_to_affinity_and_quota(
    tmp_path: Path, allowed: int, quota: float | None, threads: int
) -> None:
    facts = replace(machine.read(HOST, tmp_path), cpus_allowed=allowed, cpu_quota=quota)
    assert facts.threads == threads


def test_load_counters(tmp_path: Path) -> None:
    put(tmp_path, "proc/loadavg", "0.42 0.1 0.1 1/100 4242\n")
    put(
        tmp_path,
        "proc/pressure/cpu",
        "some avg10=11.12 avg60=24.22 avg300=12.84 total=68192131\nfull avg10=0.00 total=0\n",
    )
    put(tmp_path, "proc/stat", "cpu  100 200 300 9999 9999 400 500 600 7 7\ncpu0 1 2 3\n")
    load = machine.load(tmp_path)
    assert (load.load_1min, load.pressure_avg10) == (0.42, 11.12)
    assert load.busy_seconds == pytest.approx(15.0)  # 1500 ticks of 10 ms; idle and iowait are not
    assert load.steal_seconds == pytest.approx(6.0)
