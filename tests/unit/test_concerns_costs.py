"""What is said of prices that are old, or lacking."""

from datetime import date, timedelta

import pytest

from tests.unit.test_cost import PRICE
from tfbuild import prices
from tfbuild.concerns import Kind, costs


@pytest.mark.parametrize(("days", "is_old"), [(0, False), (90, False), (91, True), (-1, False)])
def test_prices_are_old_after_90_days(days: int, is_old: bool) -> None:
    found = list(costs.about([PRICE], PRICE.as_of + timedelta(days=days)))
    assert [each.kind for each in found] == [Kind.OLD_PRICES] * is_old
    if is_old:
        assert found[0].what == "The prices are of 2026-11-01, 91 days ago."


def test_the_oldest_counts_and_a_size_without_a_price_is_named() -> None:
    own = prices.select(prices.bundled(), prices.Wanted(), source="it")
    old, lacking = costs.about(own, date(2026, 11, 30), (2, 6, 6, 12))
    assert "2017-07-05" in old.what
    assert lacking.what == "No price for 6, 12 vCPUs; there are those for 2, 4, 8, 16, 32, 64."
    assert list(costs.about(own, date(2017, 8, 1), (2, 8))) == []
    assert list(costs.about((), date(2026, 11, 30), (2,))) == []
