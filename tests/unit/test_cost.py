"""What runs cost: amounts reckoned by hand, and the study's own table."""

import csv
from dataclasses import replace
from datetime import date

import pytest

from tests.conftest import DATA
from tfbuild import cost, prices
from tfbuild.cost import Price

PRICE = Price(
    provider="Somewhere",
    region="west",
    machine="m-4",
    device="cpu",
    vcpus=4,
    kind="on-demand",
    currency="USD",
    per_hour=3.60,  # a tenth of a cent a second
    as_of=date(2026, 11, 1),
    source="made up",
)


def published() -> list[dict[str, str]]:
    """Return the rows that the study published."""
    text = (DATA / "study_2017.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in text if not line.startswith("#")))


@pytest.mark.parametrize(
    ("seconds", "step", "minimum", "billed"),
    [
        (61.2, 0, 0, 61.2),
        (61.2, 1, 0, 62),
        (62.0, 1, 0, 62),
        (61.2, 60, 0, 120),
        (60.0, 60, 0, 60),
        (0.1 * 3 * 10, 1, 0, 3),  # 3.0000000000000004 is no fourth second
        (12.0, 1, 60, 60),
        (61.2, 1, 60, 62),
        (12.0, 0, 60, 60),
        (61.2, 60, 90, 120),
        (3601, 3600, 0, 7200),
    ],
)
def test_time_is_billed_in_steps(
    seconds: float, step: float, minimum: float, billed: float
) -> None:
    price = replace(PRICE, billing_seconds=step, minimum_seconds=minimum)
    assert cost.billed(seconds, price) == pytest.approx(billed, rel=1e-12)
    found = cost.of_run("mnist_mlp", seconds, price)
    assert found.amount == pytest.approx(billed * 0.001, rel=1e-12)
    assert found.seconds == seconds


@pytest.mark.parametrize(
    "row", published(), ids=lambda row: f"{row['architecture']}-{row['label']}"
)
def test_each_run_of_the_study_costs_what_it_published(row: dict[str, str]) -> None:
    """Time, cost and both ratios, as its notebook shows them."""
    label, seconds = row["label"], float(row["total_time"])
    price = prices.k80()
    if label != "gpu":
        fitting = prices.fitting(prices.bundled(), int(label.removeprefix("cpu")[:-3]))
        assert fitting is not None
        price = fitting
    found = cost.of_run(row["architecture"], seconds, price)
    assert found.amount == pytest.approx(float(row["total_cost"]), rel=1e-5)
    assert found.of_k80 == pytest.approx(float(row["total_cost_norm"]), rel=1e-5)


def test_currencies_are_never_converted() -> None:
    assert cost.of_run("mnist_mlp", 60, replace(PRICE, currency="EUR")).of_k80 is None
    # 60 s of 0.001 USD over the published 0.013471404 USD of the K80
    assert cost.of_run("mnist_mlp", 60, PRICE).of_k80 == pytest.approx(4.45388, rel=1e-5)


def test_a_script_has_a_cost_and_no_k80() -> None:
    found = cost.of_run("train", 60, PRICE)
    assert found.amount == pytest.approx(0.06)
    assert found.of_k80 is None
    assert cost.k80("train") is None
