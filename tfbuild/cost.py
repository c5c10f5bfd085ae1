"""What a run costs, from prices that carry their date."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True)
class Price:
    """What one hour of one machine cost, somewhere, on some day."""

    provider: str
    region: str
    machine: str
    """The provider's name for it, or the study's."""
    device: str
    """"cpu" or "gpu"."""
    vcpus: int
    kind: str
    """"on-demand", "spot" (which clouds also call preemptible), or "committed"."""
    currency: str
    """ISO 4217."""
    per_hour: float
    as_of: date
    source: str
    billing_seconds: float = 1.0
    """Time is billed in whole multiples of this."""
    minimum_seconds: float = 0.0
    """Less time than this is billed as this."""


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
