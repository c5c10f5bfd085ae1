"""Estimates against builds whose end is known, because they are simulated."""

import random
from collections.abc import Iterator

from tfbuild.engine.remaining import AT_LEAST, Remaining

TOTAL = 12000
PARALLEL = 8


def build(
    total: int, hits: int = 0, *, seed: int = 1, tail: float = 0.0
) -> Iterator[tuple[float, int, int]]:
    """Yield time, done, cached: first `hits` of a cache, then actions of 1 to 20 s.

    With `tail` a last action of so many seconds follows all others.
    """
    chance = random.Random(seed)
    now = 0.0
    for done in range(1, hits + 1):
        now += 0.01
        yield now, done, done
    for done in range(hits + 1, total):
        now += chance.uniform(1, 20) / PARALLEL
        yield now, done, hits
    yield now + tail, total, hits


def estimates(steps: list[tuple[float, int, int]], total: int) -> list[tuple[float, float]]:
    """Return what was really left and what was estimated, for each moment that had an estimate."""
    remaining, told = Remaining(), []
    end = steps[-1][0]
    for now, done, cached in steps:
        remaining.note(now, done, total, cached)
        left = remaining.seconds(now, done, total, PARALLEL)
        if left is not None:
            told.append((end - now, left))
    return told


def test_a_steady_build_is_estimated_well() -> None:
    told = estimates(list(build(TOTAL)), TOTAL)
    assert len(told) > 0.9 * TOTAL
    wrong = [abs(left - real) / real for real, left in told if real > 600]
    assert sum(wrong) / len(wrong) < 0.03
    assert max(wrong) < 0.1


def test_nothing_is_told_before_it_means_anything() -> None:
    steps = list(build(TOTAL))
    told = estimates(steps, TOTAL)
    assert steps[-1][0] - told[0][0] >= AT_LEAST
    assert estimates([step for step in steps if step[0] < AT_LEAST], TOTAL) == []


def test_hits_make_no_pace() -> None:
    """A build that resumes answers most actions in a minute; the rest takes hours."""
    told = estimates(list(build(TOTAL, hits=9000)), TOTAL)
    wrong = [abs(left - real) / real for real, left in told if real > 600]
    assert told
    assert max(wrong) < 0.3
    # Of a pace that counts hits nothing is told: it would promise the end at once.
    assert all(left > real / 2 for real, left in told if real > 600)


def test_nothing_is_told_while_bazel_still_finds_actions() -> None:
    remaining = Remaining()
    for second in range(0, 600, 5):
        remaining.note(float(second), 10 * second, 20 * second + 100, 0)
        assert remaining.seconds(float(second), 10 * second, 20 * second + 100, 8) is None


def test_a_long_last_action_has_no_estimate() -> None:
    """One link of ten minutes at the end: no pace of many small ones tells it."""
    told = estimates(list(build(TOTAL, tail=600)), TOTAL)
    assert not [left for real, left in told if real < 590]
    remaining = Remaining()
    for second in range(0, 1200, 5):
        remaining.note(float(second), second, 1200, 0)
    assert remaining.seconds(1300, 1195, 1200, 1) is None
