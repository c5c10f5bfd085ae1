"""Tells by its name whose code a function is, and whether a check of the CPU guards it.

The facts are `data/components.toml`, which also says where they come from.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from tfbuild.resources import DATA

OTHER = "other"
UNKNOWN = "unknown"


class Place(NamedTuple):
    """Where a function belongs."""

    component: str
    """Key of data/components.toml."""
    guard: str
    """The check of the CPU before it runs, a key of its [guards]; "" if it always runs."""


def place(symbol: str, source: str) -> Place:
    """Return whose a function is.

    Args:
        symbol: its name as the symbol table has it, "" without one.
        source: the source file that the table names for it, "" if none.
    """
    component = _component(symbol)
    if component == OTHER and source:
        found = _names().match(source)
        component = str(found.lastgroup) if found else OTHER
    return Place(component, _guard(component, symbol))


@cache
def promises(guard: str) -> frozenset[str]:
    """Return the extensions that a guard's check has assured; none for an unknown guard."""
    found: set[str] = set()
    left = _data()["guards"].get(guard, "").split()
    while left:
        extension = left.pop()
        if extension not in found:
            found.add(extension)
            left += _data()["closure"].get(extension, "").split()
    return frozenset(found)


def generator(symbol: str) -> tuple[str, str] | None:
    """Return (component, extension) where a name tells of a generator of code at run time."""
    found = _GENERATOR.search(symbol)
    return ("onednn", found[1]) if found else None


def title(component: str) -> str:
    """Return a component's name for people."""
    return str(_data()["components"].get(component, {}).get("title", component))


# oneDNN's classes that write kernels for one CPU with Xbyak.
_GENERATOR = re.compile(r"4dnnl4impl3cpu3x64\d+jit_(sse41|avx2|avx512_core|avx)")
_FIRST = re.compile(r"_Z+N?[KVrRO]*(\d+)")


def _component(symbol: str) -> str:
    if not symbol:
        return UNKNOWN
    if not symbol.startswith("_Z"):
        found = _names().match(symbol)
        return str(found.lastgroup) if found else OTHER
    if first := _FIRST.match(symbol):
        start = first.end()
        known = _namespaces().get(symbol[start : start + int(first[1][:4])])
        if known:
            return known
    inside = _inside().search(symbol)
    if inside:
        return _namespaces()[inside[1]]
    return "standard" if "St" in symbol[:6] else OTHER


def _guard(component: str, symbol: str) -> str:
    for pattern in _dispatchers().get(component, ()):
        if found := pattern.search(symbol):
            return found["guard"]
    return ""


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((DATA / "components.toml").read_text(encoding="utf-8"))


@cache
def _namespaces() -> Mapping[str, str]:
    return {
        namespace: key
        for key, entry in _data()["components"].items()
        for namespace in entry.get("namespaces", "").split()
    }


@cache
def _inside() -> re.Pattern[str]:
    names = "|".join(f"{len(name)}{name}" for name in _namespaces() if name != "std")
    return re.compile(rf"(?<!\d)(?:(?={names})\d+)({'|'.join(_namespaces())})")


@cache
def _names() -> re.Pattern[str]:
    entries = _data()["components"].items()
    return re.compile(
        "|".join(f"(?P<{key}>{entry['names']})" for key, entry in entries if "names" in entry)
    )


@cache
def _dispatchers() -> Mapping[str, list[re.Pattern[str]]]:
    found: dict[str, list[re.Pattern[str]]] = {}
    for rule in _data()["dispatchers"]:
        found.setdefault(rule["component"], []).append(re.compile(rule["pattern"]))
    return found
