"""Time and cost against vCPUs, and which size to take."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Point:
    """One size of machine."""

    vcpus: int
    subject: int
    """Index into the suite's subjects."""
    seconds: float
    """Of the study's run; for the geometric mean over architectures, that mean."""
    amount: float | None
    """Its cost in the prices' currency; None without a price for this size."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One wheel and architecture over all sizes."""

    wheel: str
    """The spec."""
    architecture: str
    """"" for the geometric mean over all."""
    points: tuple[Point, ...]
    """By vCPUs, ascending."""
    fastest: int
    """Its vCPUs."""
    cheapest: int | None
    """Its vCPUs; None without prices."""
    pareto: tuple[int, ...]
    """The vCPUs than which no other size is both faster and cheaper, ascending."""
    currency: str | None = None
