"""The tables of `inspect`: what machine code uses, by component and altogether."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from tfbuild.code.evidence import Count, Evidence, Need, Part, Tally, Witness

FAMILIES = {
    "AVX": ("avx",),
    "FMA": ("fma", "fma4"),
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni", "avx_vnni_int8", "avx_vnni_int16"),
    "AMX": ("amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "amx_complex"),
}
"""Columns of the table of components, older before newer."""
BEST = ("AMX", "AVX-512", "VNNI", "AVX2", "FMA", "AVX")
"""Those columns, what a kernel gains most by first."""
NARROW = ("AVX", "FMA", "AVX2", "AVX-512")
"""Those that fit a terminal of 80 columns."""
_MB = 1_000_000
_WIDE = 100
_BESIDE = 116
"""From here on, tables with intervals fit side by side."""
_SMALL = 0.002
"""Components with less of the code than this, and nothing to tell, are shown together."""
_ENCODINGS = {"sse": "SSE", "vex": "AVX (VEX)", "evex": "AVX-512 (EVEX)"}
_WIDTHS = {128: "xmm, 128 bits", 256: "ymm, 256 bits", 512: "zmm, 512 bits"}


def show(code: "Evidence", out: "Console") -> None:
    """Print the evidence of one library, or of a wheel's libraries together."""
    from tfbuild.code import minimum

    out.print(_components(code, wide=out.width >= _WIDE))
    if needs := minimum.binding(code):
        out.print()
        _show_needs(needs, out)
    out.print()
    _show_counts(code, out)


def _components(code: "Evidence", *, wide: bool) -> Table:
    table = _table()
    columns = tuple(FAMILIES) if wide else NARROW
    table.add_column("\ncomponent", no_wrap=True)
    table.add_column("code\nbytes", justify="right", no_wrap=True)
    for place, name in enumerate(columns):
        table.add_column(f"{'' if place else 'always'}\n{name}", justify="right", no_wrap=True)
    table.add_column("chosen at\nrun time", overflow="fold")
    shown, rest = _split(code)
    always = families(code.required)
    for part in shown:
        table.add_row(*_cells(part, columns, always))
    if rest:
        size = sum(part.always.bytes + part.dispatched.bytes for part in rest)
        cells = [_sum(rest, name) for name in columns]
        table.add_row(f"{len(rest)} smaller ones", short(size), *cells, "")
    return table


def _split(code: "Evidence") -> tuple[list["Part"], list["Part"]]:
    """Return the parts worth a line of their own, and the others."""
    least = code.total.bytes * _SMALL
    shown: list[Part] = []
    rest: list[Part] = []
    for part in code.parts:
        size = part.always.bytes + part.dispatched.bytes
        (shown if size >= least or part.dispatched.bytes else rest).append(part)
    return (shown, rest) if len(rest) > 1 else (list(code.parts), [])


def _cells(part: "Part", columns: Iterable[str], always: Collection[str]) -> list[str]:
    from tfbuild.code import components

    whole = part.always.bytes + part.dispatched.bytes
    counts = [short(_of(part.always, name)) for name in columns]
    return [
        components.title(part.component),
        short(whole),
        *counts,
        ", ".join(beyond(part.dispatched, always)),
    ]


def _sum(parts: Iterable["Part"], family: str) -> str:
    return short(sum(_of(part.always, family) for part in parts))


def _of(tally: "Tally", family: str) -> int:
    if family == "AVX-512":
        # Every EVEX instruction needs some subset, not each of them avx512f.
        count = tally.encodings.get("evex")
        return count.value if count else 0
    return sum(tally.has(name) for name in FAMILIES[family])


def beyond(dispatched: "Tally", always: Collection[str]) -> list[str]:
    """Return the families that code chosen at run time has beyond what always runs."""
    return [name for name in FAMILIES if name not in always and _of(dispatched, name)]


def families(extensions: Iterable[str]) -> list[str]:
    """Return the families that these extensions belong to: ["AVX", "FMA"]."""
    given = set(extensions)
    if any(name.startswith("avx512") for name in given):
        given.add("avx512f")
    return [name for name, members in FAMILIES.items() if given & set(members)]


def told(extensions: Iterable[str]) -> list[str]:
    """Return the families, and F16C where no later one says it: it rules Sandy Bridge out."""
    given = set(extensions)
    found = families(given)
    return [*found, "F16C"] if "f16c" in given and set(found) <= {"AVX"} else found


def widest(dispatched: "Tally", always: Collection[str]) -> str:
    """Return the family that a choice at run time gains most by, "" if none is beyond `always`."""
    found = beyond(dispatched, always)
    return next((name for name in BEST if name in found), "")


def _show_needs(needs: Iterable["Need"], out: "Console") -> None:
    table = _table()
    table.add_column("needs", no_wrap=True)
    table.add_column("functions", justify="right", no_wrap=True)
    table.add_column("the first of them", overflow="fold")
    for need in needs:
        first = need.first[0] if need.first else None
        table.add_row(need.extension, f"{need.functions:,}", Text(witness(first) if first else ""))
    out.print(table)


def witness(one: "Witness") -> str:
    """Return "Eigen::gebp (vfmadd231ps zmm0,zmm1,zmm2) in libtensorflow_cc.so.2"."""
    name = one.function or f"unnamed code at {one.address:#x}"
    return f"{name} ({one.instruction}) in {one.library.rpartition('/')[2]}"


def _show_counts(code: "Evidence", out: "Console") -> None:
    from tfbuild.code.extensions import ORDER

    total = code.total
    instructions = total.instructions.value
    extensions = {name: total.extensions[name] for name in ORDER if total.has(name)}
    encodings = {
        title: total.encodings[key] for key, title in _ENCODINGS.items() if key in total.encodings
    }
    widths = {title: total.widths[key] for key, title in _WIDTHS.items() if key in total.widths}
    left = _counts("extension", extensions, instructions)
    encoding = _counts("vector encoding", encodings, total.vectors)
    width = _counts("vector width", widths, total.vectors)
    if code.mode == "sample" and out.width < _BESIDE:
        out.print(Group(left, "", encoding, "", width, ""))
    else:
        out.print(Columns([left, Group(encoding, "", width)], padding=(0, 3)), "")
    fused = _about(total.fused) if total.fused.value else "none"
    out.print(
        f"{_about(total.instructions)} instructions in {size(total.bytes)} of code, "
        f"{fused} of them fused multiply-adds."
    )
    if unseen := [count.high for count in total.extensions.values() if not count.value]:
        out.print(f"Not seen in the sample, so fewer than {max(unseen):,} each: all others.")


def _counts(title: str, rows: Mapping[str, "Count"], whole: int) -> Table:
    table = _table()
    table.add_column(title, no_wrap=True)
    table.add_column("count", justify="right", no_wrap=True)
    if any(not count.is_exact for count in rows.values()):
        table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    for name, count in rows.items():
        interval = [f"{count.low:,}-{count.high:,}"] if len(table.columns) > 3 else []  # noqa: PLR2004
        table.add_row(name, f"{count.value:,}", *interval, _share(count.value, whole))
    return table


def _about(count: "Count") -> str:
    return f"{count.value:,}" if count.is_exact else f"about {short(count.value)}"


def short(number: int) -> str:
    """Return a count in at most five characters: "12", "3.4k", "56k", "1.2M"; "-" for none."""
    for unit, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= unit:
            # Rounded down: "10.0M" would be a letter too many.
            whole, tenth = divmod(number * 10 // unit, 10)
            return f"{whole}.{tenth}{letter}" if whole < 10 else f"{whole}{letter}"  # noqa: PLR2004
    return str(number) if number else "-"


def size(number: int) -> str:
    """Return "3.2 kB", "52.5 MB"."""
    return f"{number / 1000:.1f} kB" if number < _MB else f"{number / _MB:.1f} MB"


def _share(number: int, whole: int) -> str:
    from tfbuild.wheel.reading import percent

    return percent(number / whole) if whole else "-"


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
