"""Asks py-cpuinfo, where neither /proc/cpuinfo nor sysctl serves.

It runs as a child with a time limit: it starts processes of its own, executes machine code from
memory to read CPUID, and sleeps for a second to time the clock.
"""

import json
import sys

from tfbuild.errors import HostError
from tfbuild.host.model import Facts, Host, host
from tfbuild.process import ProcessError, run

COMMAND = (sys.executable, "-m", "cpuinfo", "--json")
SECONDS = 30.0
_LINUX_NAMES = {
    "fma3": "fma",
    "lzcnt": "abm",
    "osxsave": "xsave",
    "rdrnd": "rdrand",
    "sha": "sha_ni",
    "sse3": "pni",
}
_ARCHITECTURES = {
    "X86_64": "x86_64",
    "ARM_8": "aarch64",
    "PPC_64": "ppc64le",
    "RISCV_64": "riscv64",
}


def detect(system: str, *, because: str = "") -> Host:
    """Return what py-cpuinfo finds.

    Args:
        system: `platform.system()`.
        because: why this machine's own source did not serve, for the error.

    Raises:
        HostError: it fails, takes too long, or finds no features.
    """
    try:
        text = run(COMMAND, timeout=SECONDS).stdout
        facts = parse(text, system)
    except (ProcessError, TypeError, ValueError) as error:
        raise _unknown(because, str(error)) from error
    if not facts.features:
        raise _unknown(because, "py-cpuinfo found no list of features.")
    return host(facts, "py-cpuinfo")


def parse(text: str, system: str) -> Facts:
    """Return what py-cpuinfo's JSON says.

    Raises:
        ValueError, TypeError: the text is not such JSON.
    """
    data = json.loads(text)
    if not isinstance(data, dict):
        raise TypeError("py-cpuinfo gave JSON of another shape.")
    flags = data.get("flags")
    count = data.get("count")
    return Facts(
        system=system,
        architecture=_ARCHITECTURES.get(str(data.get("arch")), "unknown"),
        vendor=str(data.get("vendor_id_raw") or ""),
        brand=str(data.get("brand_raw") or ""),
        features=_linux_names(flags if isinstance(flags, list) else []),
        cpus=count if isinstance(count, int) else None,
    )


def _linux_names(flags: list[object]) -> frozenset[str]:
    """Add Linux's spelling where py-cpuinfo has another."""
    names = {str(flag).lower() for flag in flags}
    return frozenset(names | {linux for theirs, linux in _LINUX_NAMES.items() if theirs in names})


def _unknown(because: str, why: str) -> HostError:
    return HostError(
        "Cannot find out what this CPU can execute.",
        why="\n".join(part for part in (because, why) if part),
        do="On another Linux machine with this CPU: cat /proc/cpuinfo > cpuinfo.txt; then here: "
        "tfbuild detect --cpuinfo cpuinfo.txt",
    )
