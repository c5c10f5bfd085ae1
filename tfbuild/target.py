"""Named CPUs to compile for."""

from dataclasses import dataclass

from tfbuild.host import Host


@dataclass(frozen=True, kw_only=True)
class Target:
    """A microarchitecture: what the compiler is told, and what a CPU then needs."""

    name: str
    """What a user types: "skylake", "haswell", "x86-64-v3"."""
    label: str
    """Local version of its wheels, `[a-z][a-z0-9.]*`: "skylake", "x86.64.v3"."""
    architecture: str
    """"x86_64" or "aarch64"."""
    description: str
    march: str
    """The compiler's own name: "skylake-avx512"."""
    requires: frozenset[str]
    """Features without which its code dies with an illegal instruction; Linux spelling."""
    vector_width: int
    """Preferred vector width in bits: 128, 256 or 512."""
    flags: tuple[str, ...]
    """Compiler flags, complete: ("-march=skylake-avx512", "-mprefer-vector-width=512")."""

    def why_not(self, host: Host) -> str | None:
        """Return in a sentence why the host cannot run this target's code, or None if it can."""
        raise NotImplementedError
