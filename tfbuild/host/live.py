"""Reads this machine."""

import platform
from pathlib import Path

from tfbuild.errors import HostError
from tfbuild.host import linux
from tfbuild.host.model import Facts, Host, host
from tfbuild.host.text import read

CPUINFO = Path("/proc/cpuinfo")
SYSCTL = "/usr/sbin/sysctl"
_SYSCTL_SECONDS = 10.0
_SAME = {"amd64": "x86_64", "arm64": "aarch64", "i386": "x86_64", "i686": "x86_64"}


def detect() -> Host:
    """Return what this machine's CPU and operating system can execute.

    Linux: /proc/cpuinfo. macOS: sysctl. Elsewhere, and where those say nothing: py-cpuinfo, in a
    child process with a time limit.

    Raises:
        HostError: nothing that can be read tells.
    """
    system = platform.system()
    if system == "Linux":
        return _linux()
    if system == "Darwin" and (facts := _sysctl()):
        return host(facts, "sysctl")
    return _fallback(system)


def _linux() -> Host:
    machine = platform.machine()
    try:
        text = read(CPUINFO)
    except HostError as error:
        return _fallback("Linux", str(error))
    facts = linux.parse(text, machine)
    if facts is None or not facts.complete:
        return _fallback("Linux", f"{CPUINFO} lists no features.")
    return host(_not_emulated(facts, machine), str(CPUINFO))


def _fallback(system: str, because: str = "") -> Host:
    from tfbuild.host import fallback

    return fallback.detect(system, because=because)


def _not_emulated(facts: Facts, machine: str) -> Facts:
    """Refuse a process that is translated: the kernel describes another CPU than it runs on."""
    running = _SAME.get(machine, machine)
    if facts.architecture in {"unknown", running}:
        return facts
    raise HostError(
        f"This process runs as {machine}, but {CPUINFO} describes a CPU of kind "
        f"{facts.architecture}.",
        why="It is emulated (QEMU, Rosetta), so what it may execute cannot be told.",
        do="Run tfbuild outside the emulation, or save the cpuinfo of the machine that will run "
        "the wheel and give it to `tfbuild detect --cpuinfo FILE`.",
    )


def _sysctl() -> Facts | None:
    from tfbuild.host import darwin
    from tfbuild.process import ProcessError, run

    try:
        done = run(
            [SYSCTL, "machdep.cpu", "hw.optional", "hw.ncpu"],
            timeout=_SYSCTL_SECONDS,
            check=False,
        )
    except ProcessError:
        return None
    return darwin.parse(done.stdout)
