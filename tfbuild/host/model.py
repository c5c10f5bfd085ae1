"""The value of the room: one machine's CPU."""

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
    """"x86_64", "aarch64", "ppc64le", "ppc64", "riscv64", or "unknown"."""
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


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What one source says about a CPU, before anybody asks what of it is usable."""

    system: str
    architecture: str
    vendor: str = ""
    brand: str = ""
    features: frozenset[str] = frozenset()
    cpus: int | None = None
    part: str = ""
    """Arm's "CPU part": "0xd0c"."""
    model: str = ""
    """A name that the source itself gives: archspec's "m1", "power9le", "u74mc"."""
    warnings: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the features are told, of an architecture that has any."""
        return bool(self.features) or self.architecture not in {"x86_64", "aarch64"}


def host(facts: Facts, source: str) -> Host:
    """Return the Host that the facts describe: usable features only, and named."""
    from tfbuild.host.names import microarchitecture
    from tfbuild.host.usable import usable

    features, warnings = usable(facts)
    return Host(
        system=facts.system,
        architecture=facts.architecture,
        vendor=_printable(facts.vendor),
        brand=_printable(facts.brand),
        microarchitecture=microarchitecture(facts, features),
        features=features,
        cpus=facts.cpus,
        source=source,
        warnings=(*facts.warnings, *warnings),
    )


def _printable(text: str) -> str:
    """Return one line that cannot steer a terminal: a saved cpuinfo may say anything."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text[:200]).split())
