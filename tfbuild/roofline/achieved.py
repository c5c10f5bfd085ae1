"""How much of a machine's measured peak a training reached."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """One architecture in one contender, against the peak of the same contender."""

    coverage: float
    """Share of the model's weights in layers with a formula, 0 to 1; weightless layers aside."""
    gflops: float | None
    """10^9 floating-point operations a second in timed epochs; None below the least coverage."""
    intensity: float | None
    """Operations for each byte that has to be moved at least: an upper bound."""
    roof: float | None
    """The least of peak and intensity times bandwidth, 10^9 operations a second."""
    fraction: float | None
    """`gflops` over `roof`; None below the least coverage, or without a measured peak."""
    bound: str | None
    """"compute" or "memory": which of the two is the roof."""
