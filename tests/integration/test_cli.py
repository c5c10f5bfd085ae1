"""The command line as a whole: help, settings, errors, what it imports."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from tfbuild.cli import app as cli
from tfbuild.cli.app import COMMANDS

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_help_lists_the_commands_in_the_order_of_the_work(tfbuild: Run) -> None:
    done = tfbuild("--help")
    assert done.returncode == 0
    places = [done.stdout.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert "Exit codes" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(tfbuild: Run, command: str) -> None:
    done = tfbuild(command, "--help")
    assert done.returncode == 0
    assert f"tfbuild {command}" in done.stdout.split("Usage:")[1].split("\n", 1)[1]


@pytest.mark.parametrize("command", ["--help", *(f"{name} --help" for name in COMMANDS), "detect"])
def test_help_and_detection_import_nothing_heavy(tmp_path: Path, command: str) -> None:
    heavy = ["tensorflow", "cpuinfo", "docker", "jinja2", "iced_x86", "requests", "numpy", "twine"]
    code = (
        "import sys\n"
        f"sys.argv[1:] = {command.split()!r}\n"
        "from tfbuild.cli import main\n"
        "try:\n    main()\n"
        "finally:\n"
        f"    found = [name for name in {heavy!r} if name in sys.modules]\n"
        "    print('HEAVY', found, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "HEAVY []" in done.stderr


def test_an_unknown_command_is_a_usage_error(tfbuild: Run) -> None:
    done = tfbuild("whel")
    assert done.returncode == 2
    assert "Did you mean 'wheel'?" in done.stderr


def test_settings_of_the_project_reach_the_command_and_the_command_line_wins(
    tfbuild: Run, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tfbuild]\ntarget = "haswell"\n')
    first = tfbuild("render", "-o", "a", "--json")
    assert json.loads(first.stdout)["target"] == "haswell", first.stderr
    variable = tfbuild("render", "-o", "b", "--json", env={"TFBUILD_TARGET": "nehalem"})
    assert json.loads(variable.stdout)["target"] == "nehalem"
    argument = tfbuild(
        "render", "-o", "c", "--json", "--target", "zen", env={"TFBUILD_TARGET": "nehalem"}
    )
    assert json.loads(argument.stdout)["target"] == "zen"


def test_a_wrong_setting_is_told_with_its_file(tfbuild: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tfbuild]\ntarge = "haswell"\n')
    done = tfbuild("targets")
    assert done.returncode == 2
    assert "pyproject.toml" in done.stderr
    assert "Did you mean 'target'?" in done.stderr


def test_a_reader_that_goes_away_gets_no_complaint(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tfbuild targets | head -n 1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_traceback_is_shown_only_when_asked_for(tfbuild: Run) -> None:
    plain = tfbuild("detect", "--cpuinfo", "nowhere")
    asked = tfbuild("--traceback", "detect", "--cpuinfo", "nowhere")
    assert plain.returncode == asked.returncode == 4
    assert "Traceback" not in plain.stderr
    assert "Traceback" in asked.stderr


def test_the_version_is_the_packages(tfbuild: Run) -> None:
    from importlib.metadata import version

    assert tfbuild("--version").stdout == f"tfbuild {version('tfbuild')}\n"


def test_a_terminal_without_utf8_gets_the_whole_result(tfbuild: Run) -> None:
    done = tfbuild("wheel", "--help", env={"PYTHONIOENCODING": "ascii", "COLUMNS": "60"})
    assert done.returncode == 0, done.stderr
    assert "llvm-mirror" in done.stdout


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 11), (errno.ENOEXEC, 1)])
def test_a_full_disk_is_no_defect_wherever_it_shows(
    number: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise OSError(number, os.strerror(number), "/tmp/x")

    monkeypatch.setattr(typer.main, "get_command", lambda _: fail)
    monkeypatch.setattr(cli, "_defaults", lambda _: {})
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == code
    assert ("defect" in capsys.readouterr().err) == (code == 1)
