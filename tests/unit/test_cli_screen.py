"""What strangers' files may make a terminal do: show text, and nothing else."""

import io
import re

import pytest
from rich.table import Table
from rich.text import Text

from tfbuild.cli import console
from tfbuild.cli.screen import Screen
from tfbuild.verify.model import Check

# Clears the screen, sets the title, a C1 control sequence, a line printed backwards, half a pair.
HOSTILE = "one\x1b[2Jtwo\x1b]0;title\x07three\x9b31mfour\u202efive\udcffsix\rseven"
SHOWN = "one?[2Jtwo?]0;title?three?31mfour?five?six?seven"


def test_text_is_shown_and_not_obeyed() -> None:
    file = io.StringIO()
    screen = Screen(file=file, width=200)
    table = Table(box=None)
    table.add_column("name")
    table.add_row(Text(HOSTILE))
    screen.print(table)
    screen.print(Text(HOSTILE), soft_wrap=True)
    # Rich itself drops bells and carriage returns.
    shown = [line for line in file.getvalue().splitlines() if "one" in line]
    assert len(shown) == 2
    for line in shown:
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e\udcff]", line)
        assert line.strip().startswith("one?[2Jtwo?]0;title")
        assert "31mfour?five?six" in line


def test_our_own_colours_stay() -> None:
    file = io.StringIO()
    screen = Screen(file=file, force_terminal=True, color_system="standard")
    screen.print(Text("failed", "bold red"))
    assert file.getvalue() == "\x1b[1;31mfailed\x1b[0m\n"


def test_messages_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    console.say(HOSTILE)
    console.error(HOSTILE, why="\x1b[1mbold\x1b[0m", do="line\nby line")
    assert capsys.readouterr().err == (
        f"{SHOWN}\ntfbuild: error: {SHOWN}\n  bold\n  line\n  by line\n"
    )


def test_a_checks_findings_go_through_it(capsys: pytest.CaptureFixture[str]) -> None:
    from tfbuild.cli import verify_shown

    check = Check(name="record", status="failed", found=HOSTILE, details=(HOSTILE,), why=HOSTILE)
    verify_shown.show_checks([check], console.results())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", capsys.readouterr().out)
