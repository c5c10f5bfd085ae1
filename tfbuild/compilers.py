"""Which flags a compiler of some age knows for a target; the facts are in data/compilers.toml.

A compiler older than the target gets the nearest flags that it knows. They never say more than the
target has: what the wheel needs stays what the target needs, or less.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from tfbuild.resources import DATA
from tfbuild.target import Target

FAMILIES = {"gcc": "GCC", "clang": "Clang"}
"""Word in a compiler's name -> what people call it."""
_CPU = re.compile(r"-m(?:arch|cpu)=")
_ALWAYS = (0, 0)
_NEVER = (10_000, 0)

Version = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A compiler, as far as a recipe knows it before the build."""

    family: str
    """"gcc" or "clang"."""
    major: int | None
    """None for the one that the image or host has."""

    def __str__(self) -> str:
        name = FAMILIES[self.family]
        return name if self.major is None else f"{name} {self.major}"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Flags for a target, and the versions of one compiler that need them."""

    flags: tuple[str, ...]
    """All of the target's flags, the vector width among them."""
    native: bool
    """Whether they name the target itself."""
    since: Version
    until: Version
    """The last version, included."""


def named(name: str) -> Compiler:
    """Return the compiler of a recipe: "gcc-11", "clang-17", "llvm-18", or "system" (GCC)."""
    family, _, version = name.partition("-")
    word = {"system": "gcc", "llvm": "clang"}.get(family, family)
    return Compiler(family=word, major=int(version) if version else None)


def choices(target: Target, compiler: Compiler) -> tuple[Choice, ...]:
    """Return the flags that the compiler may know for the target, best first; () for none.

    One choice: every version that the compiler can be knows it. Several: the compiler must be
    asked, the first one that it takes is right.
    """
    found = [choice for choice in _all(target, compiler.family) if _possible(choice, compiler)]
    kept: list[Choice] = []
    for choice in found:
        kept.append(choice)
        if _certain(choice, compiler):
            break
    return tuple(kept)


def decided(found: tuple[Choice, ...], compiler: Compiler) -> bool:
    """Return whether the first of these choices is right without asking the compiler."""
    return len(found) == 1 and _certain(found[0], compiler)


def first_native(target: Target, family: str) -> str:
    """Return the oldest version that knows the target itself: "12.3"."""
    return target.gcc if family == "gcc" else target.clang


def _possible(choice: Choice, compiler: Compiler) -> bool:
    if compiler.major is None:
        return True
    return choice.since[0] <= compiler.major <= choice.until[0]


def _certain(choice: Choice, compiler: Compiler) -> bool:
    """Return whether every version that the compiler can be needs, or at least takes, these."""
    if compiler.major is None:
        # GCC 9 is the oldest in a distribution that still gets fixes.
        return choice.native and choice.since <= (9, 1)
    # GCC's releases begin with .1; Clang's grow no flags within a major version.
    first = (compiler.major, 1 if compiler.family == "gcc" else 99)
    return choice.since <= first


def _all(target: Target, family: str) -> tuple[Choice, ...]:
    since = _version(first_native(target, family))
    native = Choice(flags=target.flags, native=True, since=since, until=_NEVER)
    rest = [
        Choice(
            flags=_with_width(row["flags"], target),
            native=False,
            since=_version(row["since"]),
            until=_version(row["until"], last=True),
        )
        for row in _data()["fallbacks"]
        if row["target"] == target.name and row["compiler"] == family
    ]
    return (native, *sorted(rest, key=lambda choice: choice.since, reverse=True))


def _with_width(flags: str, target: Target) -> tuple[str, ...]:
    return (*flags.split(), *(flag for flag in target.flags if not _CPU.match(flag)))


def _version(text: str, *, last: bool = False) -> Version:
    """Return "12.3" as numbers; a missing part is the first or the last that there can be."""
    if not text:
        return _ALWAYS
    major, _, minor = text.partition(".")
    return int(major), int(minor) if minor else 99 if last else 0


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((DATA / "compilers.toml").read_text(encoding="utf-8"))
