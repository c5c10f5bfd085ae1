"""`tfbuild compare 2017`, and prices on the command line."""

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from jsonschema import Draft202012Validator

from tests.fake_tensorflow import tfbuild_here
from tests.unit.test_compare import subject, suite
from tests.unit.test_cost import published
from tfbuild import artifact

Run = Callable[..., CompletedProcess[str]]
PRICES = f"""
provider = "Somewhere"
region = "west"
currency = "USD"
as_of = {datetime.now(UTC).date()}
source = "made up"
[[price]]
machine = "m-8"
vcpus = 8
per_hour = 3.60
[[price]]
machine = "m-8"
vcpus = 8
per_hour = 0.36
kind = "spot"
"""


def test_the_table_of_the_study_fits_80_columns_and_shows_its_digits(tfbuild: Run) -> None:
    done = tfbuild("compare", "2017", env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout.split("\n2017: ")[0].splitlines()
    assert max(map(len, table)) <= 80
    lines = [line.removeprefix(row["architecture"]) for row in published() for line in table]
    for row in published():
        norms = [f"{float(row[key]):#.4g}x" for key in ("total_time_norm", "total_cost_norm")]
        assert any(all(f" {norm}" in line for norm in norms) for line in lines), row
    assert "preemptible" in done.stdout


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Run a command that ends well, in this process; returns stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[str, str]:
        assert tfbuild_here(monkeypatch, *words) == 0
        return capsys.readouterr()

    return run


def test_json_and_csv_of_the_study(here: Callable[..., tuple[str, str]], tmp_path: Path) -> None:
    schema = json.loads(here("compare", "--json-schema")[0])
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    out, err = here("compare", "2017", "--json", "-o", "here")
    assert err == ""
    document = json.loads(out)
    assert document["schema"] == "tfbuild.study/1"
    assert [error.message for error in validator.iter_errors(document)] == []
    assert not validator.is_valid({**document, "rows": [{}]})
    assert not validator.is_valid({**document, "schema": "tfbuild.study/2"})
    assert json.loads((tmp_path / "here/2017.study.json").read_text()) == document
    lines = list(csv.DictReader((tmp_path / "here/2017.study.csv").read_text().splitlines()))
    assert [float(line["seconds"]) for line in lines] == [
        row["seconds"] for row in document["rows"]
    ]


def test_prices_of_ones_own(here: Callable[..., tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(PRICES)
    words = ["compare", "2017", "--prices", "mine.toml", "--json"]
    out, err = here(*words, "--price-kind", "spot")
    rows = json.loads(out)["rows"]
    amounts = {row["platform"]: row["amount"] for row in rows if row["vcpus"] == 8}
    # The last of them, lstm_text_generation: 1877.9084 s are billed as 1878, at 0.0001 a second.
    assert amounts["cpu8pip"] == pytest.approx(0.1878)
    assert "Note, no price: No price for 16, 32, 64 vCPUs; there are those for 8." in err
    _, err = here("compare", "2017", "--prices", "2017", "--json")
    assert "Note, old prices: The prices are of 2017-07-05" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["2017", "--prices", "mine.toml"], "several kinds: on-demand, spot"),
        (["2017", "--prices", "none.toml"], "Cannot read none.toml"),
        (["2017", "--region", "west"], "--prices 2017"),
        (
            ["2017", "--prices", "2017", "--region", "west"],
            "n1-highcpu-64 (spot, region not stated",
        ),
        (["2017", "python"], "nothing to install"),
        (["python", "2017"], "tfbuild compare 2017"),
    ],
)
def test_refusals(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    (tmp_path / "mine.toml").write_text(PRICES)
    monkeypatch.chdir(tmp_path)
    assert tfbuild_here(monkeypatch, "compare", *words) == 2
    out, err = capsys.readouterr()
    assert said in " ".join(err.split())
    assert out == ""
    assert not (tmp_path / "results").exists()


def test_a_comparison_has_costs_in_its_table_and_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two CPUs at 0.0159105 an hour, 20 epochs of 10 s; the K80 had cost 0.013471404."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    artifact.save(suite(lambda who, _, __: 10 / (1 + who)), tmp_path / "both.suite.json")
    words = ["compare", "both.suite.json", "--prices", "2017"]
    assert tfbuild_here(monkeypatch, *words, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    [row, *_] = document["contrasts"][0]["rows"]
    assert row["architecture"] == "mnist_mlp"
    assert row["baseline"]["cost"]["seconds"] == pytest.approx(200)
    assert row["baseline"]["cost"]["amount"] == pytest.approx(200 / 3600 * 0.0159105)
    expected = 100 / 3600 * 0.0159105 / 0.013471404
    assert row["candidate"]["cost"]["of_k80"] == pytest.approx(expected, rel=1e-5)
    concerns = {each["kind"]: each for each in document["contrasts"][0]["concerns"]}
    assert "2017-07-05" in concerns["old prices"]["what"]
    assert tfbuild_here(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[:-2])) <= 80
    assert f"{expected:.2f}x" in shown or f"{expected:.3f}x" in shown


def test_a_comparison_with_a_file_that_has_no_such_size_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(PRICES)
    artifact.save(suite(lambda who, _, __: 10 / (1 + who)), tmp_path / "both.suite.json")
    artifact.save(suite(lambda *_: 10, subjects=[subject()]), tmp_path / "one.suite.json")
    more = ["--prices", "mine.toml", "--price-kind", "spot"]
    for words in (["compare", "both.suite.json"], ["bench", "one.suite.json"]):
        assert tfbuild_here(monkeypatch, *words, *more) == 0
        assert "No price for 2 vCPUs; there are those for 8." in " ".join(
            capsys.readouterr().out.split()
        )
