"""From what was found to a verdict."""

from collections.abc import Sequence

from tfbuild.verify.model import Check

_SHOWN = 20


def judged(
    name: str,
    *,
    good: str,
    faults: Sequence[str] = (),
    oddities: Sequence[str] = (),
    details: Sequence[str] = (),
    why: str = "",
    do: str = "",
) -> Check:
    """Return a check that failed if there are faults, warns if there are oddities, else passed.

    Args:
        name: of the check.
        good: the sentence where nothing was found.
        faults: what makes it fail, one sentence each.
        oddities: what is worth knowing, one sentence each.
        details: the evidence where nothing was found.
        why: the cause, if anything was found.
        do: the next thing to do, if anything was found.
    """
    if not faults and not oddities:
        return Check(name=name, status="passed", found=good, details=tuple(details))
    found = [*faults, *oddities]
    return Check(
        name=name,
        status="failed" if faults else "warning",
        found=found[0] if len(found) == 1 else f"{_count(faults, oddities)}, the first: {found[0]}",
        details=shown(found) if len(found) > 1 else tuple(details),
        why=why,
        do=do,
    )


def shown(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines and how many more there are."""
    more = len(lines) - _SHOWN
    return (*lines[:_SHOWN], f"and {more} more") if more > 0 else tuple(lines)


def skipped(name: str, why: str) -> Check:
    """Return a check that was not done."""
    return Check(name=name, status="skipped", found=why)


def _count(faults: Sequence[str], oddities: Sequence[str]) -> str:
    words = [_number(len(faults), "fault", "faults"), _number(len(oddities), "warning", "warnings")]
    return " and ".join(filter(None, words))


def _number(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""
