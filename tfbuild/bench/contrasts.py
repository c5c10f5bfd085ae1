"""Which contender of a session is set against which."""

from collections.abc import Sequence

from tfbuild.bench.suite import Subject


def pairs(subjects: Sequence[Subject]) -> tuple[tuple[int, int], ...]:
    """Return each baseline with its candidate, as indices into `subjects`; the control stays out.

    Environments are compared in the same setting, with the first as baseline. Where no two share a
    setting, as with one environment in several settings, all stand against the first contender.
    """
    groups: dict[str, list[int]] = {}
    for number, each in enumerate(subjects):
        if not each.is_control:
            groups.setdefault(repr(each.setting), []).append(number)
    if all(len(group) == 1 for group in groups.values()):
        first, *others = (number for group in groups.values() for number in group)
        return tuple((first, other) for other in others)
    return tuple((first, other) for first, *others in groups.values() for other in others)


def control(subjects: Sequence[Subject]) -> tuple[int, int] | None:
    """Return the first contender and its control, None where there is none."""
    found = [number for number, each in enumerate(subjects) if each.is_control]
    return (0, found[0]) if found else None
