"""Counts which instruction sets a library's code uses, by decoding every instruction.

That code *contains* an extension does not mean that it *needs* it: oneDNN, XNNPACK and others carry
kernels for several CPUs and choose at run time.
"""

import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

from iced_x86 import Decoder

from tfbuild.errors import WheelError
from tfbuild.progress import Progress, Silent
from tfbuild.code import extensions
from tfbuild.wheel import elf
from tfbuild.code.extensions import INVALID, ORDER

_BITNESS = {"x86_64": 64, "i686": 32}
_BLOCK = 1 << 20
_STEP = 4 << 20
_MB = 1_000_000
_LONGEST = 15  # bytes of an x86 instruction
_SILENT = Silent()


@dataclass(frozen=True, kw_only=True)
class IsaCounts:
    """How many instructions of a library use what."""

    SCHEMA: ClassVar[str] = "tfbuild.isa"
    VERSION: ClassVar[int] = 1

    machine: str
    """"x86_64" or "i686"."""
    instructions: int
    bytes: int
    """Size of the executable sections."""
    undecodable: int
    """Bytes that are no instruction: data among the code."""
    data: int
    """Bytes not decoded: what a symbol declares to be data, and zeros between functions."""
    extensions: dict[str, int]
    """Instructions by extension, Linux spelling; one counts under each extension that it needs.

    "baseline" is what every x86-64 CPU has, and what older CPUs run as a nop or (tzcnt) as bsf.
    """
    widths: dict[int, int]
    """Instructions by their widest vector operand: 128 (xmm; scalars too), 256, 512 (zmm)."""
    encodings: dict[str, int]
    """Instructions with vector registers by encoding: "sse", "vex" (AVX), "evex" (AVX-512)."""
    fused: int
    """Fused multiply-adds, with and without AVX-512 ("fma" counts the latter only)."""

    @property
    def vectors(self) -> int:
        """Instructions with vector registers."""
        return sum(self.widths.values())


def count(source: Path | bytes, progress: Progress = _SILENT) -> IsaCounts:
    """Disassemble a shared library.

    Args:
        source: the library's file, or its content.
        progress: told the megabytes done.

    Raises:
        WheelError: not an ELF file for x86, or damaged.
    """
    if isinstance(source, bytes):
        return count_open(io.BytesIO(source), "The library", progress)
    try:
        with source.open("rb") as file:
            return count_open(file, source.name, progress)
    except OSError as error:
        raise WheelError(f"Cannot read {source}.", why=error.strerror or str(error)) from error


def is_known(machine: str) -> bool:
    """Return whether this machine's code can be counted."""
    return machine in _BITNESS


def count_open(file: BinaryIO, name: str, progress: Progress = _SILENT) -> IsaCounts:
    """Disassemble a shared library that is open for reading and seeking; else like `count`."""
    machine = elf.facts(file, name).machine
    if machine not in _BITNESS:
        raise WheelError(
            f"The instructions of {name} cannot be counted.",
            why=f"It is for {machine}; only x86 code is decoded.",
        )
    regions = elf.regions(file, name)
    total = sum(region.size for region in regions)
    progress.phase("Reading code (MB)", max(1, total // _MB))
    tally = _Tally(_BITNESS[machine])
    done = told = data = 0
    for region in regions:
        data += region.size if region.is_data else _decode(file, region, tally)
        done += region.size
        if done - told >= _STEP:
            told = done
            progress.step(done // _MB)
    progress.step(max(1, total // _MB))
    return tally.result(machine=machine, size=total, data=data)


def _decode(file: BinaryIO, region: elf.Region, tally: "_Tally") -> int:
    """Decode a region; return the bytes at its end that only pad."""
    done = padding = 0
    while done < region.size - padding:
        wanted = min(_BLOCK, region.size - done)
        file.seek(region.offset + done)
        block = file.read(wanted)
        if not block:
            raise WheelError("The library grew shorter while it was read.")
        is_last = done + wanted == region.size
        if not done and is_last and not any(block[region.code :]):
            # Older linkers pad with zeros, which would decode as additions.
            padding = len(block) - region.code
            block = block[: region.code]
        done += tally.add(block, is_last=is_last)
    return padding


class _Tally:
    """Counts by instruction form; what a form means is looked up once, at the end."""

    def __init__(self, bitness: int) -> None:
        self.bitness = bitness
        self.counts = [0] * extensions.FORMS
        self.undecodable = 0

    def add(self, data: bytes, *, is_last: bool) -> int:
        """Decode bytes that begin with an instruction; return how many were used up.

        Only when `is_last` is false may the data end within an instruction, which is then left.
        """
        counts = self.counts
        before = counts[INVALID]
        instruction = None
        for instruction in Decoder(self.bitness, data):
            counts[instruction.code] += 1
        invalid = counts[INVALID] - before
        counts[INVALID] = before
        if not invalid or instruction is None:
            return len(data)
        if invalid == 1 and instruction.code == INVALID and not is_last and instruction.ip:
            return int(instruction.ip)
        for instruction in Decoder(self.bitness, data):
            counts[instruction.code] -= 1
        counts[INVALID] = before
        return self._add_with_data(data, is_last=is_last)

    def _add_with_data(self, data: bytes, *, is_last: bool) -> int:
        # After a byte that begins no instruction, the next one may: what objdump does as well.
        decoder = Decoder(self.bitness, data)
        position = 0
        while position < len(data):
            decoder.position = position
            instruction = decoder.decode()
            if instruction.code != INVALID:
                self.counts[instruction.code] += 1
                position = decoder.position
            elif not is_last and position and len(data) - position < _LONGEST:
                return position
            else:
                self.undecodable += 1
                position += 1
        return position

    def result(self, *, machine: str, size: int, data: int) -> IsaCounts:
        by_extension: Counter[str] = Counter()
        widths: Counter[int] = Counter()
        encodings: Counter[str] = Counter()
        fused = 0
        for code, number in enumerate(self.counts):
            if not number:
                continue
            form = extensions.form(code)
            by_extension.update(dict.fromkeys(form.extensions, number))
            fused += number * form.is_fused
            if form.encoding:
                widths[form.width] += number
                encodings[form.encoding] += number
        return IsaCounts(
            machine=machine,
            instructions=sum(self.counts),
            bytes=size,
            undecodable=self.undecodable,
            data=data,
            extensions={name: by_extension[name] for name in ORDER if by_extension[name]},
            widths={width: widths[width] for width in (128, 256, 512)},
            encodings={name: encodings[name] for name in ("sse", "vex", "evex")},
            fused=fused,
        )
