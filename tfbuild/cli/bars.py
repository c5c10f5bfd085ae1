"""Speedups as bars from the line at 1, for terminals with block characters and without."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

LABELS = 25
MOST = 100
"""Columns that label and bar have together at most."""
_LEAST_SPAN = math.log(1.25)
"""A scale that is wider than all ratios need: else noise would look like much."""


@dataclass(frozen=True, kw_only=True)
class Signs:
    """What a bar is made of."""

    line: str
    whole: str
    right: tuple[str, ...]
    """Parts of a column that begin at its left, ascending by their size."""
    left: tuple[str, ...]
    """The same from its right: character sets only have a half."""


BLOCKS = Signs(line="│", whole="█", right=("", "▏", "▎", "▍", "▌", "▋", "▊", "▉"), left=("", "▐"))
PLAIN = Signs(line="|", whole="#", right=("",), left=("",))


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row."""

    label: str
    ratio: float
    style: str = ""


def signs(encoding: str) -> Signs:
    """Return blocks where the encoding has them, plain ASCII elsewhere."""
    try:
        "".join((BLOCKS.line, BLOCKS.whole, *BLOCKS.right, *BLOCKS.left)).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS


def drawn(rows: Sequence[Bar], width: int, made_of: Signs) -> list[Text]:
    """Return one line for each bar below a line that names the scale.

    Args:
        rows: at least one; ratios are positive.
        width: columns of the terminal.
        made_of: its characters.
    """
    labels = min(LABELS, max(len(row.label) for row in rows) + 2)
    columns = min(width, MOST) - labels
    logs = [math.log(row.ratio) for row in rows]
    low, high = min(0.0, *logs), max(0.0, *logs)
    span = max(high - low, _LEAST_SPAN)
    # The column of the line is not part of any bar.
    one = round(-low / span * (columns - 1))
    scale = (columns - 1) / span
    # Rounding may have left one side half a column less than its longest bar needs.
    rooms = ((columns - 1 - one, high), (one, -low))
    scale = min([scale, *(room / log for room, log in rooms if log)])
    lines = [Text(" " * (labels + one) + "1x")]
    for row, log in zip(rows, logs, strict=True):
        line = Text(f"{row.label[: labels - 2]:{labels}}")
        line.append_text(_bar(log * scale, one, made_of, row.style))
        lines.append(line)
    return lines


def _bar(length: float, one: int, made_of: Signs, style: str) -> Text:
    """Return a bar of so many columns, to the left where negative, and the line at 1."""
    parts = made_of.right if length >= 0 else made_of.left
    whole, rest = divmod(abs(length), 1)
    part = parts[min(int(rest * len(parts)), len(parts) - 1)]
    body = made_of.whole * int(whole)
    if length >= 0:
        return Text.assemble(" " * one, made_of.line, (body + part, style))
    body = (part + body)[-one:] if one else ""
    return Text.assemble(" " * (one - len(body)), (body, style), made_of.line)
