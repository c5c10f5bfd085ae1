"""Prices files, from the bundled one to what strangers may write."""

import json
import textwrap
import tomllib
from datetime import date
from pathlib import Path

import pytest

from tests.conftest import need
from tfbuild import prices
from tfbuild.errors import UsageError
from tfbuild.prices import Wanted
from tfbuild.resources import DATA

TODAY = date(2026, 11, 30)
GOOD = {
    "provider": '"Somewhere"',
    "region": '"west"',
    "machine": '"m-4"',
    "vcpus": "4",
    "currency": '"EUR"',
    "per_hour": "0.25",
    "as_of": "2026-11-01",
    "source": '"https://example.org/prices"',
}


def row(**changes: str | None) -> str:
    """Return one [[price]]; None leaves a key out."""
    keys = {**GOOD, **changes}
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    return "[[price]]\n" + "\n".join(lines) + "\n"


def load(folder: Path, text: str) -> tuple[prices.Price, ...]:
    path = folder / "prices.toml"
    path.write_text(text)
    return prices.load(path, today=TODAY)


def test_the_bundled_prices_are_those_of_the_study() -> None:
    """0.745 and 0.060 x 1.0607, doubled for each next size: the constants of its notebook."""
    found = prices.bundled()
    assert prices.find("2017") is found
    assert {price.as_of for price in found} == {date(2017, 7, 5)}
    assert prices.k80().per_hour == 0.745
    assert (prices.k80().kind, prices.k80().device) == ("on-demand", "gpu")
    cpus = {price.vcpus: price for price in found if price.device == "cpu"}
    assert sorted(cpus) == [2, 4, 8, 16, 32, 64]
    for vcpus, price in cpus.items():
        assert price.per_hour == pytest.approx(0.060 * 1.0607 * vcpus / 8, rel=1e-12)
        assert (price.kind, price.currency) == ("spot", "USD")


def test_keys_at_the_top_hold_for_all_that_lack_them(tmp_path: Path) -> None:
    text = 'region = "east"\nbilling_seconds = 60\n' + row(region=None) + row(machine='"m-8"')
    first, second = load(tmp_path, text)
    assert (first.region, second.region) == ("east", "west")
    assert (first.billing_seconds, second.billing_seconds) == (60.0, 60.0)
    assert (first.kind, first.device, first.minimum_seconds) == ("on-demand", "cpu", 0.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no [[price]]"),
        ("price = 3\n", "holds no [[price]]"),
        ("price = [3]\n", "price 1 is no table"),
        ("price = \n", "not valid TOML"),
        (row(per_hours="1"), "Did you mean 'per_hour'?"),
        ("monthly = 3\n" + row(), "unknown key 'monthly'"),
        (row(source=None), "missing required field `source`"),
        (row(as_of=None), "missing required field `as_of`"),
        (row(as_of='"yesterday"'), "as_of"),
        (row(as_of="2026-12-02"), "a day to come"),
        (row(per_hour="-0.1"), "per_hour is -0.1"),
        (row(per_hour="nan"), "per_hour is nan"),
        (row(billing_seconds="inf"), "billing_seconds is inf"),
        (row(minimum_seconds="-1"), "minimum_seconds is -1"),
        (row(per_hour='"0.25"'), "Expected `float`"),
        (row(vcpus="0"), "at least one"),
        (row(vcpus="1" + 30 * "0"), "not that many"),
        (row(per_hour="1e308"), "per_hour is 1e+308"),
        (row(billing_seconds="1e-320"), "billing_seconds is 1e-320"),
        (row(vcpus="2.5"), "Expected `int`"),
        (row(currency='"$"'), "no currency's code of ISO 4217"),
        (row(currency='"UDS"'), "'UDS' is no currency"),
        (row(currency='"eur"'), "'eur' is no currency"),
        (row(kind='"preemptible"'), "preemptible"),
        (row(device='"tpu"'), "tpu"),
        (row(machine='"  "'), "machine is empty"),
        (row() + row(per_hour="0.30"), "two prices for one thing: 1 and 2"),
        (row() + row(machine='"m-8"', vcpus="-8"), "price 2 is not right"),
    ],
)
def test_what_is_no_price_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        load(tmp_path, text)
    assert said in str(refused.value)
    assert "prices.toml" in refused.value.what


def test_files_that_cannot_be_prices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot read"):
        prices.load(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="Cannot read"):
        prices.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'region = "\xe9"\n')
    with pytest.raises(UsageError, match="not valid TOML"):
        prices.load(tmp_path / "latin.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(UsageError, match="not valid TOML"):
        prices.load(tmp_path / "deep.toml")
    (tmp_path / "large.toml").write_text("#" * 1_000_001)
    with pytest.raises(UsageError, match="too large"):
        prices.load(tmp_path / "large.toml")


def test_the_example_in_the_readme_is_a_prices_file(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text()
    block = text.split('    provider = "Some cloud"')[1].split("\n\nThe cost is")[0]
    [price] = load(tmp_path, textwrap.dedent('    provider = "Some cloud"' + block))
    assert (price.machine, price.vcpus, price.per_hour) == ("n2-standard-8", 8, 0.0971)
    assert (price.kind, price.billing_seconds, price.minimum_seconds) == ("spot", 1.0, 60.0)


def test_it_may_already_be_tomorrow_elsewhere(tmp_path: Path) -> None:
    assert load(tmp_path, row(as_of="2026-12-01"))


# --- Which of several ------------------------------------------------------------------------

SEVERAL = "".join(
    row(
        provider=f'"{provider}"',
        region=f'"{region}"',
        kind=f'"{kind}"',
        machine=f'"{family}-{vcpus}"',
        vcpus=str(vcpus),
        currency='"EUR"' if provider == "Ours" else '"USD"',
    )
    for provider, region in (("Ours", "north"), ("Theirs", "north"), ("Theirs", "south"))
    for kind in ("on-demand", "spot")
    for family in ("c", "m")
    for vcpus in (4, 2)
)


@pytest.fixture
def several(tmp_path: Path) -> tuple[prices.Price, ...]:
    return load(tmp_path, SEVERAL)


def test_a_choice_has_one_price_for_each_size(several: tuple[prices.Price, ...]) -> None:
    wanted = Wanted(provider="theirs", region="south", kind="spot", machine="c-*")
    found = prices.select(several, wanted, source="it")
    assert [price.machine for price in found] == ["c-2", "c-4"]
    assert {(p.provider, p.region, p.kind) for p in found} == {("Theirs", "south", "spot")}
    four = prices.fitting(found, 4)
    assert four is not None
    assert four.machine == "c-4"
    assert prices.fitting(found, 3) is None
    assert prices.fitting(found, 8) is None


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(), ["several providers: Ours, Theirs", "--provider"]),
        (Wanted(provider="Theirs"), ["several regions: north, south", "--region"]),
        (Wanted(provider="Ours"), ["several kinds: on-demand, spot", "--price-kind"]),
        (
            Wanted(provider="Ours", kind="spot"),
            ["several prices for 4 vCPUs", "c-4 (spot, north, Ours), m-4", "--machine 'c-*'"],
        ),
        (Wanted(region="west"), ["no such price", "c-4 (on-demand, north, Ours)", "12 more"]),
    ],
)
def test_what_is_not_clear_is_asked(
    several: tuple[prices.Price, ...], wanted: Wanted, said: list[str]
) -> None:
    with pytest.raises(UsageError) as refused:
        prices.select(several, wanted, source="it")
    assert all(each in str(refused.value) for each in said), str(refused.value)


def test_currencies_never_mix(tmp_path: Path) -> None:
    found = load(tmp_path, row() + row(machine='"m-8"', vcpus="8", currency='"CHF"'))
    with pytest.raises(UsageError, match="several currencies: CHF, EUR"):
        prices.select(found, Wanted(), source="it")


def test_a_graphics_card_is_no_size_of_a_cpu() -> None:
    found = prices.select(prices.bundled(), Wanted(), source="it")
    assert [price.vcpus for price in found] == [2, 4, 8, 16, 32, 64]
    assert prices.fitting(prices.bundled(), 1) is None


def test_the_currencies_are_those_of_the_standard() -> None:
    """Against the list that Debian ships."""
    path = Path("/usr/share/iso-codes/json/iso_4217.json")
    need(path.exists(), "Debian's package iso-codes is not here")
    standard = {each["alpha_3"] for each in json.loads(path.read_text())["4217"]}
    ours = set(tomllib.loads((DATA / "currencies.toml").read_text())["codes"].split())
    assert standard - ours <= {"XTS", "XXX"}
    assert len(ours) > 170
