"""Which microarchitecture a CPU is, by archspec's database.

Only the data is archspec's (JSON with a published schema, github.com/archspec/archspec-json): it is
compared with the features that are usable here. archspec's own detection would look at the machine
by itself and does not ask whether a feature is enabled, and to import it takes as long as
everything else that `tfbuild detect` does.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tfbuild.errors import TfbuildError
from tfbuild.host.model import Facts


def microarchitecture(facts: Facts, features: frozenset[str]) -> str:
    """Return archspec's name for the most specific CPU that the facts describe.

    Falls back to the level ("x86_64_v3") when no vendor's CPU fits, then to the architecture.
    """
    known: dict[str, dict[str, Any]] = table("microarchitectures")["microarchitectures"]
    if facts.model in known:
        return facts.model
    if facts.architecture not in known:
        return facts.architecture
    fit = {
        name: ancestors
        for name, entry in known.items()
        if _fits(name, entry, facts, features)
        and facts.architecture in (ancestors := _ancestors(known, name))
    }

    def depth(name: str) -> tuple[int, int]:
        return len(fit[name]), len(known[name]["features"])

    level = max((name for name in fit if known[name]["vendor"] == "generic"), key=depth)
    # A CPU that does not descend from the best level is a worse answer than the level: one feature
    # that firmware hides must not turn a Skylake into a Nehalem.
    named = [name for name in fit if name != level and level in fit[name]]
    part = [name for name in fit if facts.part and known[name].get("cpupart") == facts.part]
    return max(part or named, key=depth, default=level)


def _fits(name: str, entry: dict[str, Any], facts: Facts, features: frozenset[str]) -> bool:
    if not features.issuperset(entry["features"]):
        return False
    if entry["vendor"] == "generic":
        # Levels of the Arm architecture name no features, so nothing tells whether one fits.
        return facts.architecture in {"x86_64", name}
    return bool(entry["vendor"] == facts.vendor and entry["features"])


def _ancestors(known: dict[str, Any], name: str) -> frozenset[str]:
    """Return the name itself and all that it descends from."""
    found = {name}
    waiting = [name]
    while waiting:
        parents = known[waiting.pop()]["from"]
        waiting += [parent for parent in parents if parent not in found]
        found.update(parents)
    return frozenset(found)


def conversions(kind: str) -> dict[str, str]:
    """Return what other systems call things: "arm_vendors" or "darwin_flags"."""
    found: dict[str, str] = table("microarchitectures")["conversions"][kind]
    return found


@cache
def table(name: str) -> dict[str, Any]:
    """Return one of archspec's files: "microarchitectures" or "cpuid".

    Raises:
        TfbuildError: archspec is not installed whole.
    """
    spec = find_spec("archspec")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    path = folder / "json" / "cpu" / f"{name}.json"
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise TfbuildError(
            f"archspec's table of {name} cannot be read.",
            why=str(error),
            do="Install it again: pip install --force-reinstall archspec",
        ) from error
    return found
