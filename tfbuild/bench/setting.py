"""How a process is placed on the machine and what is switched on in it."""

from dataclasses import dataclass

from tfbuild.machine.topology import BINDS, usable

SYSTEM_ALLOCATOR = "system"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to run an environment: the same in all rounds, set before TensorFlow is imported."""

    cpus: tuple[int, ...]
    """Logical CPUs that the process is bound to, ascending, by the kernel's numbers; empty on
    systems that do not bind."""
    intra_threads: int
    """TensorFlow's threads within one op."""
    inter_threads: int
    """Ops that TensorFlow runs at a time."""
    omp_threads: int
    """OpenMP's and MKL's threads, which Intel's wheels have besides."""
    cores: int | None = None
    """Physical cores among `cpus`; None where the kernel does not tell."""
    numa_node: int | None = None
    """The only node that memory may come from; None leaves it to the kernel."""
    onednn: bool | None = None
    """TF_ENABLE_ONEDNN_OPTS; None leaves it to the build and the CPU."""
    batch: int | None = None
    """Samples in a batch; None is each architecture's own, as in the study."""
    xla: bool = False
    """Whether training steps are compiled with XLA (`jit_compile`)."""
    allocator: str = SYSTEM_ALLOCATOR
    """"system", "jemalloc", "tcmalloc" or "mimalloc", put before the C library's by LD_PRELOAD."""


def with_threads(threads: int) -> Setting:
    """Return the setting with so many threads of each kind, on all CPUs that may be used."""
    return Setting(
        cpus=tuple(sorted(usable())) if BINDS else (),
        intra_threads=threads,
        inter_threads=threads,
        omp_threads=threads,
    )


def words(setting: Setting) -> tuple[str, ...]:
    """Return what a setting asks for besides its CPUs, in words; threads of 0 are not named."""
    return tuple(filter(None, (_threads(setting), *_switches(setting))))


def _threads(setting: Setting) -> str:
    intra, inter, omp = setting.intra_threads, setting.inter_threads, setting.omp_threads
    if intra == inter == omp:
        return f"{intra} threads" if intra > 1 else "1 thread" if intra else ""
    return f"threads: {intra} intra-op, {inter} inter-op, {omp} OpenMP"


def _switches(setting: Setting) -> tuple[str, ...]:
    return (
        "" if setting.onednn is None else f"oneDNN {'on' if setting.onednn else 'off'}",
        "" if setting.batch is None else f"batches of {setting.batch}",
        "XLA" if setting.xla else "",
        "" if setting.allocator == SYSTEM_ALLOCATOR else setting.allocator,
        "" if setting.numa_node is None else f"memory node {setting.numa_node}",
    )
