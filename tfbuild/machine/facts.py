"""What stays the same about a machine while it measures."""

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild.machine import files, groups, topology
from tfbuild.machine.model import Machine, sensible_threads
from tfbuild.machine.topology import Topology

if TYPE_CHECKING:
    from tfbuild.host import Host

_CPU = "sys/devices/system/cpu"


def read(host: "Host", root: Path = Path("/")) -> Machine:
    """Return the facts of this machine; `root` is where proc and sys are found."""
    memory = files.table(root / "proc/meminfo")
    here = topology.read(root)
    return Machine(
        system=platform.system(),
        kernel=platform.release(),
        libc=" ".join(platform.libc_ver()).strip(),
        architecture=host.architecture,
        brand=host.brand,
        microarchitecture=host.microarchitecture,
        features=host.features,
        virtual="hypervisor" in host.features if host.features else None,
        cpus=os.cpu_count(),
        cpus_allowed=len(here.cpus),
        cpu_quota=here.quota,
        memory_bytes=_kib(memory.get("MemTotal")),
        governor=files.text(root / _CPU / f"cpu{here.cpus[0].number}/cpufreq/scaling_governor"),
        turbo=_turbo(root),
        smt=files.flag(root / _CPU / "smt/active"),
        allowed=topology.written(cpu.number for cpu in here.cpus),
        cpuset=groups.cpuset(root),
        packages=_count(here),
        cores=here.cores if here.is_known else None,
        threads_per_core=max(len(c.siblings) for c in here.cpus) if here.is_known else None,
        cores_shared=_shared(here),
        nodes=tuple(_of_node(here, node) for node in here.nodes),
        unequal_cores=_unequal(here),
        memory_limit_bytes=groups.memory_limit(root),
        swap_bytes=_kib(memory.get("SwapTotal")),
        microcode=_microcode(root),
        driver=files.text(root / _CPU / f"cpu{here.cpus[0].number}/cpufreq/scaling_driver"),
        hypervisor=_firmware(root),
    )


def threads(root: Path = Path("/")) -> int:
    """Return how many threads make sense here: allowed CPUs, or a smaller quota."""
    return sensible_threads(len(topology.usable()), groups.quota(root))


def _kib(number: int | None) -> int | None:
    return None if number is None else number * 1024


def _turbo(root: Path) -> bool | None:
    disabled = files.flag(root / _CPU / "intel_pstate/no_turbo")
    return files.flag(root / _CPU / "cpufreq/boost") if disabled is None else not disabled


def _count(here: Topology) -> int | None:
    packages = {cpu.package for cpu in here.cpus}
    return None if None in packages else len(packages)


def _shared(here: Topology) -> tuple[str, ...]:
    cores = {cpu.siblings: None for cpu in here.cpus if len(cpu.siblings) > 1}
    return tuple(topology.written(core) for core in cores)


def _of_node(here: Topology, node: int) -> str:
    return topology.written(cpu.number for cpu in here.cpus if cpu.node == node)


def _unequal(here: Topology) -> bool | None:
    capacities = {cpu.capacity for cpu in here.cpus}
    return None if None in capacities else len(capacities) > 1


def _microcode(root: Path) -> str | None:
    for line in (files.text(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "microcode":
            return value.strip()
    return None


def _firmware(root: Path) -> str | None:
    names = [
        files.text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name")
    ]
    return " ".join(name for name in names if name) or files.text(root / "sys/hypervisor/type")
