"""Which CPUs can run code: the lowest target, and what is needed beyond a CPU's features."""

from dataclasses import dataclass

from tfbuild import target
from tfbuild.code import components
from tfbuild.code.arrival import arrived, tells, untold
from tfbuild.code.evidence import Evidence, Need
from tfbuild.target import Target

__all__ = [
    "Minimum",
    "arrived",
    "binding",
    "doubtful",
    "excess",
    "lowest",
    "of",
    "runs_on",
    "tells",
    "untold",
]

# PREFETCHW is emitted for CPUs that have it and is a nop on those that do not say so (see
# targets.toml). 3DNow! itself has gone from CPUs, and no compiler emits it: data look like it.
_HARMLESS = frozenset({"3dnow", "3dnowprefetch"})
_MACHINE = "x86_64"


@dataclass(frozen=True, kw_only=True)
class Minimum:
    """The lowest CPU that can run some code."""

    target: str | None
    """Name of the target that needs least among those that can; None where none has all."""
    is_bound: bool
    """Whether it is "at least": from a sample of functions, which may have missed a need."""
    required: tuple[str, ...]
    """Extensions that code which always runs needs, older first."""
    others: tuple[str, ...] = ()
    """Other targets that can, without having all of one that can: "x86-64-v3" beside
    "sandybridge", which has PCLMULQDQ."""
    beyond: tuple[str, ...] = ()
    """Of the required, those that no target promises (AMX, which a process must ask for)."""
    decisive: tuple[Need, ...] = ()
    """Of the needs, those that no other need implies: they rule older CPUs out."""


def of(evidence: Evidence) -> Minimum:
    """Return the lowest CPU that can run code."""
    needs = binding(evidence)
    required = frozenset(need.extension for need in needs)
    found = lowest(required)
    known = frozenset().union(*(one.requires for one in _targets()))
    return Minimum(
        target=found.name if found else None,
        is_bound=evidence.mode == "sample",
        required=tuple(need.extension for need in needs),
        others=tuple(one.name for one in runs_on(required) if one != found),
        beyond=tuple(need.extension for need in needs if need.extension not in known),
        decisive=tuple(need for need in needs if not _is_implied(need.extension, required)),
    )


def binding(evidence: Evidence) -> tuple[Need, ...]:
    """Return the needs less those that a CPU without them runs as nothing."""
    return _beyond(evidence.needs, frozenset())


def lowest(required: frozenset[str]) -> Target | None:
    """Return the target that needs least among those that have all of `required`.

    Of several that need as little, one for any vendor's CPU comes first.
    """
    fit = _fitting(required)
    return min(fit, key=lambda one: (len(one.requires), one.vendor != "generic"), default=None)


def runs_on(required: frozenset[str]) -> tuple[Target, ...]:
    """Return the targets that have all of `required`, less those that have another of them too."""
    fit = _fitting(required)
    return tuple(one for one in fit if not any(one.requires > other.requires for other in fit))


def excess(evidence: Evidence, features: frozenset[str]) -> tuple[Need, ...]:
    """Return what code that always runs needs beyond the features of a target or of a host."""
    return _beyond(evidence.needs, features)


def doubtful(evidence: Evidence, features: frozenset[str]) -> tuple[Need, ...]:
    """Return what code without names holds beyond the features, chosen at run time or not."""
    return _beyond(evidence.unsure, features)


def _beyond(needs: tuple[Need, ...], features: frozenset[str]) -> tuple[Need, ...]:
    harmless = features | _HARMLESS
    return tuple(need for need in needs if need.extension not in harmless)


def _fitting(required: frozenset[str]) -> list[Target]:
    unpromised = target.ignorable(_MACHINE)
    wanted = frozenset().union(*map(components.implied, required - _HARMLESS)) - unpromised
    return [one for one in _targets() if wanted <= one.requires]


def _targets() -> list[Target]:
    return [one for one in target.all_targets() if one.architecture == _MACHINE]


def _is_implied(extension: str, required: frozenset[str]) -> bool:
    """Return whether another of the required is in no CPU without this one, but not vice versa."""
    return any(
        extension in components.implied(other) and other not in components.implied(extension)
        for other in required - {extension}
    )
