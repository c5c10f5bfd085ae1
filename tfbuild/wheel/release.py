"""Which TensorFlow a distribution holds."""

import re
from collections.abc import Callable, Collection

from packaging.version import InvalidVersion, Version

_HEADER = "tensorflow/include/tensorflow/core/public/version.h"


def tensorflow_release(
    names: Collection[str], small: Callable[[str], bytes | None], version: str
) -> str | None:
    """Return the version in TensorFlow's own header, else (newer releases) the distribution's.

    A distribution's version may differ: intel-tensorflow 2.11.0.1 is TensorFlow 2.11.0.

    Args:
        names: the distribution's files.
        small: reads one of them.
        version: the distribution's.
    """
    if not any(name.startswith("tensorflow/python/") for name in names):
        return None
    header = (small(_HEADER) or b"").decode("utf-8", "replace")
    numbers = [
        re.search(rf"#define TF_{part}_VERSION (\d+)", header)
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    if all(numbers):
        suffix = re.search(r'#define TF_VERSION_SUFFIX "([^"]*)"', header)
        return ".".join(n[1] for n in numbers if n) + (suffix[1] if suffix else "")
    try:
        return Version(version).public
    except InvalidVersion:
        return "0"
