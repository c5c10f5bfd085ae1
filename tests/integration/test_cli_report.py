"""`tfbuild report` from the command line to its files."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests import results
from tfbuild import report
from tfbuild.cli import app


@dataclass
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def tfbuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """Run the command line in this process: starting one takes longer than a report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def run(*words: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["tfbuild", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        out, err = capsysbinary.readouterr()
        return Done(int(str(ended.value.code)), out.decode(), err.decode())

    return run


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return results.save(results.two(), tmp_path, "x")


def test_the_page_goes_beside_the_result(tfbuild: Run, result: Path, tmp_path: Path) -> None:
    done = tfbuild("report", result)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"Saved: {tmp_path / 'x.html'}" in done.stderr
    assert (tmp_path / "x.html").read_text() == report.load(result).to_html()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["-o", "r.html"], "to_html"),
        (["-o", "r.md"], "to_markdown"),
        (["-o", "r.csv"], "to_csv"),
        (["-o", "r.json"], "to_json"),
        (["-o", "r.HTM"], "to_html"),
        (["-o", "r.txt", "--format", "markdown"], "to_markdown"),
        (["-o", "r.csv", "--format", "ratios"], "to_ratios_csv"),
    ],
)
def test_the_end_of_the_name_decides_or_the_format(
    tfbuild: Run, result: Path, tmp_path: Path, words: list[str], kind: str
) -> None:
    done = tfbuild("report", result, *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / words[1]).read_text() == getattr(report.load(result), kind)()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["-o", "-"], "to_markdown"),
        (["--format", "csv"], "to_csv"),
        (["--format", "html", "-o", "-"], "to_html"),
    ],
)
def test_the_terminal_gets_the_report_and_nothing_else(
    tfbuild: Run, result: Path, words: list[str], kind: str
) -> None:
    done = tfbuild("report", result, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == getattr(report.load(result), kind)()


def test_a_summary_of_a_step_is_added_to_what_is_there(
    tfbuild: Run, result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = tfbuild("report", result, "--step-summary")
    assert done.returncode == 0
    assert summary.read_text() == f"before\n{report.load(result).to_markdown()}\n"
    assert (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["none.json"], 2, "none.json"),
        (["x.suite.json", "-o", "r.pdf"], 2, "--format"),
        (["x.suite.json", "-o", "x.suite.json"], 2, "the result itself"),
        (["x.suite.json", "-o", "link.json"], 2, "the result itself"),
        (["x.suite.json", "--step-summary"], 2, "GITHUB_STEP_SUMMARY"),
        (["x.suite.json", "-o", "file/r.html"], 11, "Cannot save"),
        (["text.json"], 2, "not JSON"),
        (["unbegun.suite.json"], 3, "No round"),
    ],
)
def test_refusals(
    tfbuild: Run, result: Path, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "text.json").write_text("no")
    (tmp_path / "link.json").symlink_to(result)
    results.save(replace(results.two(), runs=(), finished_at=None), tmp_path, "unbegun")
    before = result.read_bytes()
    done = tfbuild("report", *words)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert result.read_bytes() == before
    assert not list(tmp_path.glob("*.html"))


def test_a_terminal_without_unicode_loses_nothing(result: Path) -> None:
    """The bytes are UTF-8 whatever the terminal says of itself."""
    command = [sys.executable, "-m", "tfbuild", "report", str(result), "-o", "-"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == report.load(result).to_markdown()


def test_ipython_shows_it(result: Path) -> None:
    """IPython's own formatter, as a notebook's kernel uses it."""
    from IPython.core.formatters import DisplayFormatter

    formatter: Any = DisplayFormatter()
    data, _ = formatter.format(report.load(result))
    assert "intel-tensorflow</span> 2.8.0 is" in data["text/html"]
