"""Where a library's bytes come from: an open file, or memory."""

import os
from typing import Protocol

_AT_ONCE = 1 << 26


class Source(Protocol):
    """Bytes that can be read at any place."""

    @property
    def size(self) -> int:
        """How many there are."""

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes of a place, fewer where the source ends."""


class FileSource:
    """The bytes of an open file; its position does not matter and is left alone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes of a place."""
        if offset >= self.size or size <= 0:
            return b""
        size = min(size, self.size - offset)
        first = os.pread(self._descriptor, size, offset)
        if len(first) == size:
            return first
        # The kernel returns at most 2 GB at once.
        parts = [first]
        while parts[-1] and (left := size - sum(map(len, parts))):
            parts.append(os.pread(self._descriptor, min(left, _AT_ONCE), offset + size - left))
        return b"".join(parts)


class MemorySource:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes of a place."""
        return self._data[offset : offset + max(size, 0)]
