"""Every ratio as CSV, one architecture of one contrast a row."""

from collections.abc import Iterator

from tfbuild.report.samples import written
from tfbuild.report.value import Report
from tfbuild.report.view import Pair, view
from tfbuild.stats import Estimate

COLUMNS = {
    "baseline": "label of the baseline",
    "candidate": "label of the candidate",
    "control": "1 where the candidate is the baseline once more",
    "architecture": "name of the model, or of the script; empty for the geometric mean over all",
    "baseline_seconds": "for one epoch of the study; empty for the geometric mean",
    "candidate_seconds": "as baseline_seconds",
    "ratio": "baseline's time over the candidate's: more than 1 is faster",
    "low": "end of the interval; empty for one round",
    "high": "end of the interval; empty for one round",
    "confidence": "with which the interval was made",
    "pairs": "rounds",
    "paired": "1 where both were measured in the same session",
    "bootstrap_low": "the same by the BCa bootstrap",
    "bootstrap_high": "the same by the BCa bootstrap",
    "verdict": "faster, slower, equivalent or inconclusive",
}
"""Names of the columns, in order, and what they hold."""


def to_csv(report: Report) -> str:
    """Return CSV text, in the same form as that of the samples."""
    seen = view(report)
    pairs = [*seen.pairs, *([] if seen.control is None else [seen.control])]
    return written(COLUMNS, (row for pair in pairs for row in _rows(pair)))


def _rows(pair: Pair) -> Iterator[dict[str, object]]:
    found = pair.contrast
    who = {
        "baseline": pair.baseline.label,
        "candidate": pair.candidate.label,
        "control": pair.candidate.subject.is_control,
    }
    for row in found.rows:
        yield {
            **who,
            "architecture": row.architecture,
            "baseline_seconds": row.baseline.seconds,
            "candidate_seconds": row.candidate.seconds,
            **_estimated(row.speedup, row.bootstrap),
            "verdict": row.verdict.value,
        }
    yield {
        **who,
        "architecture": None,
        **_estimated(found.overall, found.overall_bootstrap),
        "verdict": found.overall_verdict.value,
    }


def _estimated(value: Estimate, bootstrap: Estimate | None) -> dict[str, object]:
    return {
        "ratio": value.ratio,
        "low": value.low,
        "high": value.high,
        "confidence": value.confidence,
        "pairs": value.pairs,
        "paired": value.paired,
        "bootstrap_low": None if bootstrap is None else bootstrap.low,
        "bootstrap_high": None if bootstrap is None else bootstrap.high,
    }
