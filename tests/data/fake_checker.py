"""Speaks the protocol of benchmarks/checker.py without TensorFlow.

It behaves as the JSON in TFBUILD_TEST_BEHAVIOUR says, by a part of the interpreter's path:
software: fields of the `environment` event; at: the work before which the trouble comes ("" for
before the import); trouble: a name of a signal, "hang", "error", "leave", or text for stdout;
stderr: text to write there first; results: fields by work; arrays: folder of files to hand over.
"""

import json
import os
import shutil
import signal
import sys
import time
from typing import Any

STEPS = (
    "mnist_mlp",
    "mnist_cnn",
    "cifar10_cnn",
    "imdb_fasttext",
    "imdb_bidirectional_lstm",
    "lstm_text_generation",
)
WORK = {"train": ("mnist_cnn",), "steps": STEPS, "quantised": ("quantize", "cast")}
GOOD: dict[str, dict[str, Any]] = {
    "train": {"loss": 2.5, "variables": 8, "unchanged": [], "not_finite": []},
    "steps": {"loss": 2.5},
    "quantised": {"values": 100, "wrong": 0, "first": None, "shuffled": False},
}


def tell(event: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def trouble(kind: str) -> None:
    if kind.startswith("SIG"):
        os.kill(os.getpid(), signal.Signals[kind])
        time.sleep(60)
    elif kind == "hang":
        time.sleep(600)
    elif kind == "error":
        tell("error", what="", message="ImportError: no module named 'tensorflow'")
        sys.exit(1)
    elif kind == "leave":
        sys.exit(0)
    else:
        sys.stdout.write(kind + "\n")
        sys.stdout.flush()


def behaviour() -> dict[str, Any]:
    given = json.loads(os.environ.get("TFBUILD_TEST_BEHAVIOUR", "{}"))
    return next((fields for part, fields in given.items() if part in sys.executable), {})


def main() -> None:
    request, mine = json.loads(sys.stdin.read()), behaviour()
    sys.stderr.write(str(mine.get("stderr", "")))
    sys.stderr.flush()
    at, kind = mine.get("at"), str(mine.get("trouble", ""))
    if at == "":
        trouble(kind)
    software = {
        "python": "3.11.1",
        "tensorflow": "2.21.0",
        "keras": "3.12.0",
        "numpy": "2.1.0",
        "onednn": False,
        "intra_threads": 1,
        "inter_threads": 1,
        "cpu_features_built": None,
        "compiler": "Clang 18.1.8",
        "source": "v2.21.0",
        "build_info": {"is_cuda_build": "False"},
    }
    tell("environment", **{**software, **mine.get("software", {})})
    for task in request["tasks"]:
        if task == "steps" and "arrays" in mine:
            shutil.copytree(str(mine["arrays"]), request["folder"], dirs_exist_ok=True)
        for what in WORK[task]:
            tell("start", task=task, what=what)
            if at == what:
                trouble(kind)
            fields = {**GOOD[task], **mine.get("results", {}).get(what, {})}
            tell("result", task=task, what=what, **fields)
    tell("done", peak_rss_bytes=123_456)


main()
