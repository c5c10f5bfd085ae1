"""Trains the six architectures with the TensorFlow of the Python that runs this file.

Reads one JSON request from standard input and writes JSON lines to standard output (README.md has
both). It needs numpy and TensorFlow 2.8 to 2.21, nothing of tfbuild.

    echo '{"architectures": ["mnist_mlp"], "scale": "smoke", "seed": 1}' | python worker.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from suite.talk import (
    RequestError,
    asked,
    environment,
    own_stdout,
    peak_rss,
    settings,
    tell,
)

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
SETTING: dict[str, Any] = {"intra_threads": None, "inter_threads": None, "omp_threads": None}
"""What is not asked for is left to TensorFlow."""


def main() -> int:
    """Serve one request; 0 when every architecture has been trained, else 1 (2 for misuse)."""
    if len(sys.argv) > 1 or sys.stdin.isatty():
        print(__doc__, file=sys.stderr)
        return 2
    out = own_stdout()
    architecture = None
    try:
        request = _request(sys.stdin.read())
        setting = request["setting"]
        settings(setting["omp_threads"])
        tell(
            out,
            "environment",
            **environment(setting["intra_threads"], setting["inter_threads"]),
        )
        from suite.data import Source
        from suite.training import train

        folder = request["data"]["folder"]
        source = Source(
            folder=Path(folder) if folder else None,
            mode=request["data"]["mode"],
            seed=request["seed"],
        )
        for architecture in request["architectures"]:
            tell(out, "start", architecture=architecture)
            sample = train(architecture, request["scale"], source)
            tell(out, "sample", architecture=architecture, **sample)
    except Exception as error:  # noqa: BLE001 - the reader of our output must learn of any failure
        message = f"{type(error).__name__}: {error}"
        tell(out, "error", architecture=architecture, message=message[:2000])
        return 1
    tell(out, "done", peak_rss_bytes=peak_rss())
    return 0


def _request(text: str) -> dict[str, Any]:
    given = asked(text)
    data = given.get("data") or {}
    request = {
        "architectures": given.get("architectures", list(ARCHITECTURES)),
        "scale": given.get("scale", "quick"),
        "seed": given.get("seed", 0),
        "setting": {**SETTING, **(given.get("setting") or {})},
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
    for name in ("intra_threads", "inter_threads", "omp_threads"):
        threads = request["setting"][name]
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise RequestError(f"{name} must be null or a whole number from 1")
    return request


if __name__ == "__main__":
    sys.exit(main())
