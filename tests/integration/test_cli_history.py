"""`tfbuild history` and `--fail-if-slower` from the command line: words, exit codes, documents."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.fake_tensorflow import tfbuild_here
from tests.unit.test_compare import MACHINE
from tests.unit.test_history import session
from tfbuild import artifact

Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A folder of results: two alike, one slower, one of another machine, one without a verdict."""
    made = {
        "a": session(0),
        "b": session(1, machine_takes=1.3),
        "slow": session(2, wheel_takes=1.08),
        "other": session(3, on=replace(MACHINE, brand="Another \x1b[31mCPU")),
        "single": session(4, rounds=1),
    }
    for name, each in made.items():
        artifact.save(each, tmp_path / f"{name}.suite.json")
    return tmp_path


@pytest.fixture
def here(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """Run a command in that folder, in this process; returns code, stdout and stderr."""
    monkeypatch.chdir(measured)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)

    def run(*words: str) -> tuple[int, str, str]:
        code = tfbuild_here(monkeypatch, *words)
        return code, *capsys.readouterr()

    return run


def test_a_slower_wheel_ends_with_12_and_a_slower_machine_does_not(here: Here) -> None:
    limit = ["--fail-if-slower", "3%"]
    code, out, _ = here("history", "add", "a.suite.json")
    assert (code, out.split()[1:]) == (0, ["added", "a.suite.json"])
    code, out, err = here("history", "check", *limit)
    assert (code, err) == (0, "")
    assert "Nothing of this kind was measured on this machine before." in out
    code, out, err = here("history", "check", "b.suite.json", *limit)
    assert (code, err) == (0, "")
    assert out.count(" fine\n") == 3
    assert "each over tensorflow-cpu 2.8.4 of its session" in " ".join(out.split())
    assert "takes 1.30x as long: the machine" in " ".join(out.split())
    code, out, err = here("history", "check", "slow.suite.json", *limit)
    assert code == 12
    assert out.count(" slower\n") == 3
    assert "slower by more than 3 %: mnist_mlp 0.9" in err
    # Looked at only, or let through.
    assert here("history", "check", "slow.suite.json")[0] == 0
    assert here("history", "check", "slow.suite.json", "--fail-if-slower", "15%")[0] == 0


def test_what_stays_open_is_said_and_fails_only_if_asked(here: Here) -> None:
    here("history", "add", "a.suite.json")
    words = ["history", "check", "single.suite.json", "--fail-if-slower", "3%"]
    code, _, err = here(*words)
    assert code == 0
    assert "not known whether slower by more than 3 %" in err
    assert here(*words, "--strict")[0] == 12


def test_github_is_told(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    here("history", "add", "a.suite.json")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    _, _, err = here("history", "check", "slow.suite.json", "--fail-if-slower", "3%")
    [line] = [line for line in err.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=tfbuild history%2C ")
    assert "::Slower by more than 3 %25: mnist_mlp 0.9" in line
    _, out, err = here("history", "check", "single.suite.json", "--fail-if-slower", "3%")
    assert "::warning title=tfbuild history%2C " in err
    assert "::" not in out


def test_the_list_keeps_machines_apart_and_fits_80_columns(here: Here) -> None:
    here("history", "add", *(f"{name}.suite.json" for name in ("slow", "other", "a", "b")))
    code, out, _ = here("history")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("Machine ") == 2
    assert "\x1b" not in out
    assert "(3 sessions)" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("mnist_mlp ")]
    assert [row[1] for row in rows] == ["3", "3", "1", "1"]
    assert rows[1][3] == "1.39x"  # 1.5 / 1.08 times as fast as its baseline
    assert rows[1][4] == "0.93x*"
    # Against the second, whose machine took 1.3 times as long: back to its old speed.
    assert rows[0][4] == "1.30x"
    assert len(rows[1][6]) == 3  # one block a session


def test_documents_keep_what_their_schemas_promise(here: Here) -> None:
    here("history", "add", "a.suite.json", "other.suite.json")
    for words in (["history"], ["history", "check", "slow.suite.json"]):
        _, schema, _ = here(*words[:2], "--json-schema")
        validator = Draft202012Validator(json.loads(schema))
        code, out, err = here(*words, "--json")
        assert (code, err) == (0, "")
        document = json.loads(out)
        assert [error.message for error in validator.iter_errors(document)] == []
        assert not validator.is_valid({**document, "schema": "tfbuild.history/0"})
    document = json.loads(here("history", "check", "slow.suite.json", "--json")[1])
    assert document["elsewhere"] == 1
    assert {each["outcome"] for each in document["findings"][0]["judged"]} == {"slower"}


def test_a_damaged_result_is_said_and_the_rest_is_shown(here: Here, measured: Path) -> None:
    here("history", "add", "a.suite.json", "b.suite.json")
    kept = next((measured / "history/results").iterdir())
    kept.write_text("{")
    code, out, err = here("history")
    assert code == 0
    assert f"Passed over history/results/{kept.name}: " in err
    assert "(1 session)" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["history"], 0, "Nothing is in history"),
        (["history", "check"], 3, "Nothing is in history"),
        (["history", "check", "none.suite.json"], 2, "none.suite.json does not exist"),
        (["history", "check", "a.suite.json", "--against", "0123"], 2, "begin with '0123'"),
        (["history", "check", "a.suite.json", "--fail-if-slower", "3"], 2, "Did you mean 3%?"),
        (["history", "--history-dir", "x", "check"], 2, "stands before check"),
        (["history", "add", "a.suite.json", "--history-dir", "b.suite.json"], 11, "Cannot write"),
        (["history", "add"], 2, "RESULT"),
        (["compare", "a.suite.json", "--fail-if-slower", "much"], 2, "no limit"),
    ],
)
def test_refusals(here: Here, words: list[str], code: int, said: str) -> None:
    found, out, err = here(*words)
    assert (found, out) == (code, ""), err
    assert said in err


def test_settings_of_a_folder_reach_the_list_and_the_commands(here: Here, measured: Path) -> None:
    (measured / "pyproject.toml").write_text('[tool.tfbuild]\nhistory-dir = "kept"\n')
    here("history", "add", "a.suite.json")
    assert len(list((measured / "kept/results").iterdir())) == 1
    assert "(1 session)" in here("history")[1]
    assert here("history", "check")[0] == 0


def test_compare_ends_with_12_when_a_candidate_is_slower_for_sure(
    here: Here, measured: Path
) -> None:
    """The candidate takes two thirds of the baseline's time, or 1.08 times as long."""
    faster = ["compare", "a.suite.json", "--fail-if-slower", "3%"]
    assert here(*faster)[0] == 0
    slow = session(0, wheel_takes=1.5 * 1.08)
    artifact.save(slow, measured / "slower.suite.json")
    code, out, err = here("compare", "slower.suite.json", "--fail-if-slower", "3%", "--json")
    assert code == 12
    assert json.loads(out)["schema"].startswith("tfbuild.comparison/")
    assert "tfbuild compare: slower by more than 3 %: mnist_mlp 0.93x" in err
    assert here("compare", "slower.suite.json", "--fail-if-slower", "12%")[0] == 0
    assert here("compare", "slower.suite.json")[0] == 0
    assert list((measured / "results").glob("slower.comparison.json"))
