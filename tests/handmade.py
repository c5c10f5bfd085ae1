"""Evidence made by hand."""

from collections.abc import Mapping, Sequence
from typing import Literal

from tfbuild.code.evidence import Count, Evidence, Generator, Need, Part, Tally, Witness

NOTHING: Mapping[str, int] = {}


def tally(
    *,
    instructions: int = 1_000_000,
    sse: int = 0,
    vex: int = 0,
    evex: int = 0,
    zmm: int = 0,
    fused: int = 0,
    spread: int = 0,
    extensions: Mapping[str, int] = NOTHING,
) -> Tally:
    """Return counts; with `spread`, estimates that far from their bounds."""

    def count(value: int) -> Count:
        return Count(value=value, low=max(0, value - spread), high=value + spread)

    return Tally(
        functions=100,
        bytes=4 * instructions,
        decoded=4 * instructions,
        instructions=count(instructions),
        extensions={name: count(number) for name, number in extensions.items()},
        widths={128: count(sse + vex + evex - zmm), 512: count(zmm)},
        encodings={"sse": count(sse), "vex": count(vex), "evex": count(evex)},
        fused=count(fused),
    )


EMPTY = tally(instructions=0)


def part(component: str, always: Tally, dispatched: Tally = EMPTY) -> Part:
    """Return the code of a component."""
    return Part(component=component, always=always, dispatched=dispatched)


def need(extension: str, *, symbol: str = "_ZN3foo3barEv", guard: str = "") -> Need:
    """Return a need with one witness."""
    witness = Witness(
        function="foo::bar" if symbol else "",
        symbol=symbol,
        address=0x1000,
        library="tensorflow/libtensorflow_cc.so.2",
        component="other",
        instruction="vaddps zmm0,zmm1,zmm2",
        guard=guard,
    )
    return Need(extension=extension, functions=1, first=(witness,))


def evidence(
    *parts: Part,
    needs: Sequence[Need | str] = (),
    unsure: Sequence[Need] = (),
    total: Tally | None = None,
    symbols: Literal["full", "exported", "none"] = "full",
    mode: Literal["full", "sample"] = "full",
    generators: Sequence[Generator] = (),
    machine: str = "x86_64",
) -> Evidence:
    """Return evidence; the total is the first part's unless given."""
    return Evidence(
        machine=machine,
        mode=mode,
        seed=None if mode == "full" else 1,
        symbols=symbols,
        total=total or (parts[0].always if parts else EMPTY),
        parts=parts,
        needs=tuple(need(one) if isinstance(one, str) else one for one in needs),
        generators=tuple(generators),
        unsure=tuple(unsure),
        undecodable=0,
        data=0,
    )
