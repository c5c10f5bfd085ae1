"""Bars in the terminal: lengths reckoned here by hand, from the logarithms."""

import math

import pytest

from tfbuild.cli import bars
from tfbuild.cli.bars import BLOCKS, PLAIN, Bar

EIGHTHS = dict(zip("▏▎▍▌▋▊▉█", range(1, 9), strict=True))


def length(line: str) -> float:
    """Columns that a line's bar covers; a half block at the left counts a half."""
    return sum({"▐": 0.5}.get(sign, EIGHTHS.get(sign, 0) / 8) for sign in line)


def test_lengths_are_logarithms_of_the_ratios() -> None:
    rows = [
        Bar(label="twice", ratio=2.0),
        Bar(label="half", ratio=0.5),
        Bar(label="more", ratio=1.5),
    ]
    head, *lines = (each.plain for each in bars.drawn(rows, 80, BLOCKS))
    one = head.index("1x")
    assert [line[one] for line in lines] == ["│"] * 3
    # The longest to the right ends at the edge; as much to the left is as long.
    assert length(lines[0]) == pytest.approx(length(lines[1]), abs=0.5)
    assert length(lines[2]) == pytest.approx(length(lines[0]) * math.log2(1.5), abs=1 / 8)
    assert lines[0].index("█") > one > lines[1].rindex("█")
    assert max(map(len, lines)) <= 80


def test_small_differences_stay_small() -> None:
    (line,) = (each.plain for each in bars.drawn([Bar(label="a", ratio=1.02)], 80, BLOCKS)[1:])
    # The scale spans at least a quarter more: 76 columns for log 1.25.
    assert length(line) == pytest.approx(76 * math.log(1.02) / math.log(1.25), abs=1 / 8)


@pytest.mark.parametrize("ratio", [1.0, 1e-6, 1e6, 0.999999, 3.7])
@pytest.mark.parametrize("width", [80, 100, 300])
def test_no_line_is_wider_than_the_terminal(ratio: float, width: int) -> None:
    rows = [Bar(label="imdb_bidirectional_lstm", ratio=ratio), Bar(label="b", ratio=1.3)]
    lines = [each.plain for each in bars.drawn(rows, width, BLOCKS)]
    assert max(map(len, lines)) <= min(width, bars.MOST)
    assert all(line.count("│") == 1 for line in lines[1:])


@pytest.mark.parametrize(
    ("encoding", "signs"),
    [("utf-8", BLOCKS), ("cp437", PLAIN), ("ascii", PLAIN), ("latin-1", PLAIN), ("none", PLAIN)],
)
def test_blocks_only_where_the_encoding_has_them(encoding: str, signs: bars.Signs) -> None:
    assert bars.signs(encoding) is signs


def test_plain_bars_are_ascii() -> None:
    lines = bars.drawn([Bar(label="a", ratio=1.5), Bar(label="b", ratio=0.7)], 80, PLAIN)
    assert all(line.plain.isascii() for line in lines)
    assert "#" in lines[1].plain
    assert lines[2].plain.endswith("|")
