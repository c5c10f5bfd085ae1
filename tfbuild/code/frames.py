"""Where functions begin according to the unwinder's table, which stripping leaves in place.

`.eh_frame_hdr` holds the beginnings in order (Linux Standard Base 5.0, core, 10.6.2).
"""

import numpy as np
from numpy.typing import NDArray

from tfbuild.code.headers import Headers
from tfbuild.code.source import Source

# What GNU ld, gold and lld write: a number of four bytes, then pairs of four bytes that count from
# the table's own address.
_LAYOUT = bytes((1, 0x1B, 0x03, 0x3B))
_HEAD = 12
_MOST = 4_000_000
"""More functions than any real library has."""


def starts(source: Source, head: Headers) -> NDArray[np.int64]:
    """Return the addresses of functions; none where there is no such table, or an odd one."""
    nothing = np.empty(0, np.int64)
    place = head.frames()
    if place is None:
        return nothing
    address, offset, size = place
    first = source.read(offset, _HEAD)
    if len(first) < _HEAD or first[:4] != _LAYOUT or address >= 1 << 62:
        return nothing
    count = int(np.frombuffer(first, f"{head.order}u4", count=1, offset=8)[0])
    if count > _MOST or _HEAD + count * 8 > min(size, head.size - offset):
        return nothing
    pairs = np.frombuffer(source.read(offset + _HEAD, count * 8), f"{head.order}i4")
    found: NDArray[np.int64] = pairs[::2].astype(np.int64) + address
    return found
