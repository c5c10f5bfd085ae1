"""Speaks the worker's protocol without TensorFlow.

It behaves as `behaviour.json` beside the interpreter (a link) says:
seconds: {architecture: seconds for one timed epoch}, else 1.0 for each;
at: the architecture before which the trouble comes ("" for before the import, "peak" there);
trouble: a signal's name, "hang", "hang with a child" (logged), "exit", "error", or text to say on
  stdout; "call LIBRARY" calls f() of it, "limit" asks for more memory than it may have, "eat" takes
  memory without end;
factors: {field of the setting: {its value as text: factor on the seconds}};
noise: standard deviation of the logarithm of the seconds, drawn from seed and setting;
fails: {field of the setting: values with which training fails};
stderr: text to write there first; first_loss, data, tensorflow: as reported.
What only troubles need is imported there: hundreds of such processes start in a run of the tests.
Each process adds a line to `log.jsonl` there: its request and what the environment looked like.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LAYER = {
    "kind": "Dense",
    "name": "dense",
    "input": [784],
    "output": [10],
    "weights": [[784, 10], [10]],
    "options": {"use_bias": "True"},
}
HOME = Path(sys.executable).parent
BEHAVIOUR = HOME / "behaviour.json"


def tell(event: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def log(**fields: object) -> None:
    with (HOME.parent / "log.jsonl").open("a") as file:
        file.write(json.dumps({"name": HOME.name, "pid": os.getpid(), **fields}) + "\n")


def hang_with_a_child() -> None:

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    log(child=child.pid)
    child.wait()


def fail() -> None:
    tell("error", architecture=None, message="ImportError: no module named 'tensorflow'")
    sys.exit(1)


def limit() -> None:

    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    try:
        bytearray(2**33)
    except MemoryError as error:
        tell("error", architecture="mnist_mlp", message=f"{type(error).__name__}: {error}")
        sys.exit(1)


def eat() -> None:
    kept = []
    while True:
        kept.append(bytearray(b"x" * 2**20))


TROUBLES = {
    "hang": lambda: time.sleep(600),
    "hang with a child": hang_with_a_child,
    "exit": lambda: sys.exit(3),
    "error": fail,
    "leave": lambda: sys.exit(0),
    "limit": limit,
    "eat": eat,
}


def trouble(behaviour: dict[str, object]) -> None:
    kind = str(behaviour["trouble"])
    if kind in TROUBLES:
        TROUBLES[kind]()
    elif kind.startswith("SIG"):
        os.kill(os.getpid(), signal.Signals[kind])
        time.sleep(60)
    elif kind.startswith("call "):
        import ctypes

        ctypes.CDLL(kind.removeprefix("call ")).f()
    else:
        sys.stdout.write(kind + "\n")
        sys.stdout.flush()


def seconds(behaviour: dict[str, Any], name: str, request: dict[str, Any]) -> float:
    found: float = behaviour.get("seconds", {}).get(name, 1.0)
    for field, factors in behaviour.get("factors", {}).items():
        found *= factors.get(str(request["setting"][field]), 1.0)
    if "noise" not in behaviour:
        return found
    import math
    import random

    # Noise that a test can repeat: another seed or another setting draws other numbers.
    rng = random.Random(json.dumps([HOME.name, name, request["seed"], request["setting"]]))
    return found * math.exp(rng.gauss(0.0, behaviour["noise"]))


def main() -> None:
    request = json.loads(sys.stdin.read())
    behaviour = json.loads(BEHAVIOUR.read_text()) if BEHAVIOUR.exists() else {}
    log(request=request, environ=dict(os.environ))
    sys.stderr.write(behaviour.get("stderr", ""))
    sys.stderr.flush()
    if behaviour.get("at") == "":
        trouble(behaviour)
    tell(
        "environment",
        python="3.10.1",
        tensorflow=behaviour.get("tensorflow", "2.8.4"),
        keras="2.8.0",
        numpy="1.26.4",
        onednn=False,
        intra_threads=request["setting"]["intra_threads"],
        inter_threads=request["setting"]["inter_threads"],
        cpu_features_built=None,
        startup_seconds=1.5,
    )
    if request["peak"]:
        if behaviour.get("at") == "peak":
            trouble(behaviour)
        tell("peak", gflops=80.0, gbytes=12.0, product_size=2048, array_bytes=2**28)
    for name in request["architectures"]:
        tell("start", architecture=name)
        if behaviour.get("at") == name:
            trouble(behaviour)
        for field, values in behaviour.get("fails", {}).items():
            if request["setting"][field] in values:
                tell("error", architecture=name, message=f"ValueError: no {field} here")
                sys.exit(1)
        took = seconds(behaviour, name, request)
        tell(
            "sample",
            architecture=name,
            data=behaviour.get("data", "generated"),
            parameters=1_000,
            epoch_seconds=[took, took],
            train_samples=600,
            validation_samples=100,
            batch_size=128,
            steps_per_epoch=5,
            full_train_samples=60_000,
            full_validation_samples=10_000,
            full_epochs=20,
            warmup_seconds=0.5,
            prepare_seconds=0.1,
            losses=[1.0, float("nan")],
            first_loss=behaviour.get("first_loss", 2.5),
            first_step_seconds=0.3,
            layers=[LAYER] if request["layers"] else [],
        )
    tell("done", peak_rss_bytes=123_456)


main()
