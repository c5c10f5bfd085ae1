"""Named CPUs to compile for: what the compiler is told, and what a CPU then needs.

The facts are `data/targets.toml`, which also says where they come from.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tfbuild.errors import HostError, TfbuildError, UsageError, suggestion
from tfbuild.host import Host
from tfbuild.resources import DATA

NATIVE = "native"
WIDTHS = (128, 256, 512)
_SAME_VENDOR = {"HygonGenuine": "AuthenticAMD"}
_KEYS = {"description": str, "march": str, "width": int, "gcc": str, "clang": str}
_OPTIONAL_KEYS = ("adds", "architecture", "archspec", "from", "tells", "vendor")
# What sets one class of CPUs apart from the one below, best first.
_CLASSES = ("avx512f", "avx2", "avx", "sse4_2", "ssse3", "sve2", "sve", "asimddp")


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
    vendor: str = "generic"
    """As /proc/cpuinfo names it: "GenuineIntel"; "generic" where any CPU will do."""
    microarchitecture: str = ""
    """archspec's name: "skylake_avx512"."""
    tells: frozenset[str] = frozenset()
    """Features that its code does not need but that tell this CPU from an older one."""
    base: str = ""
    """The target whose features it builds on, "" for none."""
    gcc: str = ""
    """The oldest GCC that knows `march`, "" where unknown."""
    clang: str = ""
    """The oldest Clang that knows `march`, "" where unknown."""

    @property
    def register_width(self) -> int:
        """Width in bits of the widest vector registers that the code may use."""
        if "avx512f" in self.requires:
            return 512
        return 256 if self.requires & {"avx", "sve"} else 128

    @property
    def adds(self) -> frozenset[str]:
        """What it requires beyond the target that it builds on."""
        return self.requires - _table()[self.base].requires if self.base else self.requires

    def why_not(self, host: Host) -> str | None:
        """Return in a sentence why the host cannot run this target's code, or None if it can."""
        if host.architecture != self.architecture:
            return f"{self.name} is for {self.architecture}, and this CPU is {host.architecture}."
        missing = self.requires - host.features
        if not missing:
            return None
        return f"{self.name} needs {', '.join(sorted(missing))}, which this CPU does not offer."

    def why_not_build(self, host: Host) -> str | None:
        """Return in a sentence why the host cannot compile for this target, or None if it can.

        Only target code gets the target's flags, so any CPU of the same architecture can.
        """
        if host.architecture == self.architecture:
            return None
        return (
            f"{self.name} is for {self.architecture}, and this CPU is {host.architecture}: "
            f"compile it on an {self.architecture} machine."
        )

    def with_vector_width(self, bits: int) -> "Target":
        """Return this target with another preferred vector width; its label then says so.

        Raises:
            UsageError: this target has no vectors of that width, or its compilers no such choice.
        """
        if bits == self.vector_width:
            return self
        if self.architecture != "x86_64" or bits not in WIDTHS or bits > self.register_width:
            raise UsageError(
                f"{self.name} cannot prefer {bits}-bit vectors.",
                why=self._why_not_width(),
                do="Choose another width, or leave --vector-width out.",
            )
        return replace(
            self,
            label=f"{self.label}.w{bits}",
            vector_width=bits,
            flags=(f"-march={self.march}", f"-mprefer-vector-width={bits}"),
        )

    def _why_not_width(self) -> str:
        if self.architecture != "x86_64":
            return f"Compilers for {self.architecture} take no preferred width."
        widths = ", ".join(str(width) for width in WIDTHS if width <= self.register_width)
        return f"Its widths are: {widths}."


def all_targets() -> tuple[Target, ...]:
    """Return every target, in the order of data/targets.toml."""
    return tuple(_table().values())


def find(name: str) -> Target:
    """Return the target of that name; the compiler's or archspec's name serves too.

    Raises:
        UsageError: there is none.
    """
    table = _table()
    word = name.strip().lower()
    if word in table:
        return table[word]
    for target in table.values():
        if word in {target.march, target.name.replace("-", "_"), target.label}:
            return target
    raise UsageError(
        f"There is no target {name!r}.",
        why=suggestion(word, [*table, NATIVE]),
        do="`tfbuild targets` shows them all.",
    )


def recommend(host: Host) -> Target | None:
    """Return the target that serves this CPU best, or None when none runs on it.

    The widest instruction set decides first, then the CPU's own name, then its vendor, then the
    newest generation. A CPU that hides features gets the best of what it shows.
    """
    fit = [
        (_class(target), *_kinship(target, host), number, target)
        for number, target in enumerate(all_targets())
        if target.why_not(host) is None and target.tells <= host.features
    ]
    return max(fit, key=lambda ranked: ranked[:-1])[-1] if fit else None


def resolve(name: str, host: Host) -> Target:
    """Return the target of that name; "native" is the one recommended for the host.

    Raises:
        UsageError: there is no such target.
        HostError: "native", and no target runs on this CPU.
    """
    if name.strip().lower() != NATIVE:
        return find(name)
    target = recommend(host)
    if target is None:
        raise HostError(
            f"No target runs on this CPU ({host.brand or host.architecture}).",
            why=f"Targets exist for {', '.join(_architectures())}.",
            do="Name a target; `tfbuild targets` shows them all.",
        )
    return target


def ignorable(architecture: str) -> frozenset[str]:
    """Return features that compilers announce for some target but whose lack harms nobody."""
    return frozenset(_data()["ignorable"].get(architecture, "").split())


def _class(target: Target) -> int:
    """Return how far the target's instruction set reaches; higher is more."""
    for place, feature in enumerate(_CLASSES):
        if feature in target.requires:
            return len(_CLASSES) - place
    return 0


def _kinship(target: Target, host: Host) -> tuple[bool, int]:
    """Return whether the target is this very CPU, and 2 for its vendor, 1 for any, else 0."""
    vendor = _SAME_VENDOR.get(host.vendor, host.vendor)
    exact = target.vendor == vendor and target.microarchitecture == host.microarchitecture
    return exact, 2 if target.vendor == vendor else int(target.vendor == "generic")


def _architectures() -> list[str]:
    return sorted({target.architecture for target in all_targets()})


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((DATA / "targets.toml").read_text(encoding="utf-8"))


@cache
def _table() -> dict[str, Target]:
    return read_table(_data()["targets"])


def read_table(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Target]:
    """Return the targets that the entries of a table describe, each after the one it builds on.

    Raises:
        TfbuildError: an entry is wrong.
    """
    table: dict[str, Target] = {}
    for name, entry in entries.items():
        wrong = _wrong(entry, table)
        if wrong:
            raise TfbuildError(f"data/targets.toml: target {name}: {wrong}.")
        table[name] = _target(name, entry, table)
    return table


def _wrong(entry: Mapping[str, Any], earlier: Mapping[str, Target]) -> str:
    for key, kind in _KEYS.items():
        if not isinstance(entry.get(key), kind):
            return f"{key} is missing or not {kind.__name__}"
    for key in entry.keys() - _KEYS.keys():
        if key not in _OPTIONAL_KEYS or not isinstance(entry[key], str):
            return f"{key} is unknown or not a string"
    if entry["width"] not in WIDTHS:
        return f"width is not one of {WIDTHS}"
    if "from" in entry and entry["from"] not in earlier:
        return f"it builds on {entry['from']!r}, which is not defined before it"
    return ""


def _target(name: str, entry: Mapping[str, Any], earlier: Mapping[str, Target]) -> Target:
    base = earlier.get(entry.get("from", ""))
    requires = frozenset(entry.get("adds", "").split()) | (base.requires if base else frozenset())
    target = Target(
        name=name,
        label=name.replace("-", "."),
        architecture=entry.get("architecture", "x86_64"),
        description=entry["description"],
        march=entry["march"],
        requires=requires,
        vector_width=entry["width"],
        flags=(),
        vendor=entry.get("vendor", "generic"),
        microarchitecture=entry.get("archspec", name.replace("-", "_")),
        tells=frozenset(entry.get("tells", "").split()),
        base=base.name if base else "",
        gcc=entry["gcc"],
        clang=entry["clang"],
    )
    return replace(target, flags=_flags(target))


def _flags(target: Target) -> tuple[str, ...]:
    """Return the compiler flags; the width is stated wherever compilers could disagree about it."""
    if target.architecture == "aarch64":
        return (f"-mcpu={target.march}",)
    march = f"-march={target.march}"
    if target.register_width == 512 or target.vector_width < target.register_width:  # noqa: PLR2004
        return (march, f"-mprefer-vector-width={target.vector_width}")
    return (march,)
