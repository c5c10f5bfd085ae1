"""Tells by its name whose code a function is, and whether a check of the CPU guards it.

The facts are `data/components.toml` and `data/dispatchers.toml`, which also say where they come
from. A library has hundreds of thousands of functions, so a name costs a few microseconds.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from tfbuild import target
from tfbuild.resources import DATA

OTHER = "other"
UNKNOWN = "unknown"
STANDARD = "standard"
_LONGEST = 4000
"""Characters of a name that count."""


class Place(NamedTuple):
    """Where a function belongs."""

    component: str
    """Key of data/components.toml."""
    guard: str
    """The check of the CPU before it runs, a key of data/dispatchers.toml; "" if none is known."""


def place(symbol: str, source: str) -> Place:
    """Return whose a function is.

    Args:
        symbol: its name as the symbol table has it, "" without one.
        source: the source file that the table names for it, "" if none.
    """
    table, symbol = _table(), symbol[:_LONGEST]
    component = table.component(symbol, source)
    rules = table.rules if symbol[:2] == "_Z" else table.plain_rules
    for holds, rule in rules.get(component) or rules[""]:
        if holds in symbol and (guard := rule.guard(symbol, source)):
            return Place(component, guard)
    return table.unguarded[component]


@cache
def of_library(name: str) -> Place | None:
    """Return whose all code of a library is that is released without names; None for most.

    Args:
        name: its file's name.
    """
    for entry in _dispatchers()["libraries"]:
        if re.search(entry["file"], name):
            return Place(entry["component"], entry["guard"])
    return None


@cache
def promises(guard: str) -> frozenset[str]:
    """Return the extensions that a guard's check has assured; none for an unknown guard."""
    guards = _dispatchers()["guards"]
    found: set[str] = set()
    left = guards.get(guard, "").split() or _of_cpu(guard)
    while left:
        word = left.pop()
        if word == "*":
            return frozenset(_dispatchers()["implies"])
        if word.startswith("@"):
            left += guards[word[1:]].split()
        else:
            found |= implied(word)
    return frozenset(found)


def _of_cpu(guard: str) -> list[str]:
    """Return what a CPU has that a guard names as GCC's target_clones does: "arch_haswell"."""
    march = guard.removeprefix("arch_") if guard.startswith("arch_") else ""
    return [
        feature
        for one in target.all_targets()
        if one.march.replace("-", "_") == march
        for feature in sorted(one.requires)
    ]


@cache
def implied(extension: str) -> frozenset[str]:
    """Return what every CPU has that has an extension, itself included."""
    found: set[str] = set()
    left = [extension]
    while left:
        word = left.pop()
        if word not in found:
            found.add(word)
            left += _dispatchers()["implies"].get(word, "").split()
    return frozenset(found)


def generator(symbol: str) -> tuple[str, str] | None:
    """Return (component, extension) where a name tells of a generator of code at run time."""
    symbol = symbol[:_LONGEST]
    for component, holds, find, fixed in _generators():
        if holds in symbol and (found := find(symbol)):
            kinds = _dispatchers()["generated"]
            return component, str(kinds[found["kind"]] if fixed is None else fixed)
    return None


def title(component: str) -> str:
    """Return a component's name for people."""
    return str(_components().get(component, {}).get("title", component))


_FIRST = re.compile(r"_Z+N?[KVrRO]*(\d{1,3})").match
_STANDARD = re.compile(r"_Z+N?[KVrRO]*S[tabsiod]").match
_Find = Callable[[str], re.Match[str] | None]


@dataclass(frozen=True)
class _Rule:
    in_symbol: _Find | None
    in_file: _Find | None
    fixed: str
    prefix: str

    def guard(self, symbol: str, source: str) -> str:
        found = self.in_symbol(symbol) if self.in_symbol else None
        if found is None and self.in_file and source:
            found = self.in_file(source)
        if found is None:
            return ""
        return self.fixed or self.prefix + found["guard"].lower()


@dataclass(frozen=True)
class _Table:
    namespaces: Mapping[str, str]
    """Component by namespace."""
    inside: _Find
    """Finds the first known namespace with its length before it, as mangling writes it."""
    names: _Find
    files: _Find
    rules: Mapping[str, Sequence[tuple[str, _Rule]]]
    """By component, those for anybody included; under "" these alone. Before each the text that a
    name must hold."""
    plain_rules: Mapping[str, Sequence[tuple[str, _Rule]]]
    """The same with those that no C++ name can match."""
    unguarded: Mapping[str, Place]

    def component(self, symbol: str, source: str) -> str:
        if first := _FIRST(symbol):
            start = first.end()
            if known := self.namespaces.get(symbol[start : start + int(first[1])]):
                return known
        if symbol[:2] == "_Z" or symbol[:8] == "_GLOBAL_":
            if found := self.inside(symbol):
                return self.namespaces[found[1].lstrip("0123456789")]
            return _group(self.files, source) or (STANDARD if _STANDARD(symbol) else OTHER)
        if not symbol:
            return UNKNOWN
        return _group(self.names, symbol) or _group(self.files, source) or OTHER


def _group(match: _Find, text: str) -> str:
    found = match(text) if text else None
    return (found.lastgroup or "") if found else ""


@cache
def _table() -> _Table:
    components, entries = _components(), _dispatchers()["dispatchers"]
    namespaces = {
        namespace: key
        for key, entry in components.items()
        for namespace in entry.get("namespaces", "").split()
    }
    return _Table(
        namespaces=namespaces,
        inside=_inside([name for name, key in namespaces.items() if key != STANDARD]),
        names=_alternatives("names"),
        files=_alternatives("files"),
        rules=_rules([entry for entry in entries if not _is_plain(entry)]),
        plain_rules=_rules(entries),
        unguarded={key: Place(key, "") for key in components},
    )


def _inside(namespaces: Sequence[str]) -> _Find:
    by_length: dict[int, list[str]] = {}
    for name in namespaces:
        by_length.setdefault(len(name), []).append(name)
    choices = (f"{length}(?:{'|'.join(names)})" for length, names in sorted(by_length.items()))
    return re.compile(rf"(?<!\d)({'|'.join(choices)})").search


def _alternatives(key: str) -> _Find:
    entries = _components().items()
    choices = (f"(?P<{name}>{entry[key]})" for name, entry in entries if key in entry)
    return re.compile("".join("|".join(choices).split())).match


def _is_plain(entry: Mapping[str, str]) -> bool:
    """Return whether a rule can only match names without C++ mangling, which are few."""
    return all(
        part.startswith("^") for part in re.split(r"\|(?=\^)", entry.get("symbol", ""))
    ) and ("^_Z" not in entry.get("symbol", "") and "file" not in entry)


def _rules(entries: Sequence[Mapping[str, str]]) -> Mapping[str, Sequence[tuple[str, _Rule]]]:
    found: dict[str, list[tuple[str, _Rule]]] = {"": []}
    for entry in entries:
        rule = _Rule(
            in_symbol=_finder(entry.get("symbol")),
            in_file=_finder(entry.get("file")),
            fixed=entry.get("guard", ""),
            prefix=entry.get("prefix", ""),
        )
        found.setdefault(entry.get("component", ""), []).append((entry.get("holds", ""), rule))
    return {key: (*rules, *(found[""] if key else ())) for key, rules in found.items()}


def _finder(text: str | None) -> _Find | None:
    if text is None:
        return None
    pattern = re.compile(text)
    # Else a search would go on through the name although only its beginning can match.
    return pattern.match if text.startswith("^") and "|^" not in text else pattern.search


@cache
def _components() -> Mapping[str, Any]:
    text = (DATA / "components.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)["components"])


@cache
def _dispatchers() -> Mapping[str, Any]:
    return tomllib.loads((DATA / "dispatchers.toml").read_text(encoding="utf-8"))


@cache
def _generators() -> Sequence[tuple[str, str, _Find, str | None]]:
    return [
        (
            entry["component"],
            entry["holds"],
            re.compile(entry["symbol"]).match,
            entry.get("extension"),
        )
        for entry in _dispatchers()["generators"]
    ]
