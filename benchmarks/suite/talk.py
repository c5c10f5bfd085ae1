"""How a process of ours speaks: JSON lines on standard output, and what it says of itself."""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import tempfile
import time
from typing import Any, TextIO


class RequestError(Exception):
    """The request cannot be understood."""


def asked(text: str) -> dict[str, Any]:
    """Return a request; what is in it is for the caller to check."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise RequestError(f"the request is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise RequestError("the request is not a JSON object")
    return given


def own_stdout() -> TextIO:
    """Keep the real standard output for our lines; whatever a library prints goes to stderr."""
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "w", encoding="utf-8")


def tell(out: TextIO, event: str, **fields: object) -> None:
    """Write one event as a line of JSON."""
    out.write(json.dumps({"event": event, **fields}) + "\n")
    out.flush()


_LOADED = time.perf_counter()


def since_start() -> float:
    """Return the seconds since this process was started, the interpreter's own start included.

    Where the kernel does not tell when that was, they count from the import of this module.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123 - before all imports
            # Its 22nd field; the second may hold blanks and brackets of its own.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.perf_counter() - _LOADED


def settings(omp_threads: int | None, onednn: bool | None = None) -> None:
    """Set what TensorFlow reads before its import; what the caller has set stays."""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if omp_threads is not None:
        os.environ.setdefault("OMP_NUM_THREADS", str(omp_threads))
    if onednn is not None:
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", str(int(onednn)))


def environment(intra_threads: int | None, inter_threads: int | None) -> dict[str, object]:
    """Import TensorFlow and return what the libraries say of themselves."""
    import numpy as np

    said = _said_by(lambda: importlib.import_module("tensorflow"))
    import tensorflow as tf

    if intra_threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(intra_threads)
    if inter_threads is not None:
        tf.config.threading.set_inter_op_parallelism_threads(inter_threads)
    said += _said_by(lambda: tf.constant(1.0) + 1.0)
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "tensorflow": tf.__version__,
        "keras": _keras_version(tf),
        "numpy": np.__version__,
        "onednn": _onednn(said),
        "intra_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "inter_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "cpu_features_built": _cpu_features(said),
    }


def _keras_version(tf: Any) -> str:
    """Return the version of the Keras behind tf.keras, which 2.13 to 2.15 do not show there."""
    version = getattr(tf.keras, "__version__", None)
    if version is None:
        import keras

        version = keras.__version__
    return str(version)


def _onednn(said: str) -> bool:
    """Return whether TensorFlow runs its kernels from oneDNN (built in, and not switched off).

    Up to 2.8 the official wheel's function knows only how it was built; its notice tells the rest.
    """
    if "oneDNN custom operations are on" in said:
        return True
    try:
        from tensorflow.python.util import _pywrap_util_port

        return bool(_pywrap_util_port.IsMklEnabled())
    except (ImportError, AttributeError):
        return False


def _said_by(action: Any) -> str:
    """Return what `action` writes to file descriptor 2, which gets it afterwards."""
    with tempfile.TemporaryFile() as kept:
        sys.stderr.flush()
        real = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            action()
        finally:
            os.dup2(real, 2)
            os.close(real)
            kept.seek(0)
            said = kept.read()
            os.write(2, said)
    return said.decode("utf-8", "replace")


def _cpu_features(said: str) -> str | None:
    """Return TensorFlow's own sentence about instructions that its build leaves unused, if any."""
    lines = said.splitlines()
    for place, line in enumerate(lines):
        if "This TensorFlow binary is optimized" in line:
            sentence = line.partition("] ")[2] or line
            more = lines[place + 1 : place + 2] if "enable the following" not in line else []
            return " ".join([sentence, *more]).strip()
    return None


def peak_rss() -> int:
    """Return the most memory that this process had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
