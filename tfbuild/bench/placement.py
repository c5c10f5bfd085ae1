"""Which CPUs a process gets, and every setting that a sweep asks for.

Sizes count as clouds do, in hardware threads (`vcpus`), or as physics does, in cores (`cpus`). Both
are taken in one fixed order, so that a larger size always holds the smaller one: core by core from
the memory node with most of them, then from its neighbours in the same package.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tfbuild.bench.allocators import ALLOCATORS
from tfbuild.bench.setting import SYSTEM_ALLOCATOR, Setting
from tfbuild.errors import UsageError, suggestion
from tfbuild.machine import topology
from tfbuild.machine.model import sensible_threads
from tfbuild.machine.topology import Cpu, Topology

_BOTH = (False, True)
_SWITCH = {"off": (False,), "on": (True,), "both": _BOTH}
_LARGEST = 100_000


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Dimensions in the words of the command line; what is None is left as it is.

    Lists have commas. The first of each is part of the baseline setting.
    """

    cpus: str | None = None
    """Numbers of physical cores, on each of which one hardware thread is used: "1,2,4"."""
    vcpus: str | None = None
    """Numbers of hardware threads, the siblings of a core side by side: "8,16"."""
    affinity: str | None = None
    """Exactly these CPUs: "0-3,8"."""
    numa_node: int | None = None
    """CPUs of this node, and memory of no other."""
    threads: str | None = None
    """Numbers of threads of each kind: "1,2,4"; as many as CPUs if None."""
    onednn: str | None = None
    """"on", "off" or "both"."""
    batch: str | None = None
    """Samples in a batch: "32,128"."""
    xla: str | None = None
    """"on", "off" or "both"."""
    allocator: str | None = None
    """"system,jemalloc"."""


def dimensions(asked: Asked, here: Topology | None = None) -> tuple[Setting, ...]:
    """Return the product of all dimensions that are asked for; the first is the baseline.

    Args:
        asked: as the user wrote it.
        here: the CPUs that may be used; those of this process if None.

    Raises:
        UsageError: a word cannot be read, two options exclude each other, or the machine has
            less than is asked for; it names what would fit.
    """
    here = topology.read() if here is None else here
    threads = (None,) if asked.threads is None else _counts(asked.threads, "--threads")
    batches = (None,) if asked.batch is None else _counts(asked.batch, "--batch")
    return tuple(
        Setting(
            cpus=tuple(cpu.number for cpu in cpus) if here.can_bind else (),
            intra_threads=count or sensible_threads(len(cpus), here.quota),
            inter_threads=count or sensible_threads(len(cpus), here.quota),
            omp_threads=count or sensible_threads(len(cpus), here.quota),
            cores=len({cpu.core for cpu in cpus}) if here.is_known else None,
            numa_node=asked.numa_node,
            onednn=onednn,
            batch=batch,
            xla=xla,
            allocator=allocator,
        )
        for cpus, count, onednn, batch, xla, allocator in itertools.product(
            places(asked, here),
            threads,
            (None,) if asked.onednn is None else _switch(asked.onednn, "--onednn"),
            batches,
            (False,) if asked.xla is None else _switch(asked.xla, "--xla"),
            _allocators(asked.allocator),
        )
    )


def resolve(asked: Asked, here: Topology | None = None) -> Setting:
    """Return the one setting that is asked for.

    Raises:
        UsageError: as `dimensions`, or there are several.
    """
    found = dimensions(asked, here)
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} settings are asked for, where one is measured.",
            do="Name one value of each, or compare them: `tfbuild compare` takes the same options.",
        )
    return found[0]


def places(asked: Asked, here: Topology) -> tuple[tuple[Cpu, ...], ...]:
    """Return the CPUs of each size that is asked for, in ascending order of their numbers."""
    named = {
        "--cpus": asked.cpus,
        "--vcpus": asked.vcpus,
        "--affinity": asked.affinity,
    }
    given = [option for option, text in named.items() if text is not None]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} exclude each other.",
            why="Each of them says which CPUs to use.",
            do="Use one; --vcpus counts as clouds do, --cpus takes one thread of each core.",
        )
    if (given or asked.numa_node is not None) and not here.can_bind:
        raise UsageError(
            f"{(given or ['--numa-node'])[0]} needs a system that binds processes to CPUs.",
            why="Linux does; macOS and Windows have no such call for Python.",
        )
    if asked.numa_node is not None:
        here = _on_node(here, asked.numa_node)
    if asked.affinity is not None:
        return (_named(asked.affinity, here, asked.numa_node),)
    if asked.cpus is not None:
        wanted = _counts(asked.cpus, "--cpus")
        return _sized(wanted, _one_thread_each(here), here, "--cpus", "physical cores")
    if asked.vcpus is not None:
        wanted = _counts(asked.vcpus, "--vcpus")
        return _sized(wanted, _core_by_core(here), here, "--vcpus", "hardware threads")
    return (here.cpus,)


def _sized(
    wanted: Sequence[int], order: Sequence[Cpu], here: Topology, option: str, unit: str
) -> tuple[tuple[Cpu, ...], ...]:
    if option == "--cpus" and not here.is_known:
        raise UsageError(
            "--cpus counts physical cores, which this kernel does not tell.",
            do="Count hardware threads with --vcpus, or name CPUs with --affinity.",
        )
    most = sensible_threads(len(order), here.quota)
    if large := [size for size in wanted if size > most]:
        fitting = ",".join(str(size) for size in wanted if size <= most) or most
        limit = f"{len(order)} {unit} can be used here (CPUs {_shown(here.cpus)})"
        if most < len(order):
            limit += f", and the control group grants the time of {here.quota:g}"
        raise UsageError(
            f"{option} {','.join(map(str, large))} is more than this machine has.",
            why=f"{limit}.",
            do=f"This fits: {option} {fitting}",
        )
    return tuple(tuple(sorted(order[:size], key=lambda cpu: cpu.number)) for size in wanted)


def _one_thread_each(here: Topology) -> list[Cpu]:
    firsts: dict[int, Cpu] = {}
    for cpu in here.cpus:
        firsts.setdefault(cpu.core, cpu)
    return _in_order(firsts.values())


def _core_by_core(here: Topology) -> list[Cpu]:
    members: dict[int, list[Cpu]] = {}
    for cpu in here.cpus:
        members.setdefault(cpu.core, []).append(cpu)
    firsts = _in_order(each[0] for each in members.values())
    return [cpu for first in firsts for cpu in members[first.core]]


def _in_order(firsts: Iterable[Cpu]) -> list[Cpu]:
    """Sort cores: the richest node first, then its package; in a node the fast ones first."""
    cores = list(firsts)
    counts = Counter(cpu.node for cpu in cores)
    packages = {cpu.node: _rank(cpu.package) for cpu in reversed(cores)}
    richest = min(counts, key=lambda node: (-counts[node], _rank(node)), default=None)

    def key(cpu: Cpu) -> tuple[int, ...]:
        return (
            packages[cpu.node] != packages[richest],
            packages[cpu.node],
            cpu.node != richest,
            -counts[cpu.node],
            _rank(cpu.node),
            -(cpu.capacity or 0),
            _rank(cpu.package),
            cpu.number,
        )

    return sorted(cores, key=key)


def _rank(number: int | None) -> int:
    return -1 if number is None else number


def _on_node(here: Topology, node: int) -> Topology:
    if node not in here.nodes:
        known = ", ".join(map(str, here.nodes))
        raise UsageError(
            f"There is no memory node {node} with CPUs that can be used here.",
            why=f"Known: {known}." if known else "This kernel tells of no memory nodes.",
        )
    return Topology(
        cpus=tuple(cpu for cpu in here.cpus if cpu.node == node),
        quota=here.quota,
        is_known=here.is_known,
    )


def _named(text: str, here: Topology, node: int | None) -> tuple[Cpu, ...]:
    wanted = topology.numbers(text)
    found = here.of(wanted)
    if lacking := sorted(set(wanted) - {cpu.number for cpu in found}):
        of_node = "" if node is None else f" of memory node {node}"
        raise UsageError(
            f"--affinity names CPUs that cannot be used here: {topology.written(lacking)}.",
            why=f"This process may use CPUs {_shown(here.cpus)}{of_node}.",
        )
    return found


def _shown(cpus: Iterable[Cpu]) -> str:
    return topology.written(cpu.number for cpu in cpus)


def _counts(text: str, option: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    found = [int(word) if word.isascii() and word.isdigit() else 0 for word in words]
    if not found or not all(0 < count <= _LARGEST for count in found):
        raise UsageError(
            f"{option} takes whole numbers from 1, not {text!r}.", do=f"Example: {option} 1,2,4"
        )
    if len(set(found)) < len(found):
        raise UsageError(f"{option} {text} names a number twice.")
    return tuple(found)


def _switch(text: str, option: str) -> tuple[bool, ...]:
    if text not in _SWITCH:
        raise UsageError(
            f"{option} takes on, off or both, not {text!r}.", do=suggestion(text, list(_SWITCH))
        )
    return _SWITCH[text]


def _allocators(text: str | None) -> tuple[str, ...]:
    known = (SYSTEM_ALLOCATOR, *ALLOCATORS)
    names = [SYSTEM_ALLOCATOR] if text is None else [word.strip() for word in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(
                f"There is no allocator {name!r} here.",
                why=f"Known: {', '.join(known)}.",
                do=suggestion(name, list(known)),
            )
    if len(set(names)) < len(names):
        raise UsageError(f"--allocator {text} names one twice.")
    return tuple(names)
