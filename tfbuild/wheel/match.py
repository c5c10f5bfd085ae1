"""Whether a machine can run a wheel, told before anything of the wheel is imported."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from packaging.version import InvalidVersion, Version

from tfbuild import pythons
from tfbuild.code import components, minimum
from tfbuild.code.evidence import Need, Witness
from tfbuild.host import Host

if TYPE_CHECKING:
    from tfbuild.wheel.inspection import Inspection

_SYSTEMS = {"linux": "Linux", "manylinux": "Linux", "musllinux": "Linux", "macosx": "Darwin"}
_SYSTEMS |= {"win": "Windows"}
_OWN_NAMES = {"Darwin": "macOS"}


@dataclass(frozen=True, kw_only=True)
class HostMatch:
    """Whether one machine can run one wheel."""

    verdict: Literal["yes", "no", "unknown"]
    """"unknown": nothing known speaks against it, and not all is known."""
    cpu: str
    source: str
    """Where the CPU was read: "/proc/cpuinfo", or the name of a saved one."""
    obstacles: tuple[str, ...]
    """Why it cannot run there, in sentences."""
    missing: tuple[Need, ...]
    """Extensions that code which always runs needs and the CPU lacks, with first functions."""
    doubts: tuple[str, ...]
    """What could not be told of the code, in sentences."""
    conditions: tuple[str, ...] = ()
    """What else must be so, which a saved CPU does not tell, in sentences."""


def match(found: "Inspection", host: Host, *, glibc: str | None) -> HostMatch:
    """Compare what a wheel needs with what a machine has.

    Args:
        found: the wheel, its code read as a whole.
        host: the machine's CPU.
        glibc: its version, "" where it has another C library, None where nobody knows.
    """
    obstacles = [*_platform(found, host), *_architecture(found, host), *_glibc(found, glibc)]
    doubts = _undecoded(found)
    lacking = () if obstacles or not found.code else minimum.excess(found.code, host.features)
    missing = tuple(need for need in lacking if not _is_avoided(need, host))
    unnamed = [need.extension for need in found.code.unsure] if found.code else []
    sure = [need for need in missing if _is_sure(need, found, host)]
    if sure:
        names = ", ".join(need.extension for need in sure)
        obstacles.append(f"Its code needs {names}, which this CPU does not offer.")
    unsure = [need.extension for need in missing if need not in sure]
    if unsure := [*unsure, *(name for name in unnamed if name not in host.features)]:
        doubts.append(
            f"It holds {', '.join(unsure)}, which this CPU does not offer: whether that code is "
            "chosen at run time cannot be told."
        )
    return HostMatch(
        verdict="no" if obstacles else "unknown" if doubts else "yes",
        cpu=host.brand or host.vendor or host.architecture,
        source=host.source,
        obstacles=tuple(obstacles),
        missing=missing,
        doubts=tuple(doubts),
        conditions=() if obstacles else tuple(_unknown_glibc(found, glibc)),
    )


def glibc_here() -> str:
    """Return the version of this machine's glibc, "" where there is none."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, OSError, ValueError):
        return ""
    return version if name == "glibc" else ""


def python_note(found: "Inspection") -> str:
    """Return a sentence where this machine has no Python of the wheel's version, else ""."""
    if not found.python or "." not in found.python or found.source != "wheel":
        return ""
    if found.python not in pythons.SUPPORTED or pythons.first(found.python):
        return ""
    return f"There is no Python {found.python} here; get one with: uv python install {found.python}"


def _platform(found: "Inspection", host: Host) -> Iterator[str]:
    tagged = {_system(tag.rpartition("-")[2]) for tag in found.tags}
    if tagged and "" not in tagged and host.system not in tagged:
        names = ", ".join(sorted(_OWN_NAMES.get(name, name) for name in tagged))
        yield f"It is for {names}, and this is {_OWN_NAMES.get(host.system, host.system)}."


def _system(platform: str) -> str:
    """Return the operating system of a platform tag, "" for any or an unheard-of one."""
    return next((name for start, name in _SYSTEMS.items() if platform.startswith(start)), "")


def _architecture(found: "Inspection", host: Host) -> Iterator[str]:
    machines = {library.machine for library in found.libraries if library.machine}
    if machines and host.architecture not in machines:
        yield f"Its code is for {', '.join(sorted(machines))}, and this CPU is {host.architecture}."


def _glibc(found: "Inspection", glibc: str | None) -> Iterator[str]:
    if not found.glibc or glibc is None:
        return
    if not glibc:
        yield f"It needs glibc {found.glibc}, and this system has another C library."
    elif _version(glibc) < _version(found.glibc):
        yield f"It needs glibc {found.glibc} or newer, and this system has {glibc}."


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _unknown_glibc(found: "Inspection", glibc: str | None) -> Iterator[str]:
    if found.glibc and glibc is None:
        yield f"The system must have glibc {found.glibc} or newer: `ldd --version` there says it."


def _undecoded(found: "Inspection") -> list[str]:
    return sorted({one.unknown for one in found.libraries if one.unknown})


def _is_sure(need: Need, found: "Inspection", host: Host) -> bool:
    """Return whether a named function needs it that this CPU gets to.

    Without names, a guard may be overlooked.
    """
    named = {one.name: one.code.symbols == "full" for one in found.libraries if one.code}
    return any(named.get(witness.library, True) for witness in _reaches(host, need.first))


def _is_avoided(need: Need, host: Host) -> bool:
    """Return whether this CPU fails the check before each function that needs it.

    A check may promise less than its functions use; a CPU that does not even have that much never
    gets there.
    """
    return need.functions <= len(need.first) and not any(_reaches(host, need.first))


def _reaches(host: Host, witnesses: Iterable[Witness]) -> Iterator[Witness]:
    """Give the functions that this CPU gets to: it fails no check before them."""
    for witness in witnesses:
        if not witness.guard or components.promises(witness.guard) <= host.features:
            yield witness
