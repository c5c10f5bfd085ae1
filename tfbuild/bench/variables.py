"""The variables of a measured process: everything that must stand before TensorFlow is imported."""

from collections.abc import Mapping

from tfbuild.bench.setting import Setting

FOREIGN = (
    *("OMP_", "KMP_", "GOMP_", "MKL_", "TF_", "XLA_", "ONEDNN_", "DNNL_"),
    *("KERAS_", "PYTHON", "VIRTUAL_"),
)
"""Variables that would change what a process computes, or where it finds its packages."""


def settings(setting: Setting, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that all processes get alike, before anything is imported.

    OpenMP counts in Intel's own wheels. Their threads spin for 200 ms after each parallel region
    unless KMP_BLOCKTIME says less; Intel's "Guide to TensorFlow Runtime Optimizations for CPU"
    (2022) starts with 1 ms. A GPU is hidden, since it is the CPU that is measured. Whether oneDNN
    is used stays as the user has it, unless the setting says.
    """
    chosen = {
        "OMP_NUM_THREADS": str(setting.omp_threads),
        "MKL_NUM_THREADS": str(setting.omp_threads),
        "TF_NUM_INTRAOP_THREADS": str(setting.intra_threads),
        "TF_NUM_INTEROP_THREADS": str(setting.inter_threads),
        "KMP_BLOCKTIME": "1",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONHASHSEED": "0",
    }
    if setting.onednn is not None:
        chosen["TF_ENABLE_ONEDNN_OPTS"] = str(int(setting.onednn))
    elif "TF_ENABLE_ONEDNN_OPTS" in environ:
        chosen["TF_ENABLE_ONEDNN_OPTS"] = environ["TF_ENABLE_ONEDNN_OPTS"]
    return chosen


def environment(chosen: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a process: the user's, without what would change results."""
    kept = {name: value for name, value in environ.items() if not name.startswith(FOREIGN)}
    return {**kept, **chosen}
