"""Reads the text of /proc/cpuinfo, this machine's or another's."""

import re

from tfbuild.host.model import Facts

_POWER = re.compile(r"POWER(\d+)")
_RISCV = {"sifive,u74-mc": "u74mc", "spacemit,x60": "x60", "Spacemit(R) X60": "x60"}
_FIRST_LITTLE_ENDIAN_POWER = 8
_FEATURES = ("flags", "Features")


def parse(text: str, machine: str = "") -> Facts | None:
    """Return what the text says, or None when it is not /proc/cpuinfo.

    Args:
        text: the file's content.
        machine: `platform.machine()` of the computer it comes from, "" where unknown; tells the
            two byte orders of POWER apart.
    """
    first, lists, cpus = _scan(text)
    architecture = _architecture(first, machine)
    if architecture is None:
        return None
    distinct = [frozenset(line.split()) for line in lists]
    common = frozenset.intersection(*distinct) if distinct else frozenset()
    warnings = []
    if any(one != common for one in distinct):
        warnings.append(
            "The CPUs of this machine do not list the same features; only what all of them have "
            "counts."
        )
    if distinct and not text.endswith("\n") and text.rsplit("\n", 1)[-1].startswith(_FEATURES):
        warnings.append("The text ends inside the list of features, so some may be missing.")
    return Facts(
        system="Linux",
        architecture=architecture,
        vendor=_vendor(first, architecture),
        brand=first.get("model name") or first.get("cpu") or first.get("uarch") or "",
        features=common,
        cpus=cpus or None,
        part=first.get("CPU part", ""),
        model=_model(first, architecture),
        warnings=tuple(warnings),
    )


def _scan(text: str) -> tuple[dict[str, str], set[str], int]:
    """Return the fields as first seen, the distinct lists of features, and the count of CPUs."""
    first: dict[str, str] = {}
    lists: set[str] = set()
    cpus = 0
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if not separator:
            continue
        key, value = key.strip(), value.strip()
        first.setdefault(key, value)
        if key in _FEATURES:
            lists.add(value)
        elif key == "processor":
            cpus += 1
    return first, lists, cpus


def _architecture(first: dict[str, str], machine: str) -> str | None:
    # Where the list of features is cut off it is still clear whose it would have been.
    if "flags" in first or "cpu family" in first:
        return _wide(first.get("flags", ""), "lm", "x86_64")
    if "CPU implementer" in first:
        return _wide(first.get("Features", ""), "asimd", "aarch64")
    if power := _POWER.search(first.get("cpu", "")):
        if machine.startswith("ppc64"):
            return machine
        return "ppc64le" if int(power[1]) >= _FIRST_LITTLE_ENDIAN_POWER else "ppc64"
    if "hart" in first or first.get("isa", "").startswith("rv"):
        return "riscv64" if first.get("isa", "rv64").startswith("rv64") else "unknown"
    # Other Linux computers (s390x, loongarch64, ...) name each CPU too; a text that does not is
    # something else.
    return "unknown" if "processor" in first or "vendor_id" in first else None


def _wide(features: str, sign: str, architecture: str) -> str:
    """Return the architecture, or "unknown" for its 32-bit ancestor, which lacks the sign."""
    words = features.split()
    return architecture if not words or sign in words else "unknown"


def _vendor(first: dict[str, str], architecture: str) -> str:
    if architecture == "aarch64":
        from tfbuild.host.names import conversions

        code = first.get("CPU implementer", "")
        return conversions("arm_vendors").get(code, code)
    return first.get("vendor_id", "IBM" if architecture.startswith("ppc64") else "")


def _model(first: dict[str, str], architecture: str) -> str:
    if architecture.startswith("ppc64") and (power := _POWER.search(first.get("cpu", ""))):
        return f"power{power[1]}{architecture.removeprefix('ppc64')}"
    if architecture == "riscv64":
        return _RISCV.get(first.get("uarch", ""), _RISCV.get(first.get("model name", ""), ""))
    return ""
