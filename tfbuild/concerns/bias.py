"""What an A/A control tells of the machine."""

from collections.abc import Iterator, Mapping

from tfbuild import stats
from tfbuild.concerns.model import Concern, Kind
from tfbuild.stats import Estimate, Verdict

_A_DIFFERENCE = {Verdict.FASTER, Verdict.SLOWER}


def about(control: Mapping[str, Estimate], noise: float) -> Iterator[Concern]:
    """Yield whether an environment was found to differ from itself.

    Each of seven intervals misses by chance once in twenty times; that one of them also misses the
    noise threshold is rarer, and not nothing: so the advice is to measure again, first of all.

    Args:
        control: estimates of the first environment against itself, by what they are of.
        noise: share below which a difference counts as none.
    """
    odd = {name: each for name, each in control.items() if _differs(each, noise)}
    if odd:
        found = ", ".join(f"{name} {each.ratio:.2f}x" for name, each in odd.items())
        yield Concern(
            kind=Kind.BIASED_MACHINE,
            what=f"The same environment measured twice differs from itself: {found}.",
            do="Differences of this size mean nothing here. Repeat with more rounds; if it stays, "
            "look for what runs beside, and for CPUs that change their clock.",
        )


def _differs(estimate: Estimate, noise: float) -> bool:
    return stats.verdict(estimate, noise) in _A_DIFFERENCE
