"""How many tags a distribution's WHEEL states, before anybody writes them out."""

from collections.abc import Iterable
from math import prod

MOST = 10_000


def are_too_many(lines: Iterable[str]) -> bool:
    """Return whether lines stand for more tags than any wheel has.

    "a.b-c.d-e" stands for four; a long line would stand for more than memory holds.
    """
    return sum(prod(part.count(".") + 1 for part in line.split("-")) for line in lines) > MOST
