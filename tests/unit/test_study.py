"""The table of 2017 against the one that the study published itself."""

import csv
import io
from dataclasses import replace

import pytest

from tests.unit.test_cost import PRICE, published
from tfbuild import prices, study
from tfbuild.bench import ARCHITECTURES


def rows() -> dict[tuple[str, str], dict[str, str]]:
    """Return the published rows by our names."""
    return {(row["architecture"], row["label"].replace("gpu", "k80")): row for row in published()}


def test_all_54_rows_are_those_of_the_study_to_four_digits() -> None:
    found = study.table()
    theirs = rows()
    assert {(row.architecture, row.platform) for row in found.rows} == set(theirs)
    assert len(found.rows) == 54
    for row in found.rows:
        then = theirs[row.architecture, row.platform]
        ours = (row.seconds, row.amount, row.seconds_of_k80, row.amount_of_k80)
        for value, key in zip(ours, list(then)[2:], strict=True):
            assert value == pytest.approx(float(then[key]), rel=1e-5), (row, key)
            assert f"{value:.3e}" == f"{float(then[key]):.3e}", (row, key)


def test_what_is_unlike_is_said() -> None:
    found = study.table()
    assert any("preemptible" in note and "on demand" in note for note in found.notes)
    assert {(price.device, price.kind) for price in found.prices} == {
        ("gpu", "on-demand"),
        ("cpu", "spot"),
    }
    assert [price.vcpus for price in found.prices] == [1, 8, 16, 32, 64]


def test_csv_reads_back_as_the_same_table() -> None:
    found = study.table()
    read = list(csv.DictReader(io.StringIO(study.to_csv(found))))
    assert len(read) == 54
    assert [row["architecture"] for row in read[::9]] == list(ARCHITECTURES)
    for line, row in zip(read, found.rows, strict=True):
        assert float(line["amount_of_k80"]) == row.amount_of_k80
        assert (line["platform"], int(line["epochs"])) == (row.platform, row.epochs)


def test_other_prices_for_the_cpus() -> None:
    """At 3.60 an hour 8 vCPUs cost a tenth of a cent a second; no other size has a price."""
    found = study.table([replace(PRICE, vcpus=8, billing_seconds=0.0)])
    by_platform = {row.platform: row for row in found.rows if row.architecture == "mnist_mlp"}
    eight, sixteen = by_platform["cpu8cmp"], by_platform["cpu16cmp"]
    assert eight.amount == pytest.approx(0.0878402)
    assert eight.amount_of_k80 == pytest.approx(0.0878402 / 0.013471404, rel=1e-5)
    assert (sixteen.amount, sixteen.amount_of_k80, sixteen.machine) == (None, None, None)
    assert by_platform["k80"].amount_of_k80 == 1.0
    assert not any("preemptible" in note for note in found.notes)


def test_euros_have_no_ratio_to_dollars() -> None:
    found = study.table([replace(PRICE, vcpus=8, currency="EUR")])
    row = next(row for row in found.rows if row.platform == "cpu8pip")
    assert (row.currency, row.amount_of_k80) == ("EUR", None)


def test_the_same_prices_by_name_are_the_same_table() -> None:
    chosen = prices.select(prices.find("2017"), prices.Wanted(), source="it")
    assert study.table(chosen) == study.table()
