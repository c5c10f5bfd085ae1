"""What tfbuild never writes, and no axis could show: results come from strangers."""

from collections.abc import Iterator, Sequence

from tfbuild.bench.suite import Suite
from tfbuild.compare import Comparison, Contrast, Row, Times
from tfbuild.stats import Estimate

_LEAST, _MOST = 1e-12, 1e12
"""Far beyond any time or ratio, and near enough that sums and logarithms stay finite."""


def wrong(comparison: Comparison, suites: Sequence[Suite]) -> Iterator[str]:
    """Yield what is wrong with a comparison, or with the limits of its machine."""
    if not 0 <= comparison.noise <= 1:
        yield "Its noise threshold is no share."
    control = [] if comparison.control is None else [comparison.control]
    contrasts = (*comparison.contrasts, *control)
    for contrast in contrasts:
        yield from _wrong_contrast(contrast)
    if contrasts and comparison.baseline not in [each.baseline for each in contrasts]:
        yield "Its baseline is that of no contrast."
    if not contrasts and not suites:
        yield "It holds no contrast, and names no samples."
    for curve in comparison.curves:
        points = curve.points
        if not points or not all(
            _is_size(each.seconds) and 0 < each.vcpus < _MOST and _is_amount(each.amount)
            for each in points
        ):
            yield "A curve has no points, or one that is no positive number."
    peaks = [peak for suite in suites for peak in suite.peaks if peak is not None]
    if not all(_is_size(peak.gflops) and _is_size(peak.gbytes) for peak in peaks):
        yield "A measured peak is no positive number."


def _wrong_contrast(contrast: Contrast) -> Iterator[str]:
    names = [row.architecture for row in contrast.rows]
    if not names or len(set(names)) < len(names):
        yield "A contrast has no rows, or two of one architecture."
    for row in contrast.rows:
        yield from _wrong_row(row)
    if not _is_estimate(contrast.overall) or not _is_bootstrap(contrast.overall_bootstrap):
        yield "A mean ratio is no positive number, or lies outside its interval."


def _wrong_row(row: Row) -> Iterator[str]:
    for times in (row.baseline, row.candidate):
        if times.architecture != row.architecture:
            yield f"A row of {row.architecture} holds times of {times.architecture}."
        if not _is_right(times):
            yield f"A time or cost of {row.architecture} is no positive number."
    if not _is_estimate(row.speedup) or not _is_bootstrap(row.bootstrap):
        yield f"The ratio of {row.architecture} is no positive number, or outside its interval."


def _is_right(times: Times) -> bool:
    sizes = [times.seconds, times.k80_2017, times.cpu_pip_2017, times.cpu_compiled_2017]
    if times.cost is not None:
        sizes.append(times.cost.of_k80)
        if not _is_amount(times.cost.amount) or not _is_amount(times.cost.price.per_hour):
            return False
    if times.achieved is not None:
        found = times.achieved
        sizes += [found.gflops, found.intensity, found.roof, found.fraction]
        if not 0 <= found.coverage <= 1:
            return False
    return all(each is None or _is_size(each) for each in sizes)


def _is_estimate(value: Estimate) -> bool:
    if value.low is None or value.high is None:
        return _is_size(value.ratio) and value.low is value.high
    # Rounding may put the middle of a bare interval beside it.
    edge = 1 + 1e-9
    return (
        all(map(_is_size, (value.low, value.ratio, value.high)))
        and value.low <= value.ratio * edge
        and value.ratio <= value.high * edge
    )


def _is_bootstrap(value: Estimate | None) -> bool:
    """A skewed sample's ratio may lie outside; there need not even be an interval."""
    return value is None or all(each is None or _is_size(each) for each in (value.low, value.high))


def _is_amount(value: float | None) -> bool:
    return value is None or 0 <= value < _MOST


def _is_size(value: float) -> bool:
    return _LEAST < value < _MOST
