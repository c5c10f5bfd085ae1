"""The statistics of a comparison: small and pure.

A measurement is a time. Its natural scale is the logarithm, because machines and wheels are
"so many times" faster, never "so many seconds" faster. The unit of replication is a fresh
process: what is repeated inside one process shares its memory layout and its luck (Kalibera and
Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). Baseline and candidate are
measured close together in one round, so that whatever drifts slowly cancels in their ratio.

An estimate is the mean of the logarithms of the paired ratios, taken back through the
exponential: a geometric mean of ratios. Student's two-sided interval decides; the bootstrap's
stands beside it and assumes no normal distribution.
"""

from tfbuild.stats.bca import bootstrap
from tfbuild.stats.estimate import CONFIDENCE, NOISE, Estimate, Verdict, verdict
from tfbuild.stats.student import (
    exponential,
    from_logs,
    geometric_mean,
    half_widths,
    mean,
    paired,
    spread,
    standard_deviation,
    t_quantile,
    unpaired,
)

__all__ = [
    "CONFIDENCE",
    "NOISE",
    "Estimate",
    "Verdict",
    "bootstrap",
    "exponential",
    "from_logs",
    "geometric_mean",
    "half_widths",
    "mean",
    "paired",
    "spread",
    "standard_deviation",
    "t_quantile",
    "unpaired",
    "verdict",
]
