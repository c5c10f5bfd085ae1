"""Facts of a machine, read from folders that look like /proc and /sys of real ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests import topologies
from tests.unit.test_bench import HOST
from tfbuild import machine
from tfbuild.machine import topology


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
        # A limit above holds too, and so does a looser one below.
        ("0::/a/b", {"a/cpu.max": "100000 100000", "a/b/cpu.max": "max 100000"}, 1.0),
        ("0::/a/b", {"a/cpu.max": "100000 100000", "a/b/cpu.max": "300000 100000"}, 1.0),
        # Of version 1, its own group counts; of a container, what it sees of it.
        (
            "4:cpu,cpuacct:/docker/1\n1:name=systemd:/x",
            {
                "cpu/docker/1/cpu.cfs_quota_us": "50000",
                "cpu/docker/1/cpu.cfs_period_us": "100000",
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
            },
            0.5,
        ),
        ("0::/../../outside", {"cpu.max": "200000 100000"}, 2.0),
        ("0::/", {"cpu.max": "garbage"}, None),
    ],
)
def test_quota_of_both_control_group_versions(
    tmp_path: Path, groups: str, files: dict[str, str], quota: float | None
) -> None:
    put(tmp_path, "proc/self/cgroup", groups + "\n")
    for name, text in files.items():
        put(tmp_path, f"sys/fs/cgroup/{name}", text)
    assert machine.read(HOST, tmp_path).cpu_quota == quota


def test_frequency_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "usable", lambda: frozenset({0}))
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


def test_what_the_machine_is_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "usable", lambda: frozenset({0}))
    cpu = "sys/devices/system/cpu"
    put(tmp_path, "proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0xa6\ncpu MHz\t\t: 2000.5\n")
    put(tmp_path, "proc/meminfo", "MemTotal: 2048 kB\nSwapTotal:  512 kB\n")
    put(tmp_path, f"{cpu}/cpu0/cpufreq/scaling_driver", "intel_pstate\n")
    put(tmp_path, "sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
    put(tmp_path, "sys/class/dmi/id/product_name", "m5.xlarge\n")
    put(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    put(tmp_path, "sys/fs/cgroup/a/cpuset.cpus.effective", "0-3,8\n")
    put(tmp_path, "sys/fs/cgroup/a/b/memory.max", "max\n")
    put(tmp_path, "sys/fs/cgroup/a/memory.max", "1048576\n")
    facts = machine.read(HOST, tmp_path)
    assert (facts.microcode, facts.driver) == ("0xa6", "intel_pstate")
    assert facts.hypervisor == "Amazon EC2 m5.xlarge"
    assert (facts.swap_bytes, facts.memory_limit_bytes) == (512 * 1024, 1_048_576)
    assert facts.cpuset == "0-3,8"
    assert (facts.packages, facts.cores, facts.threads_per_core) == (None, None, None)


def test_memory_of_version_1_without_a_limit_is_none(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "4:memory:/a\n")
    put(tmp_path, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n")
    assert machine.read(HOST, tmp_path).memory_limit_bytes is None
    put(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n")
    assert machine.read(HOST, tmp_path).memory_limit_bytes == 4096


@pytest.mark.parametrize(
    ("machine_name", "allowed", "expected"),
    [
        # lscpu on the same dumps: sockets, cores, threads per core, nodes.
        ("epyc_7451", None, (2, 48, 2, 8)),
        ("xeon_4_sockets", None, (4, 32, 2, 3)),
        ("opteron", None, (4, 48, 1, 8)),
        ("epyc_7451", range(6), (1, 6, 2, 1)),
    ],
)
def test_packages_cores_threads_and_nodes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    machine_name: str,
    allowed: range | None,
    expected: tuple[int, int, int, int],
) -> None:
    topologies.write(tmp_path, machine_name)
    threads = {cpu for core in topologies.cores(machine_name) for cpu in core.threads}
    monkeypatch.setattr(topology, "usable", lambda: frozenset(allowed or threads))
    facts = machine.read(HOST, tmp_path)
    found = (facts.packages, facts.cores, facts.threads_per_core, len(facts.nodes))
    assert found == expected
    if machine_name == "epyc_7451":
        assert facts.nodes[0] == ("0-5" if allowed else "0-5,48-53")
        assert facts.cores_shared[1] == "1,49"


def test_more_load(tmp_path: Path) -> None:
    put(tmp_path, "proc/vmstat", "pswpin 5\npswpout 7\npgpgin 1\n")
    put(tmp_path, "proc/self/cgroup", "0::/a\n")
    stat = "usage_usec 9\nnr_periods 40\nnr_throttled 3\nthrottled_usec 250000\n"
    put(tmp_path, "sys/fs/cgroup/a/cpu.stat", stat)
    for cpu, count in ((0, 2), (1, 2), (2, 0)):
        folder = f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
        put(tmp_path, f"{folder}/core_throttle_count", f"{count}\n")
    put(tmp_path, "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n")
    put(tmp_path, "sys/class/thermal/thermal_zone0/temp", "71000\n")
    put(tmp_path, "sys/class/thermal/thermal_zone1/type", "acpitz\n")  # the case, not the CPU
    put(tmp_path, "sys/class/thermal/thermal_zone1/temp", "90000\n")
    put(tmp_path, "sys/class/hwmon/hwmon0/name", "coretemp\n")
    put(tmp_path, "sys/class/hwmon/hwmon0/temp1_input", "72500\n")
    load = machine.load(tmp_path)
    assert (load.swapped_in_pages, load.swapped_out_pages) == (5, 7)
    assert (load.throttled_periods, load.throttled_seconds) == (3, 0.25)
    assert (load.hot_events, load.celsius) == (4, 72.5)


def test_clock_rates_of_the_cpus_that_may_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "usable", lambda: frozenset({0, 2}))
    for cpu, khz in ((0, 2_000_000), (1, 400_000), (2, 3_000_000)):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", f"{khz}\n")
    assert machine.load(tmp_path).mhz == pytest.approx(2500)
    rates = "".join(f"processor : {n}\ncpu MHz : {mhz}\n" for n, mhz in enumerate((1, 2, 4)))
    put(tmp_path, "proc/cpuinfo", rates)
    assert machine.load(tmp_path).mhz == pytest.approx(2.5)
