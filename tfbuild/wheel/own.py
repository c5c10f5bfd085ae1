"""The record that tfbuild wrote into a wheel when it compiled it, read with suspicion."""

from typing import Any

import msgspec

NAME = "tfbuild.json"
"""In .dist-info."""
_LARGEST = 1 << 20
"""Bytes; ours have some 5,000, and as Python objects JSON may take thirty times its size."""


def decoded(text: bytes) -> dict[str, Any] | None:
    """Return a record, None where it is no JSON object, or far larger than any of ours."""
    if len(text) > _LARGEST:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
