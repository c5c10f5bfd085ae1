"""What TensorFlow and numpy reach on this machine: matrix products, and passes over memory.

Both run in the process, on the CPUs and with the threads that trainings have. The best of several
counts: noise only ever takes time away.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import tensorflow as tf

LEAST_REPEATS = 8
SECONDS = 1.0
"""Each of the three measurements goes on for so long, after the least repeats."""
PRODUCT_SECONDS = 0.1
"""A product should take so long: starting its threads then counts for nothing."""
SIZES = (512, 8192)
LEAST_ARRAY = 64 << 20
LARGEST_SHARE = 8
"""One array takes at most this part of the memory that is free."""
CPUS = Path("/sys/devices/system/cpu")
CGROUP = Path("/sys/fs/cgroup")


def measured() -> dict[str, Any]:
    """Return the fields of the `peak` event."""
    size = _size()
    gflops = max(2 * size**3 / seconds for seconds in _products(size)) / 1e9
    array = array_bytes()
    return {
        "gflops": gflops,
        "gbytes": _bandwidth(array) / 1e9,
        "product_size": size,
        "array_bytes": array,
    }


def best(action: Callable[[], object], least: float = SECONDS) -> float:
    """Return the least seconds that `action` took, after one time that does not count.

    Args:
        action: what to do, several times.
        least: seconds to go on for.
    """
    action()
    begun, found = time.perf_counter(), []
    while len(found) < LEAST_REPEATS or time.perf_counter() - begun < least:
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def _size() -> int:
    """Return the N of N x N products of about the right length."""
    least, most = SIZES
    x = tf.ones((least, least))
    # Time grows with the third power.
    wanted = least * (PRODUCT_SECONDS / best(lambda: tf.matmul(x, x), 0.1)) ** (1 / 3)
    room = int((free_memory() // LARGEST_SHARE // 4) ** 0.5)
    return int(max(least, min(wanted, most, room)) // 256 * 256)


def _products(size: int) -> list[float]:
    """Return seconds of one product: TensorFlow's, and numpy's where it has as many threads."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((size, size), dtype=np.float32) for _ in range(2))
    x, y = tf.constant(a), tf.constant(b)
    found = [best(lambda: tf.matmul(x, y))]
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    # numpy's library counts by this variable, or takes all CPUs, as TensorFlow does with 0.
    if os.environ.get("OMP_NUM_THREADS", "0") == str(threads):
        room = np.empty_like(a)
        found.append(best(lambda: np.matmul(a, b, out=room)))
    return found


def _bandwidth(size: int) -> float:
    """Return bytes a second of `a += b`: two arrays read and one written, in place.

    In place, so that no page is fetched from the kernel and none is read only to be overwritten:
    the three passes are all the traffic there is.
    """
    count = size // 4
    a, b = tf.Variable(tf.ones(count)), tf.ones(count)
    seconds = best(lambda: a.assign_add(b, read_value=False))
    return 3 * 4 * count / seconds


def array_bytes() -> int:
    """Return four times the last-level caches, or what memory allows."""
    return max(min(4 * cache_bytes(), free_memory() // LARGEST_SHARE), 1 << 20) // 64 * 64


def cache_bytes() -> int:
    """Return the size of all last-level caches of the CPUs that may be used."""
    caches = {}
    for cpu in os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ():
        levels = sorted((CPUS / f"cpu{cpu}" / "cache").glob("index[0-9]*"))
        try:
            last = max(levels, key=lambda one: int((one / "level").read_text()))
            shared = (last / "shared_cpu_list").read_text().strip()
            size = (last / "size").read_text().strip()
            caches[shared] = int(size.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}[size[-1]]
        except (OSError, ValueError, KeyError):
            continue
    return max(sum(caches.values()), LEAST_ARRAY // 4)


def free_memory() -> int:
    """Return the bytes that this process may still take: the machine's, or its cgroup's."""
    found = [4 << 30]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        found = [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")]
        most = (CGROUP / "memory.max").read_text(encoding="utf-8").strip()
        if most != "max":
            used = int((CGROUP / "memory.current").read_text(encoding="utf-8"))
            found.append(int(most) - used)
    except (OSError, ValueError, IndexError):
        pass
    return max(min(found, default=4 << 30), 64 << 20)
