"""The figures of a report, each a function from a view to a `Figure`, or None without its data."""

from collections.abc import Iterator

from tfbuild.report.charts import costs, curves, forest, k80, roofline, rounds
from tfbuild.report.figure import Figure
from tfbuild.report.view import View


def all_of(view: View) -> Iterator[Figure]:
    """Yield the figures that a report has data for, in the order of the page."""
    for make in (
        forest.figure,
        rounds.figure,
        k80.figure,
        costs.figure,
        curves.figure,
        roofline.figure,
    ):
        found = make(view)
        if found is not None:
            yield found
