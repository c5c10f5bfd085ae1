"""A log that is read again after its connection broke."""

from tfbuild.engine.follow import Follow


def test_each_line_comes_once() -> None:
    told: list[str] = []
    log = Follow(told.append)
    whole = ["a", "", "b", "b", "", "c"]
    log.read(whole[:3])
    log.read(whole[:4])
    log.read([])
    log.read(whole)
    assert told == whole


def test_a_line_that_broke_off_comes_whole() -> None:
    told: list[str] = []
    log = Follow(told.append)
    log.read(["first", "sec"])
    log.read(["first", "second", "third"])
    assert told == ["first", "sec", "second", "third"]
