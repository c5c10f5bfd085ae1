"""Whether a target's instructions are where its flags should have put them.

A compiler that is told of a CPU uses its instructions in every part that it compiles; a build whose
flags did not arrive has none of them there at all. The limits lie between the two. Measured in code
that always runs, on whole libraries (`tfbuild inspect --full --json`), as parts of the vector
instructions (BMI2: of all):

    wheel, its flags                component      VEX or EVEX  EVEX  512 bits  fused   AVX2   BMI2
    tensorflow-cpu 2.8.4            each of these        100 %     0         0      0      0      0
    (-mavx, GCC)
    intel-tensorflow-avx512 2.8.0   Eigen                100 %  45 %      27 %    3 %  0.9 %  0.7 %
    (-march=skylake-avx512, GCC)    TensorFlow           100 %  35 %      12 %    2 %  0.9 %  0.2 %
                                    oneDNN               100 %  41 %      17 %  1.0 %  0.7 %  0.02 %
                                    XLA                  100 %  42 %      15 %  0.1 %  0.2 %  0.1 %

tensorflow-cpu 2.14.1 and 2.18.0, intel-tensorflow 2.14.0 and jaxlib 0.4.38 are like the first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tfbuild.code import components
from tfbuild.code.evidence import Count, Evidence, Tally
from tfbuild.target import Target

WIDE = 512
_ENOUGH = 10_000
_ENOUGH_FOR_AVX = 50
"""With AVX every vector instruction is VEX- or EVEX-encoded, so few tell."""
_WHOLE = "the library"


@dataclass(frozen=True)
class _Sign:
    """Instructions that show that the compiler was told of a feature."""

    feature: str
    """What the target must require for them to be expected."""
    name: str
    limit: float
    """Less than this part of the vector instructions (BMI2: of all) is absence."""
    where: tuple[str, ...]
    """Components that have them, if they have enough vector code."""
    enough: int = _ENOUGH
    """Vector instructions that a component must have."""


_PARTS = ("eigen", "tensorflow", "onednn", "xla")
_SIGNS = (
    _Sign("avx", "AVX", 0.5, (*_PARTS, "mlir", "llvm"), _ENOUGH_FOR_AVX),
    _Sign("avx2", "AVX2", 5e-4, ("eigen", "tensorflow")),
    _Sign("fma", "FMA", 1e-3, ("eigen", "tensorflow")),
    _Sign("bmi2", "BMI2", 2e-5, _PARTS),
    _Sign("avx512f", "AVX-512", 1e-3, _PARTS),
    _Sign("512", "512-bit code", 0.02, ("eigen",)),
)


def arrived(evidence: Evidence, one: Target) -> tuple[str, ...]:
    """Return sentences on the target's instructions that are absent where they should be.

    Of a sample, only what its interval excludes is called absent. Where names tell of no component
    that is known to have such instructions, only their complete absence counts.
    """
    return tuple(text for sign in _expected(one) for text in _missing(sign, evidence))


def tells(evidence: Evidence, one: Target) -> tuple[str, ...]:
    """Return the names of what was expected and could be looked for: ("AVX", "FMA")."""
    return tuple(sign.name for sign in _expected(one) if _parts(sign, evidence))


def untold(evidence: Evidence, one: Target) -> tuple[str, ...]:
    """Return the names of what was expected and of which too little code tells."""
    return tuple(sign.name for sign in _expected(one) if not _parts(sign, evidence))


def _expected(one: Target) -> list[_Sign]:
    return [sign for sign in _SIGNS if _is_expected(sign, one)]


def _is_expected(sign: _Sign, one: Target) -> bool:
    if sign.feature == str(WIDE):
        return one.vector_width == WIDE
    return sign.feature in one.requires


def _missing(sign: _Sign, evidence: Evidence) -> Iterator[str]:
    parts = _parts(sign, evidence)
    without = [name for name, tally in parts.items() if _is_absent(sign, name, tally)]
    if not without:
        return
    having = [name for name in parts if name not in without]
    if having:
        yield (
            f"{sign.name} is in {_names(having)}, but not in {_names(without)}: the flags reached "
            "one and not the other."
        )
    else:
        yield f"{sign.name} is absent from {_names(without)} ({_figures(sign, parts)})."


def _parts(sign: _Sign, evidence: Evidence) -> Mapping[str, Tally]:
    known = {part.component: part.always for part in evidence.parts}
    found = {name: known[name] for name in sign.where if name in known}
    found = {name: tally for name, tally in found.items() if tally.vectors >= sign.enough}
    if found or evidence.total.vectors < sign.enough or _is_known(known):
        return found
    return {_WHOLE: evidence.total}


def _is_known(parts: Mapping[str, Tally]) -> bool:
    """Return whether names tell of components that flags should have reached, if small ones."""
    return any(name in parts and parts[name].vectors >= _ENOUGH for name in _PARTS)


def _is_absent(sign: _Sign, name: str, tally: Tally) -> bool:
    count = _count(sign.feature, tally)
    if name == _WHOLE and sign.feature != "avx":
        return count.high == 0
    return count.high < sign.limit * _whole(sign.feature, tally)


def _whole(feature: str, tally: Tally) -> int:
    return tally.instructions.value if feature == "bmi2" else tally.vectors


def _count(feature: str, tally: Tally) -> Count:
    none = Count.exactly(0)
    if feature == "avx":
        return _sum(tally.encodings.get("vex", none), tally.encodings.get("evex", none))
    if feature == "avx512f":
        return tally.encodings.get("evex", none)
    if feature == str(WIDE):
        return tally.widths.get(WIDE, none)
    return tally.fused if feature == "fma" else tally.extensions.get(feature, none)


def _sum(one: Count, other: Count) -> Count:
    return Count(value=one.value + other.value, low=one.low + other.low, high=one.high + other.high)


def _names(keys: list[str]) -> str:
    names = [key if key == _WHOLE else components.title(key) for key in keys]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _figures(sign: _Sign, parts: Mapping[str, Tally]) -> str:
    found = sum(_count(sign.feature, tally).value for tally in parts.values())
    whole = sum(_whole(sign.feature, tally) for tally in parts.values())
    kind = "instructions" if sign.feature == "bmi2" else "vector instructions"
    return f"{found:,} of {whole:,} {kind}"
