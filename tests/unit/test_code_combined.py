"""What several libraries need together, where some of them have no names."""

from tests.evidence import evidence, need, tally
from tfbuild.code.library import combined

NAMED = evidence(need("avx"), total=tally(9000))
STRIPPED = evidence(need("avx"), need("fma4", ""), symbols="none", total=tally(1000))


def test_a_stripped_library_does_not_decide_for_all() -> None:
    found = combined([NAMED, STRIPPED])
    assert found is not None
    assert found.symbols == "full"
    assert found.required == {"avx"}
    assert [each.extension for each in found.unsure] == ["fma4"]
    assert found.total.bytes == 10_000


def test_where_most_is_stripped_all_needs_stand() -> None:
    """The few names there are would make it look older than it may be."""
    small = evidence(need("sse3"), total=tally(10))
    found = combined([STRIPPED, small])
    assert found is not None
    assert found.symbols == "none"
    assert found.required == {"sse3", "avx", "fma4"}
    assert found.unsure == ()


def test_all_with_names() -> None:
    found = combined([NAMED, evidence(need("fma"), total=tally(10))])
    assert found is not None
    assert found.required == {"avx", "fma"}
    assert found.unsure == ()
