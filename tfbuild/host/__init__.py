"""What this CPU and its operating system can execute.

`detect` reads this machine, `from_cpuinfo` a saved description of another one. A feature counts
only when the operating system has enabled it: what does not, `Host.warnings` explains.
"""

from pathlib import Path

from tfbuild.host.live import detect
from tfbuild.host.model import Host

__all__ = ["Host", "detect", "from_cpuinfo"]


def from_cpuinfo(path: Path) -> Host:
    """Read a saved /proc/cpuinfo, or a listing by `sysctl` or of raw CPUID.

    Raises:
        HostError: the file cannot be read, or describes no CPU.
    """
    # Only here: reading this machine needs none of the other formats.
    from tfbuild.host.saved import read_saved

    return read_saved(path)
