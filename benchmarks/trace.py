"""Runs a script under the eye of this process, and tells where an illegal instruction stopped it.

    python trace.py SCRIPT < its-standard-input

Writes one JSON object: {"ended": "illegal", "address", "file", "offset", "bytes"} with the place in
the file that holds the code ("" for code written at run time) and the first bytes there in
hexadecimal; or {"ended": "otherwise"}. Linux on x86-64 only; it needs the standard library alone.
What the script writes to standard output is thrown away.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

# linux/ptrace.h; the register RIP is the 17th of struct user_regs_struct (sys/user.h).
TRACEME, CONTINUE, GET_REGISTERS, KILL, SET_OPTIONS = 0, 7, 12, 8, 0x4200
TRACE_CLONES, EXIT_KILLS = 0x8, 0x100000
ALL_THREADS = 0x40000000
REGISTERS, INSTRUCTION_POINTER = 27, 16
LONGEST_INSTRUCTION = 15

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def main() -> int:
    """Run the script of the command line; 0 when it could be watched."""
    if len(sys.argv) < 2:  # noqa: PLR2004 - this file and the script
        print(__doc__, file=sys.stderr)
        return 2
    child = os.fork()
    if child == 0:
        _become(sys.argv[1])
    print(json.dumps(_watch(child)))
    return 0


def _become(script: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _libc.ptrace(TRACEME, 0, None, None)
    os.execv(sys.executable, [sys.executable, script])  # noqa: S606


def _watch(child: int) -> dict[str, Any]:
    begun = False
    while True:
        try:
            number, status = os.waitpid(-1, ALL_THREADS)
        except ChildProcessError:
            return {"ended": "otherwise"}
        if not os.WIFSTOPPED(status):
            if number == child:
                return {"ended": "otherwise"}
            continue
        stopped = os.WSTOPSIG(status)
        if stopped == signal.SIGILL:
            found = _place(number)
            os.kill(child, signal.SIGKILL)
            return {"ended": "illegal", **found}
        if not begun:
            begun = True
            _libc.ptrace(SET_OPTIONS, number, None, TRACE_CLONES | EXIT_KILLS)
        # SIGTRAP is ours, as is the stop with which each new thread begins.
        given = 0 if stopped in (signal.SIGTRAP, signal.SIGSTOP) else stopped
        _libc.ptrace(CONTINUE, number, None, given)


def _place(number: int) -> dict[str, Any]:
    registers = (ctypes.c_uint64 * REGISTERS)()
    _libc.ptrace(GET_REGISTERS, number, None, ctypes.addressof(registers))
    address = registers[INSTRUCTION_POINTER]
    file, offset = "", 0
    with Path(f"/proc/{number}/maps").open(encoding="utf-8", errors="replace") as maps:
        for line in maps:
            span, _, begin, _, _, *name = line.split(maxsplit=5)
            low, high = (int(end, 16) for end in span.split("-"))
            if low <= address < high:
                file = name[0].strip() if name and name[0].startswith("/") else ""
                offset = int(begin, 16) + address - low
    with Path(f"/proc/{number}/mem").open("rb") as memory:
        memory.seek(address)
        code = memory.read(LONGEST_INSTRUCTION)
    return {"address": address, "file": file, "offset": offset, "bytes": code.hex()}


if __name__ == "__main__":
    sys.exit(main())
