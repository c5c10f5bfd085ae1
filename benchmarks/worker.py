"""Trains the six architectures with the TensorFlow of the Python that runs this file.

Reads one JSON request from standard input and writes JSON lines to standard output (README.md has
both). It needs numpy and TensorFlow 2.8 to 2.21, nothing of tfbuild.

    echo '{"architectures": ["mnist_mlp"], "scale": "smoke", "seed": 1}' | python worker.py
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any, TextIO

ARCHITECTURES = (
    "mnist_mlp",
    "mnist_cnn",
    "cifar10_cnn",
    "imdb_fasttext",
    "imdb_bidirectional_lstm",
    "lstm_text_generation",
)
SCALES = ("smoke", "quick", "full")
MODES = ("auto", "real", "generated")


class RequestError(Exception):
    """The request cannot be understood."""


def main() -> int:
    """Serve one request; 0 when every architecture has been trained, else 1 (2 for misuse)."""
    if len(sys.argv) > 1 or sys.stdin.isatty():
        print(__doc__, file=sys.stderr)
        return 2
    out = _own_stdout()
    architecture = None
    try:
        request = _request(sys.stdin.read())
        _settings(request["threads"])
        _tell(out, "environment", **_environment(request["threads"]))
        from suite.data import Source
        from suite.training import train

        folder = request["data"]["folder"]
        source = Source(
            folder=Path(folder) if folder else None,
            mode=request["data"]["mode"],
            seed=request["seed"],
        )
        for architecture in request["architectures"]:
            _tell(out, "start", architecture=architecture)
            sample = train(architecture, request["scale"], source)
            _tell(out, "sample", architecture=architecture, **sample)
    except Exception as error:  # noqa: BLE001 - the reader of our output must learn of any failure
        message = f"{type(error).__name__}: {error}"
        _tell(out, "error", architecture=architecture, message=message[:2000])
        return 1
    _tell(out, "done", peak_rss_bytes=_peak_rss())
    return 0


def _own_stdout() -> TextIO:
    """Keep the real standard output for our lines; whatever a library prints goes to stderr."""
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "w", encoding="utf-8")


def _tell(out: TextIO, event: str, **fields: object) -> None:
    out.write(json.dumps({"event": event, **fields}) + "\n")
    out.flush()


def _request(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise RequestError(f"the request is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise RequestError("the request is not a JSON object")
    data = given.get("data") or {}
    request = {
        "architectures": given.get("architectures", list(ARCHITECTURES)),
        "scale": given.get("scale", "quick"),
        "seed": given.get("seed", 0),
        "threads": given.get("threads"),
        "data": {"folder": data.get("folder"), "mode": data.get("mode", "auto")},
    }
    unknown = [name for name in request["architectures"] if name not in ARCHITECTURES]
    if unknown:
        raise RequestError(
            f"unknown architecture {unknown[0]!r}; known: {', '.join(ARCHITECTURES)}"
        )
    if request["scale"] not in SCALES:
        raise RequestError(f"unknown scale {request['scale']!r}; known: {', '.join(SCALES)}")
    if request["data"]["mode"] not in MODES:
        raise RequestError(f"unknown data mode; known: {', '.join(MODES)}")
    if not isinstance(request["seed"], int) or request["seed"] < 0:
        raise RequestError("seed must be a whole number from 0")
    threads = request["threads"]
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise RequestError("threads must be null or a whole number from 1")
    return request


def _settings(threads: int | None) -> None:
    """Set what TensorFlow reads before its import; what the caller has set stays."""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if threads is not None:
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))


def _environment(threads: int | None) -> dict[str, object]:
    import numpy as np
    import tensorflow as tf

    if threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    said = _said_by(lambda: tf.constant(1.0) + 1.0)
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "tensorflow": tf.__version__,
        "keras": _keras_version(tf),
        "numpy": np.__version__,
        "onednn": _onednn(),
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


def _onednn() -> bool:
    """Return whether TensorFlow runs its kernels from oneDNN (built in, and not switched off)."""
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


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    sys.exit(main())
