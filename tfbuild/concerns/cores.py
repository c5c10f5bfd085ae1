"""How the processes sat on the machine's cores."""

from collections.abc import Iterator

from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import Side
from tfbuild.concerns.model import Concern, Kind
from tfbuild.machine import Machine
from tfbuild.machine.topology import numbers, written

_SELF_GOVERNED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
"""Drivers whose "powersave" follows the load; with others it is the lowest frequency for good."""


def about(*sides: Side) -> Iterator[Concern]:
    """Yield each way in which cores were shared, overfull, slow or unlike."""
    seen: set[Concern] = set()
    for side in sides:
        setting, here = side.who.setting, side.suite.machine
        for concern in (
            *_outside(setting, here),
            *_inside(setting),
            *_overfull(setting, here),
            *_governor(here),
            *_unlike(setting, here),
        ):
            if concern not in seen:
                seen.add(concern)
                yield concern


def _outside(setting: Setting, here: Machine) -> Iterator[Concern]:
    allowed = set(numbers(here.allowed)) if here.allowed else set()
    taken = {
        sibling
        for core in here.cores_shared
        if set(numbers(core)).intersection(setting.cpus)
        for sibling in numbers(core)
        if sibling not in allowed
    }
    if taken and allowed:
        yield Concern(
            kind=Kind.HYPER_THREADS_SHARED,
            what=f"Cores are shared with CPUs {written(taken)}, which this process may not use "
            "and others may.",
            do="Take whole cores into the cpuset or the affinity mask.",
        )


def _inside(setting: Setting) -> Iterator[Concern]:
    threads = max(setting.intra_threads, setting.omp_threads)
    if setting.cores is not None and min(threads, len(setting.cpus)) > setting.cores:
        yield Concern(
            kind=Kind.SMT,
            what=f"{threads} threads ran on {setting.cores} cores, two or more on a core, as on "
            "the vCPUs of a cloud.",
            do=f"--cpus {setting.cores} uses one thread of each core: steadier, often no slower.",
        )


def _overfull(setting: Setting, here: Machine) -> Iterator[Concern]:
    cpus = len(setting.cpus) or here.cpus_allowed
    quota = cpus if here.cpu_quota is None else min(cpus, here.cpu_quota)
    threads = max(setting.intra_threads, setting.omp_threads)
    if threads > max(1, quota):
        granted = f"{cpus} CPUs" if quota == cpus else f"the time of {quota:g} CPUs"
        yield Concern(
            kind=Kind.OVERSUBSCRIBED,
            what=f"{threads} threads of a kind shared {granted}.",
            do="Threads that wait for their turn are slow and unsteady; leave out --threads.",
        )


def _governor(here: Machine) -> Iterator[Concern]:
    if here.governor == "powersave" and here.driver not in _SELF_GOVERNED:
        yield Concern(
            kind=Kind.POWERSAVE,
            what="The governor powersave keeps the CPU at its lowest frequency.",
            do="As root: cpupower frequency-set --governor performance",
        )


def _unlike(setting: Setting, here: Machine) -> Iterator[Concern]:
    if here.unequal_cores and len(setting.cpus) == here.cpus_allowed:
        yield Concern(
            kind=Kind.UNEQUAL_CORES,
            what="Fast and slow cores worked side by side.",
            do="Choose the fast ones with --cpus, or by number with --affinity.",
        )
