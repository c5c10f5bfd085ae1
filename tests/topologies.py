"""Real machines as folders that look like their /sys; data/topologies.txt says where from."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import DATA


@dataclass(frozen=True)
class Core:
    """One line of the table; "-" where the kernel did not say."""

    threads: tuple[int, ...]
    package: str
    node: str
    capacity: str


def cores(machine: str) -> list[Core]:
    """Return the cores of a machine of the table."""
    text = (DATA / "topologies.txt").read_text(encoding="utf-8")
    block = text.partition(f"[{machine}]")[2].partition("\n[")[0]
    lines = [line.split() for line in block.splitlines()[1:] if line]
    return [Core(tuple(map(int, one.split(","))), *rest) for one, *rest in lines]


def write(root: Path, machine: str) -> Path:
    """Write the files that the kernel of that machine showed; returns `root`."""
    nodes: dict[str, list[int]] = {}
    for core in cores(machine):
        nodes.setdefault(core.node, []).extend(core.threads)
        for cpu in core.threads:
            folder = root / f"sys/devices/system/cpu/cpu{cpu}"
            _put(folder / "topology/thread_siblings_list", ",".join(map(str, core.threads)))
            _put(folder / "topology/physical_package_id", core.package)
            if core.capacity != "-":
                _put(folder / "cpu_capacity", core.capacity)
    for node, members in nodes.items():
        if node != "-":
            _put(root / f"sys/devices/system/node/node{node}/cpulist", _listed(members))
    return root


def quota(root: Path, cpus: float) -> None:
    """Write a control group of version 2 that grants the time of so many CPUs."""
    _put(root / "proc/self/cgroup", "0::/")
    _put(root / "sys/fs/cgroup/cpu.max", f"{round(cpus * 100_000)} 100000")


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")
