"""Which CPUs a process gets: on real machines' topologies, and for real on this one."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import topologies
from tests.conftest import need
from tfbuild.bench import memory
from tfbuild.bench.placement import Asked, dimensions, resolve
from tfbuild.errors import HostError, UsageError
from tfbuild.machine import topology
from tfbuild.machine.topology import numbers, written


def on(root: Path, machine: str, allowed: str | None = None) -> topology.Topology:
    """Return the topology of a real machine, of which the mask allows some."""
    topologies.write(root, machine)
    threads = [cpu for core in topologies.cores(machine) for cpu in core.threads]
    return topology.read(root, threads if allowed is None else numbers(allowed))


# Expected by hand from lscpu's own answer for the same dump: "NUMA node0 CPU(s): 0-5,48-53",
# 24 cores in each of two sockets, 4 nodes in each socket (util-linux, tests/expected/lscpu).
@pytest.mark.parametrize(
    ("asked", "cpus", "cores"),
    [
        (Asked(), "0-95", 48),
        (Asked(cpus="1"), "0", 1),
        (Asked(cpus="6"), "0-5", 6),  # the first node is full, one thread on each core
        (Asked(cpus="24"), "0-23", 24),  # the first socket
        (Asked(cpus="48"), "0-47", 48),
        (Asked(vcpus="2"), "0,48", 1),
        (Asked(vcpus="8"), "0-3,48-51", 4),
        (Asked(vcpus="7"), "0-3,48-50", 4),
        (Asked(vcpus="12"), "0-5,48-53", 6),  # lscpu's node 0
        (Asked(vcpus="48"), "0-23,48-71", 24),
        (Asked(vcpus="96"), "0-95", 48),
        (Asked(numa_node=5), "30-35,78-83", 6),  # lscpu's node 5
        (Asked(numa_node=5, cpus="2"), "30-31", 2),
        (Asked(numa_node=5, vcpus="4"), "30-31,78-79", 2),
        (Asked(affinity="3,51,60-61"), "3,51,60-61", 3),
    ],
)
def test_two_sockets_with_hyper_threads(
    tmp_path: Path, asked: Asked, cpus: str, cores: int
) -> None:
    setting = resolve(asked, on(tmp_path, "epyc_7451"))
    assert written(setting.cpus) == cpus
    assert setting.cores == cores
    assert setting.intra_threads == setting.inter_threads == len(setting.cpus)
    assert setting.omp_threads == len(setting.cpus)
    assert setting.numa_node == asked.numa_node


@pytest.mark.parametrize(
    ("machine", "allowed", "asked", "cpus"),
    [
        # Node 0 has two of the four packages, the even CPUs; nodes 2 and 3 have one each.
        ("xeon_4_sockets", None, Asked(cpus="8"), "0,4,8,12,16,20,24,28"),
        ("xeon_4_sockets", None, Asked(vcpus="4"), "0,4,32,36"),
        (
            "xeon_4_sockets",
            None,
            Asked(numa_node=2),
            "1,5,9,13,17,21,25,29,33,37,41,45,49,53,57,61",
        ),
        # No SMT: both ways of counting are the same.
        ("opteron", None, Asked(cpus="6"), "0-5"),
        ("opteron", None, Asked(vcpus="6"), "0-5"),
        ("opteron", None, Asked(vcpus="12"), "0-11"),  # both nodes of the first package
        ("arm_server", None, Asked(cpus="64"), "0-63"),
        # Large cores first; the kernel numbers them last.
        ("phone", None, Asked(cpus="1"), "7"),
        ("phone", None, Asked(cpus="5"), "3-7"),
        ("hybrid", None, Asked(cpus="7"), "0,2,4,6,8,10,12"),
        ("hybrid", None, Asked(vcpus="14"), "0-13"),
        # CPUs that are off line have no siblings: cores 6 and 10 are left with one thread.
        ("off_line", None, Asked(vcpus="3"), "0,4,8"),
        ("off_line", None, Asked(cpus="7"), "0-1,3-4,6-7,10"),
        # Masks with holes: node 1 (6-11 and 54-59) has most cores left.
        ("epyc_7451", "0-1,6-11,54-55", Asked(cpus="6"), "6-11"),
        ("epyc_7451", "0-1,6-11,54-55", Asked(vcpus="4"), "6-7,54-55"),
        ("epyc_7451", "0-1,6-11,54-55", Asked(vcpus="10"), "0-1,6-11,54-55"),
        ("epyc_7451", "48-53", Asked(cpus="2"), "48-49"),  # only second threads are allowed
    ],
)
def test_other_machines(
    tmp_path: Path, machine: str, allowed: str | None, asked: Asked, cpus: str
) -> None:
    assert written(resolve(asked, on(tmp_path, machine, allowed)).cpus) == cpus


@pytest.mark.parametrize("option", ["cpus", "vcpus"])
@pytest.mark.parametrize(
    "machine", ["epyc_7451", "xeon_4_sockets", "opteron", "hybrid", "off_line"]
)
def test_a_larger_size_holds_the_smaller_one(tmp_path: Path, machine: str, option: str) -> None:
    here = on(tmp_path, machine)
    most = here.cores if option == "cpus" else len(here.cpus)
    sizes = ",".join(map(str, range(1, most + 1)))
    asked = Asked(cpus=sizes) if option == "cpus" else Asked(vcpus=sizes)
    found = [set(each.cpus) for each in dimensions(asked, here)]
    assert [len(cpus) for cpus in found] == list(range(1, most + 1))
    assert all(small < large for small, large in itertools.pairwise(found))


def test_vcpus_never_split_a_core_but_the_last(tmp_path: Path) -> None:
    here = on(tmp_path, "epyc_7451")
    for setting in dimensions(Asked(vcpus=",".join(map(str, range(1, 97)))), here):
        cpus = set(setting.cpus)
        pairs = [set(core.threads) for core in topologies.cores("epyc_7451")]
        assert sum(len(pair & cpus) == 1 for pair in pairs) == len(cpus) % 2


@pytest.mark.parametrize(
    ("quota", "asked", "threads"),
    [(2.5, Asked(), 2), (0.5, Asked(), 1), (200, Asked(), 96), (2.5, Asked(affinity="0-7"), 2)],
)
def test_threads_keep_to_the_quota(
    tmp_path: Path, quota: float, asked: Asked, threads: int
) -> None:
    topologies.quota(tmp_path, quota)
    setting = resolve(asked, on(tmp_path, "epyc_7451"))
    assert (setting.intra_threads, setting.inter_threads, setting.omp_threads) == (threads,) * 3


@pytest.mark.parametrize(
    ("machine", "quota", "asked", "words"),
    [
        (
            "epyc_7451",
            None,
            Asked(vcpus="8,128,256"),
            ["--vcpus 128,256", "96 hardware", "vcpus 8"],
        ),
        ("epyc_7451", None, Asked(cpus="64"), ["48 physical cores", "This fits: --cpus 48"]),
        ("epyc_7451", 4, Asked(vcpus="2,4,8"), ["--vcpus 8", "time of 4", "fits: --vcpus 2,4"]),
        ("epyc_7451", None, Asked(affinity="90-99"), ["96-99", "may use CPUs 0-95"]),
        ("epyc_7451", None, Asked(numa_node=8), ["memory node 8", "0, 1, 2, 3, 4, 5, 6, 7"]),
        ("epyc_7451", None, Asked(numa_node=1, affinity="0"), ["0", "6-11,54-59 of memory node 1"]),
        ("phone", None, Asked(numa_node=0), ["tells of no memory nodes"]),
        ("phone", None, Asked(cpus="1", vcpus="1"), ["--cpus and --vcpus exclude each other"]),
        ("phone", None, Asked(cpus="1,x"), ["--cpus takes whole numbers", "1,x"]),
        ("phone", None, Asked(cpus="0"), ["whole numbers from 1"]),
        ("phone", None, Asked(cpus="1,1"), ["twice"]),
        ("phone", None, Asked(cpus=""), ["whole numbers"]),
        ("phone", None, Asked(affinity="3-1"), ["range 3-1", "1-3"]),
        ("phone", None, Asked(affinity="a"), ["'a'"]),
        ("phone", None, Asked(affinity=","), ["empty"]),
        ("phone", None, Asked(threads="-2"), ["--threads"]),
        ("phone", None, Asked(onednn="yes"), ["--onednn takes on, off or both"]),
        ("phone", None, Asked(xla="bot"), ["Did you mean 'both'"]),
        ("phone", None, Asked(allocator="system,jemaloc"), ["jemaloc", "Did you mean 'jemalloc'"]),
    ],
    ids=str,
)
def test_what_cannot_be_had_is_refused_with_what_can(
    tmp_path: Path, machine: str, quota: float | None, asked: Asked, words: list[str]
) -> None:
    if quota is not None:
        topologies.quota(tmp_path, quota)
    with pytest.raises(UsageError) as caught:
        dimensions(asked, on(tmp_path, machine))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_kernel_that_does_not_tell_cores_still_counts_threads(tmp_path: Path) -> None:
    here = topology.read(tmp_path, range(4))
    assert resolve(Asked(vcpus="2"), here).cpus == (0, 1)
    assert resolve(Asked(vcpus="2"), here).cores is None
    with pytest.raises(UsageError, match="physical cores, which this kernel does not tell"):
        resolve(Asked(cpus="2"), here)


def test_a_system_that_does_not_bind_gets_threads_alone() -> None:
    here = topology.Topology(cpus=topology.read().cpus[:1], can_bind=False)
    assert resolve(Asked(threads="3"), here).cpus == ()
    with pytest.raises(UsageError, match="binds processes"):
        resolve(Asked(vcpus="1"), here)


def test_dimensions_are_the_product_with_the_first_of_each_first(tmp_path: Path) -> None:
    asked = Asked(
        vcpus="4,2",
        threads="2,1",
        onednn="both",
        batch="32,64",
        xla="both",
        allocator="system,jemalloc",
    )
    found = dimensions(asked, on(tmp_path, "epyc_7451"))
    assert len(found) == len(set(found)) == 2**6
    first = found[0]
    assert (len(first.cpus), first.intra_threads, first.onednn, first.batch) == (4, 2, False, 32)
    assert (first.xla, first.allocator) == (False, "system")
    with pytest.raises(UsageError, match="64 settings"):
        resolve(asked, on(tmp_path, "epyc_7451"))


def test_lists_are_written_as_the_kernel_writes_them() -> None:
    assert written([8, 3, 0, 1, 2]) == "0-3,8"
    assert written(numbers("0-6:2, 9")) == "0,2,4,6,9"


# --- For real -----------------------------------------------------------------------------------


def test_the_topology_of_this_machine_is_that_of_lscpu() -> None:
    """lscpu reads other files than we do: the bitmaps."""
    lines = subprocess.run(
        ["lscpu", "--parse=CPU,CORE,SOCKET,NODE"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split(",") for line in lines if not line.startswith("#")]
    here = topology.read()
    mine = [row for row in rows if int(row[0]) in topology.usable()]
    assert [cpu.number for cpu in here.cpus] == sorted(int(row[0]) for row in mine)
    assert here.cores == len({(row[1], row[2]) for row in mine})
    assert len(here.nodes) == len({row[3] for row in mine if row[3]})


@pytest.mark.parametrize("text", ["0", "0-1", "1,0", "0-1:2"])
def test_lists_are_read_as_taskset_reads_them(text: str) -> None:
    need({0, 1} <= topology.usable(), "CPUs 0 and 1 are not both allowed")
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    words = ["taskset", "--cpu-list", text, sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(list(numbers(text)))


def test_a_process_has_the__memory_node_that_the_kernel_says() -> None:
    need(topology.read().nodes, "no memory nodes here")
    node = topology.read().nodes[0]
    code = "print(open('/proc/self/numa_maps').read())"
    with memory.of_node(node):
        inside = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    outside = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert re.search(rf"\bbind:{node}\b", inside.stdout)
    assert "bind:" not in outside.stdout


def test_a_memory_node_that_is_not_there_is_refused_by_the_kernel() -> None:
    with pytest.raises(HostError, match="cannot be bound to node 63"), memory.of_node(63):
        pass
