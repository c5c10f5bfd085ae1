"""Decodes machine code into instruction forms, as objdump does where bytes are none."""

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from iced_x86 import Decoder, DecoderError, Formatter, FormatterSyntax

from tfbuild.code import extensions
from tfbuild.code.extensions import INVALID
from tfbuild.code.source import Source

LONGEST = 15
"""Bytes of the longest x86 instruction."""
BLOCK = 1 << 20
"""Longer pieces are decoded in blocks of so many bytes."""
_code = attrgetter("code")


class Swept(NamedTuple):
    """What was found in some bytes."""

    codes: list[int]
    """Forms of the instructions, in order; never INVALID."""
    bad: int
    """Bytes that begin no instruction."""
    next: int
    """Where the first instruction after them begins."""


def unpadded(data: bytes, code: int) -> bytes:
    """Return a piece's bytes without zeros beyond what its symbol claims.

    Older linkers pad with zeros, which would decode as additions.
    """
    return data[:code] if _is_zero(data[code:]) else data


def _is_zero(data: bytes) -> bool:
    return data == bytes(len(data))


def straight(bits: int, data: bytes) -> list[int]:
    """Return the forms of instructions, INVALID among them where bytes are none.

    That is the fast way; with INVALID among them, `sweep` tells how to read on.
    """
    return list(map(_code, Decoder(bits, data)))


def sweep(bits: int, data: bytes, first: int, stop: int) -> Swept:
    """Decode instructions that begin from `first` up to `stop`, reading from the data's start.

    After a byte that begins no instruction, the next one may: what objdump does as well.
    """
    decoder = Decoder(bits, data)
    codes: list[int] = []
    bad = position = 0
    while position < stop:
        decoder.position = decoder.ip = position
        for instruction in decoder:
            code, position = instruction.code, instruction.ip
            if code == INVALID or position >= stop:
                break
            if position >= first:
                codes.append(code)
        else:
            return Swept(codes, bad, len(data))
        if position < stop:
            bad += position >= first
            position += 1
    return Swept(codes, bad, position)


def stretch(bits: int, data: bytes, first: int, *, is_end: bool) -> Swept:
    """Decode the instructions that end after `first`, in bytes of which some before that are known.

    Decoding falls into step with the instructions within a few of them. One that the data cut off
    belongs to what follows, unless `is_end` says that nothing does.
    """
    start = _in_step(bits, data, first) if first else 0
    decoder = Decoder(bits, data[start:])
    codes = list(map(_code, decoder))
    if not is_end and decoder.last_error == DecoderError.NO_MORE_BYTES:
        codes.pop()
    if INVALID in codes:
        return sweep(bits, data, start, len(data))
    return Swept(codes, 0, len(data))


def _in_step(bits: int, data: bytes, first: int) -> int:
    """Return where the first instruction begins that ends after `first`."""
    for instruction in Decoder(bits, data[: first + LONGEST]):
        if instruction.next_ip > first:
            return int(instruction.ip)
    return first


def blocks(library: Source, bits: int, offset: int, size: int) -> Iterator[tuple[int, Swept]]:
    """Decode a long piece block by block; yield each block's size and what was found.

    A block of zeros is no code: its size is yielded with nothing found.
    """
    position = 0
    while position < size:
        length = min(BLOCK, size - position)
        data = library.read(offset + position, min(length + LONGEST, size - position))
        if _is_zero(data[:length]):
            yield length, Swept([], 0, length)
            position += length
            continue
        found = sweep(bits, data, 0, length)
        yield found.next, found
        position += max(found.next, 1)


def text_of(library: Source, bits: int, place: tuple[int, int, int], needs: str) -> str:
    """Return the first instruction that needs an extension, "" without one.

    Args:
        library: where to read.
        bits: 64 or 32.
        place: (offset in the file, address, size) of the piece.
        needs: the extension.
    """
    offset, address, size = place
    decoder = Decoder(bits, library.read(offset, min(size, BLOCK)), ip=address)
    for instruction in decoder:
        if instruction.code == INVALID or extensions.is_odd(instruction.code):
            return ""
        if needs in extensions.form(instruction.code).extensions:
            return Formatter(FormatterSyntax.INTEL).format(instruction)
    return ""
