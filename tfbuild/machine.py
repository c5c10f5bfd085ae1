"""What a measurement must say about the machine it was made on, and how busy that was.

Nothing here fails: what cannot be read is None. The machine's name is left out on purpose, so
that a result can be shown to strangers.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from tfbuild.host import Host

_CPU = "sys/devices/system/cpu"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine, as far as training times depend on it."""

    system: str
    kernel: str
    libc: str
    architecture: str
    brand: str
    microarchitecture: str
    features: frozenset[str]
    virtual: bool | None
    """Whether a hypervisor shows itself."""
    cpus: int | None
    """Logical CPUs of the machine."""
    cpus_allowed: int
    """Of these, how many this process may use (affinity)."""
    cpu_quota: float | None
    """CPUs' worth of time that the control group grants; None is no limit."""
    memory_bytes: int | None
    governor: str | None
    turbo: bool | None
    smt: bool | None

    @property
    def threads(self) -> int:
        """How many threads make sense: allowed CPUs, or the quota where that is smaller."""
        return _threads(self.cpus_allowed, self.cpu_quota)


@dataclass(frozen=True, kw_only=True)
class Load:
    """How busy the machine is at one moment. The counters only mean something as differences."""

    load_1min: float | None
    pressure_avg10: float | None
    """PSI: share in percent of the last 10 s in which some task waited for a CPU."""
    busy_seconds: float | None
    """CPU seconds used since boot by everything on the machine."""
    steal_seconds: float | None
    """CPU seconds since boot that the hypervisor gave to others."""


def read(host: Host, root: Path = Path("/")) -> Machine:
    """Return the facts of this machine; `root` is where proc and sys are found."""
    return Machine(
        system=platform.system(),
        kernel=platform.release(),
        libc=" ".join(platform.libc_ver()).strip(),
        architecture=host.architecture,
        brand=host.brand,
        microarchitecture=host.microarchitecture,
        features=host.features,
        virtual="hypervisor" in host.features if host.features else None,
        cpus=os.cpu_count(),
        cpus_allowed=_cpus_allowed(),
        cpu_quota=_quota(root),
        memory_bytes=_memory(root),
        governor=_text(root / _CPU / "cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(root),
        smt=_flag(root / _CPU / "smt/active"),
    )


def threads(root: Path = Path("/")) -> int:
    """Return how many threads make sense here: allowed CPUs, or a smaller quota."""
    return _threads(_cpus_allowed(), _quota(root))


def load(root: Path = Path("/")) -> Load:
    """Return how busy the machine is now."""
    busy, steal = _cpu_seconds(root)
    return Load(
        load_1min=_load_average(root),
        pressure_avg10=_pressure(root),
        busy_seconds=busy,
        steal_seconds=steal,
    )


def _threads(allowed: int, quota: float | None) -> int:
    return max(1, min(allowed, allowed if quota is None else int(quota)))


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _flag(path: Path) -> bool | None:
    text = _text(path)
    return text == "1" if text in {"0", "1"} else None


def _cpus_allowed() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _turbo(root: Path) -> bool | None:
    disabled = _flag(root / _CPU / "intel_pstate/no_turbo")
    return _flag(root / _CPU / "cpufreq/boost") if disabled is None else not disabled


def _memory(root: Path) -> int | None:
    for line in (_text(root / "proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _quota(root: Path) -> float | None:
    """Control groups v2 (`cpu.max`: "200000 100000" or "max 100000"), then v1."""
    groups = (_text(root / "proc/self/cgroup") or "").splitlines()
    own = next((line.split(":", 2)[2] for line in groups if line.startswith("0::")), "/")
    base = root / "sys/fs/cgroup"
    words = (_text(base / own.lstrip("/") / "cpu.max") or _text(base / "cpu.max") or "").split()
    if not words:
        words = [_text(base / f"cpu/cpu.cfs_{name}_us") or "-1" for name in ("quota", "period")]
    try:
        quota, period = (int(word) for word in words)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None


def _load_average(root: Path) -> float | None:
    text = _text(root / "proc/loadavg")
    return float(text.split()[0]) if text else None


def _pressure(root: Path) -> float | None:
    for word in (_text(root / "proc/pressure/cpu") or "").split():
        if word.startswith("avg10="):
            return float(word.removeprefix("avg10="))
    return None


def _cpu_seconds(root: Path) -> tuple[float | None, float | None]:
    """The first line of /proc/stat: user nice system idle iowait irq softirq steal ... in ticks."""
    words = (_text(root / "proc/stat") or "").split("\n", 1)[0].split()
    if len(words) < 9 or words[0] != "cpu":  # noqa: PLR2004 - up to and with steal
        return None, None
    ticks = [int(word) for word in words[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    second = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / second, steal / second
