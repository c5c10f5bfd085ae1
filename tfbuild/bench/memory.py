"""From which memory node a process gets its memory.

A policy belongs to a thread and passes to the processes that it starts, so it is set around the
start of a process and taken back after. The call has no wrapper in Python or the C library;
its number is each architecture's own (asm/unistd.h), its contract is set_mempolicy(2).
"""

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

from tfbuild.errors import HostError

_NUMBERS = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "ppc64": 261}
_DEFAULT, _BIND = 0, 2
_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


@contextmanager
def of_node(node: int | None) -> Iterator[None]:
    """Let processes that this thread starts within get memory of that node only.

    Raises:
        HostError: the system knows no such policy, forbids it, or has no such node.
    """
    if node is None:
        yield
        return
    _set(_BIND, node)
    try:
        yield
    finally:
        _set(_DEFAULT, None)


def _set(policy: int, node: int | None) -> None:
    number = _NUMBERS.get(platform.machine()) if platform.system() == "Linux" else None
    if number is None:
        raise HostError(
            f"Memory cannot be bound to node {node} on {platform.system()} {platform.machine()}.",
            do="Leave out --numa-node.",
        )
    words = (ctypes.c_ulong * (0 if node is None else node // _BITS + 1))()
    if node is not None:
        words[node // _BITS] = 1 << node % _BITS
    library = ctypes.CDLL(None, use_errno=True)
    # The kernel takes one bit less than it is told, hence the one more.
    most = 0 if node is None else len(words) * _BITS + 1
    done = library.syscall(
        ctypes.c_long(number), ctypes.c_int(policy), words if most else None, ctypes.c_ulong(most)
    )
    if done != 0:
        raise HostError(
            f"Memory cannot be bound to node {node}.",
            why=os.strerror(ctypes.get_errno()),
            do="A container may forbid it (docker run --cap-add SYS_NICE), or the node has no "
            "memory; leave out --numa-node.",
        )
