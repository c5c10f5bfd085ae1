"""Reads the shared libraries of a distribution: their facts and their code."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO

from packaging.version import InvalidVersion, Version

from tfbuild.code import library
from tfbuild.code.evidence import Evidence
from tfbuild.code.source import FileSource
from tfbuild.errors import WheelError
from tfbuild.progress import Progress
from tfbuild.wheel import elf
from tfbuild.wheel.contents import Contents
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


@dataclass
class Findings:
    """What accumulates while the libraries are read."""

    libraries: list[Library] = field(default_factory=list)
    """Largest first."""
    compilers: Counter[str] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    """Symbol versions that some library needs."""
    notes: list[str] = field(default_factory=list)
    code: Evidence | None = None
    reading: tuple[str, ...] = ()

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


def examine(contents: Contents, progress: Progress, *, full: bool) -> Findings:
    """Read every shared library.

    Args:
        contents: where they are.
        progress: told the libraries done.
        full: decode all code; else a sample of each larger library.

    Raises:
        WheelError: the largest is damaged. Damage to another is only noted.
        SaveError: no room to unpack one.
    """
    findings = Findings()
    names = [name for name in contents.sizes if _LIBRARY.search(name)]
    names.sort(key=lambda name: (-contents.sizes[name], name))
    progress.phase("Reading shared libraries", len(names))
    for done, name in enumerate(names, 1):
        try:
            findings.libraries.append(_library(contents, name, findings, full=full))
        except WheelError as error:
            if done == 1:
                raise
            findings.notes.append(str(error).replace("\n", " "))
            findings.libraries.append(Library(name=name, size=contents.sizes[name], machine=None))
        progress.step(done, len(names))
    _conclude(findings)
    return findings


def _library(contents: Contents, name: str, findings: Findings, *, full: bool) -> Library:
    with contents.open(name) as file:
        facts = _facts(file, name, findings)
        code, unknown = None, ""
        if facts is None:
            unknown = f"{_format(file)} is not read, only ELF is."
        elif not library.is_known(facts.machine):
            unknown = f"Code for {facts.machine} is not decoded, only x86 is."
        else:
            opened = library.opened(FileSource(file.fileno()), name)
            code = library.evidence(opened, full=full)
    return Library(
        name=name,
        size=contents.sizes[name],
        machine=facts.machine if facts else None,
        stripped=facts.stripped if facts else None,
        code=code,
        unknown=unknown,
    )


def _conclude(findings: Findings) -> None:
    found = findings.libraries
    findings.code = library.combined([each.code for each in found if each.code])
    if findings.code:
        findings.reading = read(findings.code)
    elif found:
        findings.reading = (f"Unknown: {found[0].unknown}",)


def _facts(file: BinaryIO, name: str, findings: Findings) -> elf.Facts | None:
    start = file.read(len(elf.MAGIC))
    file.seek(0)
    if start != elf.MAGIC:
        return None
    facts = elf.facts(file, name)
    findings.compilers.update(facts.comments)
    findings.versions |= facts.versions
    return facts


def _format(file: BinaryIO) -> str:
    file.seek(0)
    start = file.read(4)
    names = [name for magic, name in _OTHER_FORMATS.items() if start.startswith(magic)]
    return names[0] if names else "a file that is no library"
