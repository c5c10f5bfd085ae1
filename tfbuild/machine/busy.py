"""How busy the machine is, how hot, and what holds this process back."""

import os
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from tfbuild.machine import files, groups, topology
from tfbuild.machine.model import Load

_CPU = "sys/devices/system/cpu"
_MHZ = re.compile(r"^cpu MHz\s*:\s*([\d.]+)", re.MULTILINE)
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "x86_pkg_temp", "cpu-thermal")


def load(root: Path = Path("/")) -> Load:
    """Return how busy the machine is now."""
    busy, steal = _cpu_seconds(root)
    pages, stopped = files.table(root / "proc/vmstat"), groups.throttled(root)
    return Load(
        load_1min=_load_average(root),
        pressure_avg10=_pressure(root),
        busy_seconds=busy,
        steal_seconds=steal,
        swapped_in_pages=pages.get("pswpin"),
        swapped_out_pages=pages.get("pswpout"),
        hot_events=_hot_events(root),
        throttled_periods=None if stopped is None else stopped.periods,
        throttled_seconds=None if stopped is None else stopped.seconds,
        mhz=_mhz(root),
        celsius=max(_celsius(root), default=None),
    )


def _load_average(root: Path) -> float | None:
    text = files.text(root / "proc/loadavg")
    return float(text.split()[0]) if text else None


def _pressure(root: Path) -> float | None:
    for word in (files.text(root / "proc/pressure/cpu") or "").split():
        if word.startswith("avg10="):
            return float(word.removeprefix("avg10="))
    return None


def _cpu_seconds(root: Path) -> tuple[float | None, float | None]:
    """The first line of /proc/stat: user nice system idle iowait irq softirq steal ... in ticks."""
    words = (files.text(root / "proc/stat") or "").split("\n", 1)[0].split()
    if len(words) < 9 or words[0] != "cpu":  # noqa: PLR2004 - up to and with steal
        return None, None
    ticks = [int(word) for word in words[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    second = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / second, steal / second


def _hot_events(root: Path) -> int | None:
    """Intel's counters; siblings show the same one, so only growth says something."""
    counts = [
        count
        for path in (root / _CPU).glob("cpu[0-9]*/thermal_throttle/*_throttle_count")
        if (count := files.number(path)) is not None
    ]
    return sum(counts) if counts else None


def _mhz(root: Path) -> float | None:
    """x86 tells all in one file; elsewhere each CPU has its own, in kHz."""
    allowed = topology.usable()
    listed = [float(text) for text in _MHZ.findall(files.text(root / "proc/cpuinfo") or "")]
    if listed:
        return statistics.fmean([mhz for cpu, mhz in enumerate(listed) if cpu in allowed] or listed)
    each = [files.number(root / _CPU / f"cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in allowed]
    known = [khz / 1000 for khz in each if khz]
    return statistics.fmean(known) if known else None


def _celsius(root: Path) -> Iterator[float]:
    for zone in (root / "sys/class/thermal").glob("thermal_zone*"):
        if files.text(zone / "type") in _CPU_SENSORS:
            yield from _degrees(zone / "temp")
    for chip in (root / "sys/class/hwmon").glob("hwmon*"):
        if files.text(chip / "name") in _CPU_SENSORS:
            for path in chip.glob("temp*_input"):
                yield from _degrees(path)


def _degrees(path: Path) -> Iterator[float]:
    if (thousandths := files.number(path)) is not None:
        yield thousandths / 1000
