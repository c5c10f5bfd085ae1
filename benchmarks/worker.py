"""Trains the six architectures, or a user's script, with the TensorFlow of this file's Python.

Reads one JSON request from standard input and writes JSON lines to standard output (README.md has
both). It needs numpy and TensorFlow 2.8 to 2.21, nothing of tfbuild.

    echo '{"architectures": ["mnist_mlp"], "scale": "smoke", "seed": 1}' | python worker.py
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from suite import request as requests
from suite.orphan import end_with_parent
from suite.talk import environment, own_stdout, peak_rss, settings, since_start, tell

if TYPE_CHECKING:
    from suite.request import Request


def main() -> int:
    """Serve one request; 0 when all has been trained, else 1 (2 for misuse)."""
    if len(sys.argv) > 1 or sys.stdin.isatty():
        print(__doc__, file=sys.stderr)
        return 2
    end_with_parent()
    out = own_stdout()
    doing: list[str] = []
    try:
        used = _serve(requests.read(sys.stdin.read()), out, doing)
    except Exception as error:  # noqa: BLE001 - the reader of our output must learn of any failure
        message = f"{type(error).__name__}: {error}"
        architecture = doing[-1] if doing else None
        tell(out, "error", architecture=architecture, message=message[:2000])
        return 1
    tell(out, "done", peak_rss_bytes=used)
    return 0


def _serve(request: Request, out: TextIO, doing: list[str]) -> int:
    """Do all that is asked for; return the memory that trainings took."""
    setting = request.setting
    requests.place(setting)
    settings(setting.omp_threads, setting.onednn)
    facts = environment(setting.intra_threads, setting.inter_threads)
    tell(out, "environment", **facts, startup_seconds=since_start())
    for name in request.architectures:
        doing.append(name)
        tell(out, "start", architecture=name)
        tell(out, "sample", architecture=name, **_sample(name, request))
    used = peak_rss()
    if request.peak:
        from suite.peak import measured

        doing.clear()
        tell(out, "peak", **measured())
    return used


def _sample(name: str, request: Request) -> dict[str, Any]:
    if request.script is not None:
        from suite.script import run

        return run(request.script, request)
    from suite.data import Source
    from suite.training import train

    source = Source(folder=request.folder, mode=request.mode, seed=request.seed)
    return train(
        name,
        request.scale,
        source,
        batch=request.setting.batch,
        xla=request.setting.xla,
        layers=request.layers,
    )


if __name__ == "__main__":
    sys.exit(main())
