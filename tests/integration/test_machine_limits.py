"""Limits and load for real: a quota that stops a process, memory that goes to swap."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild import machine
from tfbuild.machine import topology

GROUPS = Path("/sys/fs/cgroup")
SPIN = """
import json, os, time, msgspec
from tfbuild import machine
from tfbuild.machine import groups
from pathlib import Path
folder = Path(os.environ["FOLDER"])
# Now, when everything is imported: it is a tenth of one CPU.
limits = {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 10000, "cpu.max": "10000 100000"}
for name, text in limits.items():
    if (folder / name).exists():
        (folder / name).write_text(str(text))
before = machine.load()
end = time.monotonic() + 1
while time.monotonic() < end: pass
limits = {"quota": groups.quota(Path("/")), "threads": machine.threads()}
print(json.dumps([limits, *map(msgspec.to_builtins, (before, machine.load()))]))
"""
FILL = """
import json, msgspec
from tfbuild import machine
before = machine.load()
data = bytearray(60 << 20)
for place in range(0, len(data), 4096): data[place] = 1
print(json.dumps([msgspec.to_builtins(each) for each in (before, machine.load())]))
"""


@contextmanager
def group(controller: str, limits: dict[str, str]) -> Iterator[Path]:
    """Make a control group of either version with limits, whose names are version 1's."""
    first = GROUPS / controller
    folder = (first if first.is_dir() else GROUPS) / f"tfbuild-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        need(False, f"no control group can be made here: {error}")
    try:
        for name, text in limits.items():
            if (folder / name).exists():
                (folder / name).write_text(text)
        yield folder
    finally:
        folder.rmdir()


def inside(folder: Path, code: str) -> list[dict[str, float | None]]:
    """Run Python within the group, and return what it prints."""
    shell = f'echo $$ > {folder}/cgroup.procs && exec "$0" -c "$1"'
    words = ["sh", "-c", shell, sys.executable, code]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "FOLDER": str(folder)}
    )
    found: list[dict[str, float | None]] = json.loads(done.stdout)
    return found


def test_a_quota_is_read_and_what_it_costs_is_counted() -> None:
    with group("cpu", {}) as folder:
        read, before, after = inside(folder, SPIN)
        text = (folder / "cpu.stat").read_text()
    assert read == {"quota": 0.1, "threads": 1}
    # The kernel's own count, in the unit of either version.
    counted = int(re.search(r"throttled_(?:time|usec) (\d+)", text)[1])  # type: ignore[index]
    seconds = counted / (1e9 if "throttled_time" in text else 1e6)
    assert (before["throttled_seconds"] or 0) < (after["throttled_seconds"] or 0) <= seconds + 1e-6
    # Of a second of one CPU it gets a tenth; the rest it waits for the quota, or for others.
    grown = (after["throttled_seconds"] or 0) - (before["throttled_seconds"] or 0)
    assert grown > 0.1
    assert (after["throttled_periods"] or 0) > (before["throttled_periods"] or 0)


def test_memory_that_goes_to_swap_is_counted(tmp_path: Path) -> None:
    swap = tmp_path / "swap"
    swap.write_bytes(bytes(64 << 20))
    swap.chmod(0o600)
    subprocess.run(["mkswap", swap], check=True, capture_output=True)
    on = subprocess.run(["swapon", swap], check=False, capture_output=True, text=True)
    if on.returncode != 0:
        pytest.skip(f"swap cannot be switched on here: {on.stderr}")
    try:
        limits = {"memory.limit_in_bytes": "40M", "memory.high": "40M"}
        with group("memory", limits) as folder:
            before, after = inside(folder, FILL)
    finally:
        subprocess.run(["swapoff", swap], check=True)
    out = (after["swapped_out_pages"] or 0) - (before["swapped_out_pages"] or 0)
    # 60 MiB and Python itself in 40 MiB: at least 20 MiB had to go.
    assert out > 20 * 256


def test_facts_of_this_machine_are_those_of_other_programs() -> None:
    from tfbuild import host

    facts = machine.read(host.detect())
    lscpu = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout

    def lines(name: str) -> list[str]:
        return re.findall(rf"^{re.escape(name)}:\s+(.*)$", lscpu, re.MULTILINE)

    if topology.usable() == frozenset(range(os.cpu_count() or 0)):
        assert [str(facts.packages)] == lines("Socket(s)")
        assert [str(facts.threads_per_core)] == lines("Thread(s) per core")
        assert len(facts.nodes) == int((lines("NUMA node(s)") or ["0"])[0])
    free = subprocess.run(["free", "-b"], capture_output=True, text=True, check=True).stdout
    sizes = {line.split()[0]: int(line.split()[1]) for line in free.splitlines()[1:]}
    assert (facts.memory_bytes, facts.swap_bytes) == (sizes["Mem:"], sizes["Swap:"])
    status = Path("/proc/self/status").read_text()
    assert re.search(r"^Cpus_allowed_list:\s+(\S+)$", status, re.MULTILINE)[1] == facts.allowed  # type: ignore[index]
