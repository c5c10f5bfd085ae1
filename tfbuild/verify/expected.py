"""Which target a wheel claims to be compiled for."""

import re
from collections.abc import Mapping
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion

from tfbuild import target
from tfbuild.errors import UsageError
from tfbuild.target import Target

_WIDTH = re.compile(r"\.w(\d+)(?:\.|$)")


def claimed(file: str, record: Mapping[str, Any] | None = None) -> Target | None:
    """Return the target of a wheel's own record, else of its label; None where neither tells.

    Args:
        file: the wheel's file name.
        record: its own `tfbuild.json`, if it has one; it may say anything.
    """
    return labelled(_label(file), record)


def labelled(label: str, record: Mapping[str, Any] | None = None) -> Target | None:
    """Return the target of what is installed; else as `claimed`.

    Args:
        label: the local part of its version, "skylake.w256"; "" without one.
        record: its own `tfbuild.json`, if it has one; it may say anything.
    """
    named = record.get("target") if record else None
    found = _named(named) if isinstance(named, str) else None
    found = found or _labelled(label)
    width = _WIDTH.search(f".{label}")
    if found is None or width is None:
        return found
    try:
        return found.with_vector_width(int(width[1]))
    except UsageError:
        return found


def _label(file: str) -> str:
    try:
        return parse_wheel_filename(file)[1].local or ""
    except (InvalidWheelFilename, InvalidVersion):
        return ""


def _named(name: str) -> Target | None:
    try:
        return target.find(name)
    except UsageError:
        return None


def _labelled(label: str) -> Target | None:
    """Return the target with the longest label that this one begins with."""
    fit = [one for one in target.all_targets() if f"{label}.".startswith(f"{one.label}.") and label]
    return max(fit, key=lambda one: len(one.label), default=None)
