"""The check "python": extension modules against the Python that the tag names."""

import csv
import re
from collections.abc import Iterator
from functools import cache

from packaging.metadata import parse_email
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tfbuild.resources import DATA
from tfbuild.verify.judge import judged, skipped
from tfbuild.verify.model import Check
from tfbuild.verify.subject import Subject
from tfbuild.wheel.elf import Facts

NAME = "python"
_SUFFIX = re.compile(r"\.(cpython-(\d)(\d+)(t?)(d?)|pypy(\d)(\d+)-pp\d+|abi3)[-\w]*\.so$")
_PYTHON = re.compile(r"^libpython(\d)\.(\d+)([a-z]*)\.so")
_NEWEST = 1000
"""Stands for the minor version of a Python that is yet to come."""
_LONGEST = 1000
"""Characters of a Requires-Python; more would keep us comparing for minutes."""
_INTERPRETER = re.compile(r"^(cp|pp|py)(\d)(\d*)$")


def check(subject: Subject) -> Check:
    """Compare the tag's Python with names, needs and Requires-Python."""
    extensions = {
        name: facts
        for name, facts in subject.libraries.items()
        if facts.dynamic.is_there and (_SUFFIX.search(name) or _uses_python(facts))
    }
    if not extensions:
        return skipped(NAME, "It holds no extension module.")
    pythons = sorted({tag.interpreter for tag in subject.name.tags})
    abis = sorted({tag.abi for tag in subject.name.tags})
    return judged(
        NAME,
        good=f"{len(extensions)} libraries that use Python are for {', '.join(pythons)}.",
        faults=[
            *_unbound(extensions, abis),
            *_contradicting(subject),
            *_suffixes(extensions, pythons, abis),
            *_linked(extensions, pythons),
            *_limited(extensions, abis),
            *_absent(extensions, pythons, abis),
            *_requires(subject, pythons),
        ],
        why="Python loads only extension modules that were compiled for its own version.",
        do="Build the wheel with the Python that it is meant for.",
    )


def _uses_python(facts: Facts) -> bool:
    return any(name.startswith(("Py", "_Py")) for name in facts.dynamic.imports)


def _unbound(extensions: dict[str, Facts], abis: list[str]) -> Iterator[str]:
    if abis == ["none"]:
        yield (
            f"The tag says that no Python's binary interface is used, but {len(extensions)} "
            f"libraries use it, such as {next(iter(extensions))}."
        )


def _contradicting(subject: Subject) -> Iterator[str]:
    for interpreter, abi in sorted({(tag.interpreter, tag.abi) for tag in subject.name.tags}):
        if (
            interpreter.startswith("cp")
            and abi.startswith("cp")
            and not abi.startswith(interpreter)
        ):
            yield f"No Python is both {interpreter} and {abi}, as its tag says."


def _suffixes(extensions: dict[str, Facts], pythons: list[str], abis: list[str]) -> Iterator[str]:
    for name in extensions:
        found = _SUFFIX.search(name)
        if found is None:
            continue
        if found[1] == "abi3":
            continue
        made = f"cp{found[2]}{found[3]}" if found[2] else f"pp{found[6]}{found[7]}"
        if made not in pythons or "abi3" in abis:
            yield f"{name} is for {made}; the tag says {', '.join(pythons)}-{', '.join(abis)}."
        elif bool(found[4]) != any(abi.endswith("t") for abi in abis):
            kind = "the free-threaded" if found[4] else "the usual"
            yield f"{name} is for {kind} {made}; the tag says {', '.join(abis)}."
        elif found[5]:
            yield f"{name} is for a debug build of Python, which no tag names."


def _linked(extensions: dict[str, Facts], pythons: list[str]) -> Iterator[str]:
    for name, facts in extensions.items():
        for needed in facts.dynamic.needed:
            found = _PYTHON.match(needed)
            if found is not None:
                version = f"cp{found[1]}{found[2]}"
                other = "" if version in pythons else f", another version than {', '.join(pythons)}"
                yield (
                    f"{name} needs {needed}{other}; a Python that is linked statically has no such "
                    "library."
                )


def _limited(extensions: dict[str, Facts], abis: list[str]) -> Iterator[str]:
    """Yield modules that promise the stable interface and use private names."""
    for name, facts in extensions.items():
        if "abi3" not in abis and not name.endswith(".abi3.so"):
            continue
        private = sorted(each for each in facts.dynamic.imports if each.startswith("_PyRuntime"))
        if private:
            yield f"{name} promises the stable interface but uses {', '.join(private[:3])}."


def _absent(extensions: dict[str, Facts], pythons: list[str], abis: list[str]) -> Iterator[str]:
    """Yield modules that import what a Python for which the tag stands does not export."""
    table = exported()
    for interpreter in pythons:
        found = _INTERPRETER.match(interpreter)
        if found is None or found[1] != "cp" or not found[3]:
            continue
        minor = int(found[3])
        for name, facts in extensions.items():
            for symbol in sorted(facts.dynamic.imports & table.keys()):
                first, last = table[symbol]
                if first > minor:
                    yield f"{name} uses {symbol}, which is not in Python before 3.{first}."
                elif last < minor or ("abi3" in abis and last < _NEWEST):
                    yield f"{name} uses {symbol}, which is not in Python after 3.{last}."


@cache
def exported() -> dict[str, tuple[int, int]]:
    """Return names that not all versions of Python export: first and last minor version."""
    text = (DATA / "python_symbols.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        row["symbol"]: (
            int((row["first"] or "3.0").partition(".")[2]),
            int((row["last"] or f"3.{_NEWEST}").partition(".")[2]),
        )
        for row in rows
    }


def _requires(subject: Subject, pythons: list[str]) -> Iterator[str]:
    raw, _ = parse_email(subject.texts.get("METADATA", b""))
    text = raw.get("requires_python")
    if not text:
        return
    if len(text) > _LONGEST:
        yield f"Requires-Python is {len(text):,} characters long."
        return
    try:
        allowed = SpecifierSet(text)
    except InvalidSpecifier:
        return  # the check "structure" tells
    for name in pythons:
        found = _INTERPRETER.match(name)
        if found is None or not found[3]:
            continue
        versions = [f"{found[2]}.{found[3]}.{patch}" for patch in range(100)]
        if not any(allowed.contains(version) for version in versions):
            yield f"The tag says {name}, but Requires-Python is {text}."
