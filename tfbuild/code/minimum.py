"""Which CPUs can run code: the lowest target, and what is needed beyond a target's features."""

from dataclasses import dataclass

from tfbuild import target
from tfbuild.code.evidence import Evidence, Need
from tfbuild.target import Target


@dataclass(frozen=True, kw_only=True)
class Minimum:
    """The lowest CPU that can run some code."""

    target: str | None
    """Name of the lowest target, None where none has all that is needed."""
    is_bound: bool
    """Whether it is "at least": from a sample of functions, which may have missed a need."""
    required: tuple[str, ...]
    """Extensions that code which always runs needs, older first."""


def lowest(required: frozenset[str]) -> Target | None:
    """Return the target that needs least among those that have all of `required`."""
    wanted = required - target.ignorable("x86_64")
    fit = [
        (len(one.requires), one.vendor != "generic", number, one)
        for number, one in enumerate(target.all_targets())
        if one.architecture == "x86_64" and wanted <= one.requires
    ]
    return min(fit, key=lambda ranked: ranked[:-1])[-1] if fit else None


def of(evidence: Evidence) -> Minimum:
    """Return the lowest CPU that the evidence allows."""
    found = lowest(evidence.required)
    return Minimum(
        target=found.name if found else None,
        is_bound=evidence.mode == "sample",
        required=tuple(need.extension for need in evidence.needs),
    )


def excess(evidence: Evidence, features: frozenset[str]) -> tuple[Need, ...]:
    """Return what always-run code needs beyond the features of a target or of a host."""
    harmless = features | target.ignorable("x86_64")
    return tuple(need for need in evidence.needs if need.extension not in harmless)


def arrived(evidence: Evidence, one: Target) -> tuple[str, ...]:
    """Return sentences on the target's instructions that are absent where they should be."""
    missing = []
    if "avx" in one.requires and not evidence.total.has("avx"):
        missing.append(f"{one.name} has AVX, and the code does not use it.")
    if "avx512f" in one.requires and not evidence.total.has("avx512f"):
        missing.append(f"{one.name} has AVX-512, and the code does not use it.")
    return tuple(missing)
