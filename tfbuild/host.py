"""What this CPU and its operating system can execute."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Host:
    """One machine's CPU, as far as compiled code is concerned."""

    SCHEMA: ClassVar[str] = "tfbuild.host"
    VERSION: ClassVar[int] = 1

    system: str
    """Operating system as `platform.system()` names it: "Linux", "Darwin", "Windows"."""
    architecture: str
    """"x86_64", "aarch64", "ppc64le", "riscv64", or "unknown"."""
    vendor: str
    brand: str
    microarchitecture: str
    """archspec's name: "skylake_avx512", "zen3", "x86_64_v3"."""
    features: frozenset[str]
    """Usable features, spelled as Linux does in /proc/cpuinfo, plus "sse3" and "lzcnt"."""
    cpus: int | None
    """Logical CPUs listed, None where unknown."""
    source: str
    """Where the features were read: "/proc/cpuinfo", a file's name, "sysctl", "py-cpuinfo"."""
    warnings: tuple[str, ...] = ()
