"""Reads the shared libraries of a distribution: their facts and their code."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from packaging.version import InvalidVersion, Version

from tfbuild.code import library
from tfbuild.code.evidence import Evidence
from tfbuild.code.ledger import Library as Opened
from tfbuild.code.source import FileSource
from tfbuild.errors import WheelError
from tfbuild.wheel import elf
from tfbuild.wheel.contents import Files
from tfbuild.wheel.inspection import Library
from tfbuild.wheel.reading import read

_LIBRARY = re.compile(r"\.(so(\.\d+)*|dylib|pyd|dll)$")
# Relative relocations packed by the linker (-z pack-relative-relocs) came with glibc 2.36.
_SPECIAL_VERSIONS = {"GLIBC_ABI_DT_RELR": "GLIBC_2.36"}
_OTHER_FORMATS = {
    b"\xcf\xfa\xed\xfe": "Mach-O",
    b"\xca\xfe\xba\xbe": "Mach-O",
    b"MZ": "PE",
}


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What one library shows."""

    library: Library
    comments: tuple[str, ...] = ()
    """The compilers' own marks."""
    versions: frozenset[str] = frozenset()
    """Symbol versions that it needs."""
    damage: tuple[str, str] | None = None
    """What is wrong with it, and why; None for nothing."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What all libraries show."""

    libraries: tuple[Library, ...]
    """Largest first."""
    compilers: tuple[str, ...]
    """The commonest first."""
    versions: frozenset[str]
    """Symbol versions that some library needs."""
    notes: tuple[str, ...]
    code: Evidence | None
    reading: tuple[str, ...]

    def newest(self, family: str) -> str | None:
        """Return the newest needed version of a family: "GLIBC" gives "2.17"."""
        found = []
        for name in self.versions:
            before, _, version = _SPECIAL_VERSIONS.get(name, name).rpartition("_")
            try:
                found.append(Version(version) if before == family else Version("0"))
            except InvalidVersion:  # GLIBC_PRIVATE
                continue
        newest = max(found, default=Version("0"))
        return str(newest) if newest > Version("0") else None


def names_in(files: Files) -> list[str]:
    """Return the shared libraries of a distribution, largest first."""
    names = [name for name in files.sizes if _LIBRARY.search(name)]
    return sorted(names, key=lambda name: (-files.sizes[name], name))


def examined(files: Files, name: str, *, full: bool) -> Examined:
    """Examine one library.

    Args:
        files: where it is.
        name: which.
        full: decode all code; else a sample, if it is large.

    Raises:
        SaveError: no room to unpack it.
    """
    try:
        with files.open(name) as file:
            return with_code(files, name, file, lambda one: library.evidence(one, full=full))
    except WheelError as error:
        nothing = Library(name=name, size=files.sizes[name], machine=None)
        return Examined(library=nothing, damage=(error.what, error.why))


def with_code(
    files: Files, name: str, file: BinaryIO, decode: Callable[[Opened], Evidence]
) -> Examined:
    """Examine a library that is open as a file; `decode` returns what its code shows.

    Raises:
        WheelError: it is damaged.
    """
    size = files.sizes[name]
    start = FileSource(file.fileno()).read(0, len(elf.MAGIC))
    if start != elf.MAGIC:
        unknown = f"{_format(start)} is not read, only ELF is."
        return Examined(library=Library(name=name, size=size, machine=None, unknown=unknown))
    facts = elf.facts(file, name)
    known = library.is_known(facts.machine)
    return Examined(
        library=Library(
            name=name,
            size=size,
            machine=facts.machine,
            stripped=facts.stripped,
            code=decode(library.opened(FileSource(file.fileno()), name)) if known else None,
            unknown="" if known else f"Code for {facts.machine} is not decoded, only x86 is.",
        ),
        comments=facts.comments,
        versions=facts.versions,
    )


def concluded(found: Sequence[Examined]) -> Findings:
    """Return what all libraries show together, the largest first.

    Raises:
        WheelError: the largest is damaged. Damage to another is only noted.
    """
    if found and found[0].damage:
        what, why = found[0].damage
        raise WheelError(what, why=why)
    each = [one.library for one in found]
    code = library.combined([one.code for one in each if one.code])
    reading = read(code) if code else tuple(f"Unknown: {one.unknown}" for one in each[:1])
    marks = Counter(mark for one in found for mark in one.comments)
    return Findings(
        libraries=tuple(each),
        compilers=tuple(mark for mark, _ in marks.most_common()),
        versions=frozenset(name for one in found for name in one.versions),
        notes=tuple(" ".join(one.damage) for one in found if one.damage),
        code=code,
        reading=reading,
    )


def _format(start: bytes) -> str:
    names = [name for magic, name in _OTHER_FORMATS.items() if start.startswith(magic)]
    return names[0] if names else "a file that is no library"
