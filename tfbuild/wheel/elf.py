"""Facts of a shared library in ELF: its machine, compilers, and needed versions.

Everything here is read from the file's own tables; nothing is loaded or run. Files come from
wheels that nobody has vouched for, so each table must lie inside the file.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.elf.elffile import ELFFile

from tfbuild.errors import WheelError
from tfbuild.wheel import dynamic
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


@contextmanager
def _checked(name: str) -> Iterator[None]:
    # pyelftools answers broken tables with whatever its parsing stumbles over.
    try:
        yield
    except (
        ELFError, ConstructError, struct.error,
        ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise WheelError(
            f"{name} is not a usable shared library.",
            why=f"Its ELF tables are damaged ({type(error).__name__}: {error}).",
        ) from error


def facts(file: BinaryIO, name: str) -> Facts:
    """Read a library's facts from a seekable file; `name` is for messages.

    Raises:
        WheelError: the file is not ELF, or its tables are damaged.
    """
    with _checked(name):
        elf = ELFFile(file)
        size = _size(file)
        asked = dynamic.read(elf, file, size)
        return Facts(
            machine=_machine(elf),
            stripped=elf.get_section_by_name(".symtab") is None,
            comments=_comments(elf, size),
            versions=frozenset(each.name for each in asked.versions if not each.weak),
            dynamic=asked,
        )


def _machine(elf: Any) -> str:  # noqa: ANN401 - pyelftools 0.31 is untyped
    name = str(elf["e_machine"])
    if name == "EM_PPC64" and not elf.little_endian:
        return "ppc64"
    return _MACHINES.get(name, name)


def _size(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)


def _comments(elf: Any, size: int) -> tuple[str, ...]:  # noqa: ANN401
    section = elf.get_section_by_name(".comment")
    if section is None or section["sh_size"] > min(size, _MAX_COMMENT):
        return ()
    texts = (part.decode("utf-8", "replace").strip() for part in section.data().split(b"\0"))
    return tuple(sorted({text for text in texts if text.isprintable() and text}))
