"""Facts of a shared library in ELF: its machine, compilers, and needed versions.

Everything here is read from the file's own tables; nothing is loaded or run. Files come from
wheels that nobody has vouched for, so each table must lie inside the file.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

from elftools.elf.enums import ENUM_E_MACHINE

from tfbuild.code import headers
from tfbuild.code.headers import Headers
from tfbuild.code.source import FileSource, Source
from tfbuild.wheel import dynamic, notes
from tfbuild.wheel.dynamic import Dynamic

MAGIC = b"\x7fELF"
_MAX_COMMENT = 1 << 20
_MACHINES = {
    "EM_X86_64": "x86_64",
    "EM_386": "i686",
    "EM_AARCH64": "aarch64",
    "EM_ARM": "armv7l",
    "EM_PPC64": "ppc64le",
    "EM_RISCV": "riscv64",
    "EM_S390": "s390x",
}
_NAMES = {number: name for name, number in ENUM_E_MACHINE.items()}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a library's headers say."""

    machine: str
    """"x86_64", "aarch64", or the ELF name of a rarer machine ("EM_MIPS")."""
    stripped: bool
    """Whether the full symbol table is gone (exported symbols remain)."""
    comments: tuple[str, ...]
    """The compilers' own marks: "GCC: (GNU) 7.3.1 20180303"."""
    versions: frozenset[str]
    """Symbol versions without which it does not load: "GLIBC_2.17", "GLIBCXX_3.4.19"."""
    dynamic: Dynamic
    """What it asks of the loader."""
    level: int = 0
    """The level of x86-64 without which the loader refuses it: 3 for x86-64-v3; 0: any."""


def facts(file: BinaryIO, name: str) -> Facts:
    """Read a library's facts from an open file; `name` is for messages.

    Raises:
        WheelError: the file is not ELF, or its tables are damaged.
    """
    source = FileSource(file.fileno())
    head = headers.read(source, name)
    try:
        asked = dynamic.read(head, file)
    except (struct.error, LookupError, OverflowError, ValueError) as error:
        raise head.damaged(f"{type(error).__name__}: {error}") from error
    return Facts(
        machine=_machine(head),
        stripped=not (head.sections["type"] == headers.SYMTAB).any(),
        comments=_comments(source, head),
        versions=frozenset(each.name for each in asked.versions if not each.weak),
        dynamic=asked,
        level=notes.level(head, source),
    )


def _machine(head: Headers) -> str:
    name = _NAMES.get(head.machine, f"EM_{head.machine}")
    if name == "EM_PPC64" and head.order == ">":
        return "ppc64"
    return _MACHINES.get(name, name)


def _comments(source: Source, head: Headers) -> tuple[str, ...]:
    section = head.section(source, ".comment")
    if section is None or section["size"] > min(head.size, _MAX_COMMENT):
        return ()
    data = source.read(int(section["offset"]), int(section["size"]))
    texts = (part.decode("utf-8", "replace").strip() for part in data.split(b"\0"))
    return tuple(sorted({text for text in texts if text.isprintable() and text}))
