"""Says in sentences what machine code tells, and what it does not."""

from collections.abc import Iterator

from tfbuild.code import components, minimum
from tfbuild.code.evidence import Evidence, Generator, Part, Tally
from tfbuild.wheel.shares import encoded, judged

_ENCODINGS = {"sse": "SSE", "vex": "AVX (VEX)", "evex": "AVX-512 (EVEX)"}
_TOLD = ("eigen", "tensorflow", "onednn", "xla")
"""The components whose code tells whether flags arrived."""
_ENOUGH = 1000
"""Vector instructions from which on a component is worth a sentence."""
_KINDS = {"amx_tile": "AMX", "avx512f": "AVX-512", "avx2": "AVX2", "fma": "FMA", "avx": "AVX"}
"""What checks of the CPU are about, widest first."""


def read(code: Evidence) -> tuple[str, ...]:
    """Return sentences about machine code, most telling first.

    Where the symbol table is gone, what always runs cannot be told from what is chosen at run time:
    then shares are judged, and the sentences say "probably".
    """
    if not code.total.instructions.value:
        return ("It holds no instructions.",)
    if not code.total.vectors:
        return ("It holds no vector instructions: nothing tells which CPU it was compiled for.",)
    if code.symbols != "full":
        return (_vectors("Vector code", code.total), *judged(code.total))
    return tuple(_sentences(code))


def _sentences(code: Evidence) -> Iterator[str]:
    yield _needed(code)
    if weak := sorted(
        {one.guard for need in minimum.binding(code) for one in need.first if one.guard}
    ):
        yield (
            "Some of that stands behind a check of the CPU that does not assure it: "
            f"{', '.join(weak)}."
        )
    if code.unsure:
        yield (
            f"Libraries without names hold {', '.join(need.extension for need in code.unsure)}: "
            "whether that is chosen at run time cannot be told."
        )
    told = [part for part in code.parts if part.component in _TOLD]
    told = [part for part in told if part.always.vectors >= _ENOUGH]
    if told:
        yield from (_compiled(part) for part in told)
    else:
        yield _vectors("Vector code", code.total)
    yield from _dispatched(code)
    yield from map(_generated, code.generators)


def _needed(code: Evidence) -> str:
    found = minimum.of(code)
    seen = "" if code.mode == "full" else ", as far as a sample of its functions shows"
    if not found.required:
        return f"What always runs needs nothing that not every x86-64 CPU has{seen}."
    needs = f"What always runs needs {', '.join(found.required)}{seen}"
    if found.target is None:
        return f"{needs}: no target has {', '.join(found.beyond) or 'all of these'}."
    others = f" ({', '.join(found.others)} would do too)" if found.others else ""
    return f"{needs}: the lowest target that has all is {found.target}{others}."


def _compiled(part: Part) -> str:
    fused = part.always.fused.value / part.always.vectors
    text = _vectors(f"{components.title(part.component)}'s vector code", part.always)
    return f"{text[:-1]}; {percent(fused) if fused else 'none'} of it is fused multiply-adds."


def _vectors(what: str, tally: Tally) -> str:
    shares = {name: encoded(tally, name) for name in _ENCODINGS}
    texts = (f"{percent(share)} {_ENCODINGS[name]}" for name, share in shares.items() if share)
    return f"{what} is {', '.join(texts)}."


def _dispatched(code: Evidence) -> Iterator[str]:
    """Yield who has code for newer CPUs behind a check, by the widest instruction set.

    What code that always runs needs anyway is none for newer CPUs.
    """
    newer = [kind for kind in _KINDS if kind not in code.required]
    found: dict[str, list[str]] = {}
    for part in code.parts:
        if kind := next((kind for kind in newer if part.dispatched.has(kind)), ""):
            found.setdefault(kind, []).append(_owner(part.component))
    for kind, name in _KINDS.items():
        if kind in found:
            yield (
                f"Code for up to {name} that runs only where the CPU has it: "
                f"in {', '.join(found[kind])}."
            )


def _owner(component: str) -> str:
    return "other code" if component == "other" else components.title(component)


def _generated(one: Generator) -> str:
    kinds = f", for CPUs up to {one.extensions[-1]}" if one.extensions else " for the CPU at hand"
    return f"{components.title(one.component)} also writes code at run time{kinds}: in no file."


def percent(share: float) -> str:
    """Return "12 %", "0.4 %" or "< 0.1 %"; never a rounded 0 % or 100 % for part of a thing."""
    if 0 < share < 0.001:  # noqa: PLR2004
        return "< 0.1 %"
    if share in {0, 1} or 0.01 <= share <= 0.99:  # noqa: PLR2004
        return f"{share:.0%}".replace("%", " %")
    return "> 99.9 %" if share > 0.999 else f"{share * 100:.1f} %"  # noqa: PLR2004
