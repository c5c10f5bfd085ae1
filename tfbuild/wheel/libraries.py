"""Reads the shared libraries of a distribution: the facts of all, the code of the largest."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

from packaging.version import InvalidVersion, Version

from tfbuild.code.evidence import Count, Evidence, Tally
from tfbuild.errors import WheelError
from tfbuild.progress import Progress
from tfbuild.wheel import elf, isa
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


def examine(contents: Contents, progress: Progress) -> Findings:
    """Read every shared library.

    Raises:
        WheelError: the largest is damaged. Damage to another is only noted.
        SaveError: no room to unpack one.
    """
    findings = Findings()
    names = [name for name in contents.sizes if _LIBRARY.search(name)]
    names.sort(key=lambda name: (-contents.sizes[name], name))
    progress.phase("Reading shared libraries", len(names))
    for done, name in enumerate(names[1:], 1):
        findings.libraries.append(_other(contents, name, findings))
        progress.step(done, len(names))
    if names:
        # The largest comes last: its code takes a phase of its own.
        findings.libraries.insert(0, _largest(contents, names[0], findings, progress))
    return findings


def _other(contents: Contents, name: str, findings: Findings) -> Library:
    machine = None
    try:
        with contents.open(name) as file:
            facts = _facts(file, name, findings)
            machine = facts.machine if facts else None
    except WheelError as error:
        findings.notes.append(str(error).replace("\n", " "))
    return Library(name=name, size=contents.sizes[name], machine=machine)


def _largest(contents: Contents, name: str, findings: Findings, progress: Progress) -> Library:
    with contents.open(name) as file:
        facts = _facts(file, name, findings)
        unknown = ""
        if facts is None:
            unknown = f"{_format(file)} is not read, only ELF is."
        elif not isa.is_known(facts.machine):
            unknown = f"Code for {facts.machine} is not decoded, only x86 is."
        else:
            counts = isa.count_open(file, name, progress)
            findings.reading = read(counts)
            findings.code = _evidence(counts, "none" if facts.stripped else "full")
    if unknown:
        findings.reading = (f"Unknown: {unknown}",)
    return Library(
        name=name,
        size=contents.sizes[name],
        machine=facts.machine if facts else None,
        stripped=facts.stripped if facts else None,
        code=findings.code,
        unknown=unknown,
    )


def _evidence(counts: isa.IsaCounts, symbols: Literal["full", "none"]) -> Evidence:
    total = Tally(
        functions=0,
        bytes=counts.bytes,
        decoded=counts.bytes - counts.data,
        instructions=Count.exactly(counts.instructions),
        extensions={key: Count.exactly(value) for key, value in counts.extensions.items()},
        widths={key: Count.exactly(value) for key, value in counts.widths.items()},
        encodings={key: Count.exactly(value) for key, value in counts.encodings.items()},
        fused=Count.exactly(counts.fused),
    )
    return Evidence(
        machine=counts.machine,
        mode="full",
        seed=None,
        symbols=symbols,
        total=total,
        parts=(),
        needs=(),
        generators=(),
        undecodable=counts.undecodable,
        data=counts.data,
    )


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
