"""Does what a verification asks for, with the TensorFlow of the Python that runs this file.

Reads one JSON request from standard input and writes JSON lines to standard output (README.md has
both). It needs numpy and TensorFlow 2.8 to 2.21, nothing of tfbuild.

    echo '{"tasks": ["train"], "seed": 1}' | python checker.py
"""

from __future__ import annotations

import faulthandler
import sys
from typing import Any, Iterator

from suite.talk import (
    RequestError,
    asked,
    environment,
    own_stdout,
    peak_rss,
    settings,
    tell,
)

TASKS = ("train", "steps", "quantised")


def main() -> int:
    """Serve one request; 0 when all has been done, else 1 (2 for misuse)."""
    if len(sys.argv) > 1 or sys.stdin.isatty():
        print(__doc__, file=sys.stderr)
        return 2
    # Where Python was when a library dies; on standard error.
    faulthandler.enable()
    out, doing = own_stdout(), ""
    try:
        request = _request(sys.stdin.read())
        settings(request["threads"])
        tell(out, "environment", **environment(request["threads"], request["threads"]), **_built())
        for task in request["tasks"]:
            for doing, work in _works(task, request):
                tell(out, "start", task=task, what=doing)
                tell(out, "result", task=task, what=doing, **work())
    except Exception as error:  # noqa: BLE001 - the reader of our output must learn of any failure
        message = f"{type(error).__name__}: {error}"
        tell(out, "error", what=doing, message=message[:2000])
        return 1
    tell(out, "done", peak_rss_bytes=peak_rss())
    return 0


def _request(text: str) -> dict[str, Any]:
    given = asked(text)
    request = {
        "tasks": given.get("tasks", []),
        "seed": given.get("seed", 0),
        "threads": given.get("threads"),
        "folder": given.get("folder"),
    }
    unknown = [name for name in request["tasks"] if name not in TASKS]
    if unknown:
        raise RequestError(f"unknown task {unknown[0]!r}; known: {', '.join(TASKS)}")
    if "steps" in request["tasks"] and not request["folder"]:
        raise RequestError("steps need a folder for their numbers")
    return request


def _works(task: str, request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the pieces of a task: a name, and what does it and returns the event's fields."""
    import numpy as np

    if task == "train":
        from suite.one_step import fit_once

        yield "mnist_cnn", lambda: fit_once("mnist_cnn", request["seed"])
    elif task == "steps":
        from suite.models import MODELS
        from suite.one_step import one_step

        def saved(name: str) -> dict[str, Any]:
            found = one_step(name, request["seed"])
            np.savez(f"{request['folder']}/{name}.npz", **found)
            return {"loss": float(found["loss"])}

        for name in MODELS:
            yield name, lambda name=name: saved(name)
    else:
        from suite.quantised import CASES

        for case in CASES:
            yield case.name, case.run


def _built() -> dict[str, Any]:
    """Return what TensorFlow says of its own making."""
    import tensorflow as tf

    info = dict(tf.sysconfig.get_build_info())
    # For those who compile ops of their own; the rest are folders.
    flags = [one for one in tf.sysconfig.get_compile_flags() if not one.startswith("-I")]
    info["compile_flags"] = " ".join(flags)
    return {
        "compiler": str(tf.version.COMPILER_VERSION),
        "source": str(tf.version.GIT_VERSION),
        "build_info": {str(key): str(value) for key, value in info.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
