"""From the fastest setting to the lines that bring it about."""

from collections.abc import Iterator
from pathlib import Path

from tfbuild.bench import allocators
from tfbuild.bench.setting import SYSTEM_ALLOCATOR, Setting
from tfbuild.machine.topology import written
from tfbuild.tune.model import Advice


def lines(default: Setting, best: Setting, root: Path = Path("/")) -> tuple[Advice, ...]:
    """Return what to set so that a program runs in `best` that would run in `default`.

    Args:
        default: what TensorFlow does by itself.
        best: what it shall do.
        root: below which the allocators' libraries lie.
    """
    return (*_command(default, best), *_threads(best), *_switches(default, best, root))


def _command(default: Setting, best: Setting) -> Iterator[Advice]:
    if best.cpus != default.cpus:
        listed = written(best.cpus)
        yield Advice(
            what=f"CPUs {listed}",
            kind="command",
            line=f"taskset --cpu-list {listed} python train.py",
        )
    if best.numa_node is not None and best.numa_node != default.numa_node:
        yield Advice(
            what=f"memory of node {best.numa_node}",
            kind="command",
            line=f"numactl --membind={best.numa_node} python train.py",
        )


def _threads(best: Setting) -> Iterator[Advice]:
    """Name what differs from the number of CPUs, which is what TensorFlow and OpenMP take."""
    usual = len(best.cpus)
    for count, what, name in (
        (best.intra_threads, "within an op", "TF_NUM_INTRAOP_THREADS"),
        (best.inter_threads, "ops at a time", "TF_NUM_INTEROP_THREADS"),
        (best.omp_threads, "OpenMP threads", "OMP_NUM_THREADS"),
    ):
        if count != usual:
            yield Advice(what=f"{count} {what}", kind="variable", line=f"export {name}={count}")


def _switches(default: Setting, best: Setting, root: Path) -> Iterator[Advice]:
    if best.onednn is not None and best.onednn != default.onednn:
        yield Advice(
            what=f"oneDNN {'on' if best.onednn else 'off'}",
            kind="variable",
            line=f"export TF_ENABLE_ONEDNN_OPTS={int(best.onednn)}",
        )
    if best.allocator not in {SYSTEM_ALLOCATOR, default.allocator}:
        yield Advice(
            what=f"{best.allocator} in place of the C library's allocator",
            kind="variable",
            line=f"export LD_PRELOAD={allocators.library(best.allocator, root)}",
        )
    if best.xla != default.xla:
        yield Advice(
            what=f"{'with' if best.xla else 'without'} XLA",
            kind="code",
            line=f"model.compile(..., jit_compile={best.xla})",
        )
    if best.batch is not None and best.batch != default.batch:
        yield Advice(
            what=f"batches of {best.batch}",
            kind="code",
            line=f"model.fit(..., batch_size={best.batch})",
        )
