"""The variables of a measured process: everything that must stand before TensorFlow is imported."""

from collections.abc import Mapping
from pathlib import Path

from tfbuild.bench import allocators
from tfbuild.bench.setting import SYSTEM_ALLOCATOR, Setting

FOREIGN = (
    *("OMP_", "KMP_", "GOMP_", "MKL_", "TF_", "XLA_", "ONEDNN_", "DNNL_"),
    *("OPENBLAS_", "GOTO_", "BLIS_", "NUMEXPR_", "LD_PRELOAD", "GLIBC_TUNABLES"),
    *("MALLOC_", "_RJEM_", "JEMALLOC_", "TCMALLOC_", "MIMALLOC_"),
    *("KERAS_", "PYTHON", "VIRTUAL_"),
)
"""Variables that would change what a process computes or how fast, or where it finds packages."""

NO_KERAS_HOME = "/dev/null/keras"
"""A folder that cannot exist: Keras 2 and 3 then take their defaults and write no file."""


def settings(
    setting: Setting,
    environ: Mapping[str, str],
    *,
    has_script: bool = False,
    root: Path = Path("/"),
) -> dict[str, str]:
    """Return the variables that all processes of a contender get, before anything is imported.

    OpenMP counts in Intel's own wheels. Their threads spin for 200 ms after each parallel region
    unless KMP_BLOCKTIME says less; Intel's "Guide to TensorFlow Runtime Optimizations for CPU"
    (2022) starts with 1 ms. No thread is bound to a CPU of its own (KMP_AFFINITY, OMP_PROC_BIND):
    the process is bound to its CPUs as a whole, the same for all wheels. A GPU is hidden, since it
    is the CPU that is measured. Whether oneDNN is used stays as the user has it, unless the setting
    says.

    Args:
        setting: of the contender.
        environ: the user's variables.
        has_script: a user's own script keeps the user's ~/.keras, where its data may lie; the six
            do not look at it, since keras.json may ask for another precision or layout.
        root: below which the allocators' libraries lie.

    Raises:
        UsageError: the setting's allocator is not installed.
    """
    chosen = {
        "OMP_NUM_THREADS": str(setting.omp_threads),
        "MKL_NUM_THREADS": str(setting.omp_threads),
        "OPENBLAS_NUM_THREADS": str(setting.omp_threads),
        "TF_NUM_INTRAOP_THREADS": str(setting.intra_threads),
        "TF_NUM_INTEROP_THREADS": str(setting.inter_threads),
        "KMP_BLOCKTIME": "1",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONHASHSEED": "0",
    }
    if not has_script:
        chosen["KERAS_HOME"] = NO_KERAS_HOME
    elif "KERAS_HOME" in environ:
        chosen["KERAS_HOME"] = environ["KERAS_HOME"]
    if setting.onednn is not None:
        chosen["TF_ENABLE_ONEDNN_OPTS"] = str(int(setting.onednn))
    elif "TF_ENABLE_ONEDNN_OPTS" in environ:
        chosen["TF_ENABLE_ONEDNN_OPTS"] = environ["TF_ENABLE_ONEDNN_OPTS"]
    if setting.allocator != SYSTEM_ALLOCATOR:
        chosen["LD_PRELOAD"] = str(allocators.library(setting.allocator, root))
    return chosen


def environment(chosen: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a process: the user's, without what would change results."""
    kept = {name: value for name, value in environ.items() if not name.startswith(FOREIGN)}
    return {**kept, **chosen}
