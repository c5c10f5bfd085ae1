"""Reads the description of a CPU from a file."""

from pathlib import Path

from tfbuild.errors import HostError
from tfbuild.host import cpuid, darwin, linux
from tfbuild.host.model import Host, host
from tfbuild.host.text import HINT, read


def read_saved(path: Path) -> Host:
    """Read a saved /proc/cpuinfo, or a listing by `sysctl` or of raw CPUID.

    Raises:
        HostError: the file cannot be read, or describes no CPU.
    """
    text = read(path)
    facts = cpuid.parse(text) or darwin.parse(text) or linux.parse(text)
    if facts is None:
        raise HostError(
            f"{path} does not describe a CPU.",
            why="It is neither a /proc/cpuinfo nor a listing by sysctl or of CPUID.",
            do=HINT,
        )
    if not facts.complete:
        raise HostError(
            f"{path} does not say what the CPU can execute.",
            why="Its list of features is missing or empty; the file may be truncated.",
            do=HINT,
        )
    return host(facts, str(path))
