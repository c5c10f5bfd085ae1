"""How long `tfbuild detect` takes, in starts of a bare interpreter that imports typer.

    python tests/startup.py [PAIRS]

Alternates the two in random order and prints the geometric mean of the paired ratios with its 95 %
interval: of wall-clock time, and of processor time, which other programs disturb less.
"""

import os
import random
import sys
import time
from pathlib import Path

from tfbuild import stats

COMMANDS = {
    "typer": [sys.executable, "-c", "import typer"],
    "detect": [str(Path(sys.executable).with_name("tfbuild")), "detect"],
}


def seconds(command: list[str]) -> tuple[float, float]:
    """Return wall-clock and processor seconds of one run."""
    sink = os.open(os.devnull, os.O_WRONLY)
    start = time.perf_counter()
    child = os.posix_spawn(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1)]
    )
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    os.close(sink)
    if status != 0:
        raise SystemExit(f"{command} failed")
    return wall, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(pairs + 1):
        for name in random.sample(sorted(COMMANDS), len(COMMANDS)):
            found[name].append(seconds(COMMANDS[name]))
    for place, kind in enumerate(("wall-clock", "processor")):
        # The first pair fills the caches and is not counted.
        detect = [sample[place] for sample in found["detect"][1:]]
        typer = [sample[place] for sample in found["typer"][1:]]
        estimate = stats.paired(detect, typer)
        print(
            f"{kind} time, {pairs} pairs: tfbuild detect / import typer = {estimate.ratio:.2f} "
            f"({estimate.low:.2f} to {estimate.high:.2f})"
        )


if __name__ == "__main__":
    main()
