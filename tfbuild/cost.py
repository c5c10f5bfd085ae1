"""What a run costs, from prices that carry their date."""

import math
from dataclasses import dataclass

from tfbuild import prices, reference
from tfbuild.prices import Price

__all__ = ["Cost", "Price", "billed", "k80", "of_run"]

HOUR = 3600
_WHOLE = 1e-9
"""Share of a billing step by which a time may miss a whole number of them: rounding, not work."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of training one architecture as the study did, all epochs."""

    price: Price
    seconds: float
    """Of the whole run, before rounding up to what is billed."""
    amount: float
    """In the price's currency."""
    of_k80: float | None
    """Over the cost of the K80's run of 2017; None where currencies differ, or none is known."""


def of_run(architecture: str, seconds: float, price: Price) -> Cost:
    """Return what a run costs, and how much that is of what the K80's run cost in 2017.

    Amounts of different currencies are not compared, and those of 2017 are not corrected for
    inflation.

    Args:
        architecture: one of the six, or a script's name, which the K80 never ran.
        seconds: of the whole run: all epochs of the study.
        price: of the machine that it ran on.
    """
    amount = billed(seconds, price) / HOUR * price.per_hour
    then = k80(architecture)
    known = then is not None and then.price.currency == price.currency
    return Cost(
        price=price,
        seconds=seconds,
        amount=amount,
        of_k80=amount / then.amount if then is not None and known else None,
    )


def billed(seconds: float, price: Price) -> float:
    """Return the seconds that have to be paid for."""
    step, least = price.billing_seconds, max(seconds, price.minimum_seconds)
    return least if step == 0 else math.ceil(least / step - _WHOLE) * step


def k80(architecture: str) -> Cost | None:
    """Return what the K80's run of 2017 cost; None for what it never ran."""
    run = reference.runs().get((architecture, reference.GPU))
    if run is None:
        return None
    price = prices.k80()
    amount = billed(run.total_seconds, price) / HOUR * price.per_hour
    return Cost(price=price, seconds=run.total_seconds, amount=amount, of_k80=1.0)
