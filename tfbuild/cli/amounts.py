"""Amounts as people write them: a share, and a time."""

import math
import re

import typer

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?", re.IGNORECASE)
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}


def share(text: str) -> float:
    """Return 0.02 for "2%" and for "0.02". More than 1 without the sign is refused, being unclear.

    Raises:
        typer.BadParameter: it is neither, negative, or more than 100 %.
    """
    word = str(text).strip()
    number = word.removesuffix("%").strip()
    try:
        value = float(number) / (100 if word.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is no share; write 2% or 0.02.")
    return value


def precision(text: str) -> float:
    """Return a share that an interval can reach: not nothing.

    Raises:
        typer.BadParameter: it is no share, or 0.
    """
    value = share(text)
    if value == 0:
        raise typer.BadParameter(
            "no number of rounds gives an interval without width; write 2% or 0.02."
        )
    return value


def seconds(text: str) -> float:
    """Return the seconds of "90s", "30m", "2h", "1h30m", or of a number without a unit.

    Raises:
        typer.BadParameter: it is no time, or none at all.
    """
    word = str(text).strip().replace(" ", "")
    parts = list(_TIME.finditer(word))
    total = sum(float(part[1]) * _SECONDS[(part[2] or "s").lower()] for part in parts)
    if "".join(part[0] for part in parts) != word or not 0 < total < math.inf:
        raise typer.BadParameter(f"{text!r} is no time; write 90s, 30m, 2h or 1h30m.")
    return total
