"""What the suite adds to a bare `model.fit`: paired and interleaved, in one process.

    python benchmarks/overhead.py [ARCHITECTURE ...]

Prints one JSON object a line. `clock` is the time of a whole call of `fit` under the suite's clock
over that of the same call without it; `epoch` is the suite's time for one epoch over the whole bare
call's by its epochs, so that what `fit` does before its first epoch makes it a little less than 1;
`cpu` is `clock` in processor time, which other programs disturb less.
Each with the geometric mean of the pairs and Student's interval of 95 % over them.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

from suite.talk import own_stdout, settings

PAIRS = 20
STUDENT = 2.093
"""Two-sided 95 % quantile of Student's t with 19 degrees of freedom, from the usual tables."""
EPOCHS = 3
DEFAULT = ("mnist_mlp", "mnist_cnn")
FITTING = (*DEFAULT, "imdb_fasttext", "imdb_bidirectional_lstm")
"""Those that train on arrays and are validated: `fit` can be called as users do."""


@dataclass(frozen=True)
class Pair:
    """Seconds for one epoch: by the suite's clock, of whole calls, and processor time of these."""

    suite_epoch: float
    suite_call: float
    suite_cpu: float
    bare_call: float
    bare_cpu: float


def main() -> int:
    """Measure the architectures named, or two of the six."""
    out = own_stdout()
    settings(None)
    import tensorflow as tf

    for name in sys.argv[1:] or DEFAULT:
        if name not in FITTING:
            print(f"{name} is none of {', '.join(FITTING)}", file=sys.stderr)
            return 2
        pairs = measure(name, PAIRS)
        told = {
            "architecture": name,
            "tensorflow": tf.__version__,
            "pairs": len(pairs),
            "epochs_in_a_call": EPOCHS,
            "clock": interval([pair.suite_call / pair.bare_call for pair in pairs]),
            "cpu": interval([pair.suite_cpu / pair.bare_cpu for pair in pairs]),
            "epoch": interval([pair.suite_epoch / pair.bare_call for pair in pairs]),
            "bare_seconds": [pair.bare_call for pair in pairs],
        }
        out.write(json.dumps(told) + "\n")
        out.flush()
    return 0


def measure(name: str, count: int, epochs: int = EPOCHS, samples: int | None = None) -> list[Pair]:
    """Return `count` pairs; which of the two comes first is drawn anew for each.

    Args:
        name: an architecture.
        count: of pairs.
        epochs: in each call of `fit`.
        samples: trained in an epoch; as at the scale "smoke" if None.
    """
    from suite.data import Source
    from suite.models import MODELS
    from suite.training import Fits

    model_of: Any = MODELS[name]
    workload = model_of.WORKLOAD
    size = replace(workload.size("smoke"), epochs=epochs)
    if samples is not None:
        size = replace(size, train=samples, validation=workload.batch)
    arrays = model_of.arrays(Source(mode="generated"), size)
    model = model_of.build(arrays.facts)
    fits = Fits(model_of, model, arrays, workload, 0)
    rng = random.Random(0)  # noqa: S311 - an order to repeat, not a secret

    def suite() -> tuple[float, float, float]:
        begun, used = time.perf_counter(), time.process_time()
        clock = fits.run(size)
        return (
            statistics.fmean(clock.seconds),
            (time.perf_counter() - begun) / epochs,
            (time.process_time() - used) / epochs,
        )

    def bare() -> tuple[float, float]:
        begun, used = time.perf_counter(), time.process_time()
        model.fit(
            arrays.x,
            arrays.y,
            batch_size=workload.batch,
            epochs=epochs,
            verbose=0,
            validation_data=(arrays.x_validation, arrays.y_validation),
            validation_batch_size=workload.batch,
        )
        return (time.perf_counter() - begun) / epochs, (time.process_time() - used) / epochs

    suite()
    bare()
    found = []
    for _ in range(count):
        if rng.random() < 1 / 2:
            ours, theirs = suite(), bare()
        else:
            theirs, ours = bare(), suite()
        found.append(Pair(*ours, *theirs))
    return found


def interval(ratios: list[float]) -> dict[str, float]:
    """Return the geometric mean of PAIRS ratios, and the ends of its interval."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.fmean(logs)
    half = STUDENT * statistics.stdev(logs) / math.sqrt(len(logs))
    return {
        "ratio": math.exp(middle),
        "low": math.exp(middle - half),
        "high": math.exp(middle + half),
    }


if __name__ == "__main__":
    sys.exit(main())
