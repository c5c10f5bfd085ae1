"""The values: a machine, and how busy it is."""

from dataclasses import dataclass


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
    """Whether the hardware threads of one core are in use as CPUs of their own."""
    allowed: str = ""
    """The CPUs that this process may use, as the kernel writes them: "0-3,8"."""
    cpuset: str | None = None
    """Those that its control group may use."""
    packages: int | None = None
    """Of the CPUs allowed, as `cores`."""
    cores: int | None = None
    threads_per_core: int | None = None
    """The most that any core has, those forbidden to us counted."""
    cores_shared: tuple[str, ...] = ()
    """CPUs of one core each ("0,48"), where a core has several and one is allowed."""
    nodes: tuple[str, ...] = ()
    """CPUs of each memory node that has any allowed, by node."""
    unequal_cores: bool | None = None
    """Whether the kernel says that some cores are slower than others; None: it does not say."""
    memory_limit_bytes: int | None = None
    """What the control group grants; None is no limit."""
    swap_bytes: int | None = None
    microcode: str | None = None
    driver: str | None = None
    """What sets the frequency: "intel_pstate", "acpi-cpufreq"."""
    hypervisor: str | None = None
    """Vendor and product as the firmware says: "Amazon EC2 m5.xlarge", "QEMU Standard PC"."""

    @property
    def threads(self) -> int:
        """How many threads make sense: allowed CPUs, or the quota where that is smaller."""
        return sensible_threads(self.cpus_allowed, self.cpu_quota)


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
    swapped_in_pages: int | None = None
    """Since boot, by everything on the machine, as `swapped_out_pages`."""
    swapped_out_pages: int | None = None
    hot_events: int | None = None
    """How often cores or packages were slowed down because of heat, since boot."""
    throttled_periods: int | None = None
    """In how many periods the control group's quota stopped it, since it exists."""
    throttled_seconds: float | None = None
    mhz: float | None = None
    """Mean over the CPUs allowed, at this moment."""
    celsius: float | None = None
    """The hottest sensor of a CPU."""


def sensible_threads(cpus: int, quota: float | None) -> int:
    """Return how many threads make sense on so many CPUs under a quota; 1 at least."""
    return max(1, min(cpus, cpus if quota is None else int(quota)))
