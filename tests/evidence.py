"""Evidence written by hand, for what shows and judges it."""

from collections.abc import Mapping, Sequence
from typing import Literal

from tfbuild.code.evidence import Count, Evidence, Generator, Need, Part, Tally, Witness

LIBRARY = "tensorflow/libtensorflow_cc.so.2"


def count(value: int, spread: int = 0) -> Count:
    """Return a count that is exact, or has an interval of this half width."""
    return Count(value=value, low=value - spread, high=value + spread)


def tally(size: int = 0, spread: int = 0, **extensions: int) -> Tally:
    """Return what code of that many bytes uses, if each instruction needs one extension."""
    evex = sum(number for name, number in extensions.items() if name.startswith("avx512"))
    vex = sum(extensions.get(name, 0) for name in ("avx", "avx2", "fma"))
    sse = extensions.get("sse4_1", 0) + 10 * bool(size)
    return Tally(
        functions=size // 200,
        bytes=size,
        decoded=size // 10 if spread else size,
        instructions=count(size // 5, spread),
        extensions={name: count(number, spread) for name, number in extensions.items()},
        widths={128: count(sse + vex, spread), 512: count(evex, spread)},
        encodings={"sse": count(sse), "vex": count(vex, spread), "evex": count(evex, spread)},
        fused=count(extensions.get("fma", 0), spread),
    )


def part(component: str, always: Tally, dispatched: Tally | None = None) -> Part:
    """Return a component's code."""
    return Part(component=component, always=always, dispatched=dispatched or tally())


def need(
    extension: str,
    function: str = "Eigen::internal::gebp_kernel::operator()",
    instruction: str = "vxorps xmm0,xmm0,xmm0",
    *,
    library: str = LIBRARY,
    functions: int = 1200,
) -> Need:
    """Return a need with one witness."""
    witness = Witness(
        function=function,
        symbol="_ZN5Eigen8internal11gebp_kernelclEv" if function else "",
        address=0x1000,
        library=library,
        component="eigen" if function else "unknown",
        instruction=instruction,
    )
    return Need(extension=extension, functions=functions, first=(witness,))


def evidence(
    *needs: Need,
    parts: Sequence[Part] = (),
    total: Tally | None = None,
    symbols: Literal["full", "exported", "none"] = "full",
    mode: Literal["full", "sample"] = "full",
    generators: Mapping[str, Sequence[str]] | None = None,
) -> Evidence:
    """Return the evidence of one library, or of all."""
    return Evidence(
        machine="x86_64",
        mode=mode,
        seed=1 if mode == "sample" else None,
        symbols=symbols,
        total=total or tally(1_000_000, avx=1000),
        parts=tuple(parts),
        needs=needs,
        generators=tuple(
            Generator(component=name, extensions=tuple(extensions))
            for name, extensions in (generators or {}).items()
        ),
        undecodable=0,
        data=0,
    )
