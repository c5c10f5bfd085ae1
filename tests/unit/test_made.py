"""What a build script says is checked before anything is believed."""

from pathlib import Path

import pytest

from tfbuild import made
from tfbuild.errors import BuildError


def test_what_a_later_script_says_is_left_aside(tmp_path: Path) -> None:
    path = tmp_path / made.FILE
    path.write_text('{"compiler": "gcc 12", "options": ["--a"], "colour": "green"}')
    told = made.read(path)
    assert (told.compiler, told.options, told.repositories) == ("gcc 12", ("--a",), None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"options": 3}', '{"source_date_epoch": "x"}'])
def test_damaged(text: str, tmp_path: Path) -> None:
    path = tmp_path / made.FILE
    path.write_text(text)
    with pytest.raises(BuildError, match=r"build\.json cannot be read"):
        made.read(path)
