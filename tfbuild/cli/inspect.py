"""`tfbuild inspect`: what a wheel or an installed TensorFlow is, needs, and uses."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console

if TYPE_CHECKING:
    from rich.table import Table

    from tfbuild.code.evidence import Evidence
    from tfbuild.wheel.inspection import Inspection

_EXAMPLE = (
    "Example: tfbuild inspect installed, or: tfbuild inspect wheels/tensorflow_cpu-2.21.0*.whl"
)
_INSTALLED = "installed"
_MB = 1_000_000
_ENCODINGS = {"sse": "SSE", "vex": "AVX (VEX)", "evex": "AVX-512 (EVEX)"}
_WIDTHS = {128: "xmm, 128 bits", 256: "ymm, 256 bits", 512: "zmm, 512 bits"}


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(epilog=_EXAMPLE)(inspect)


def inspect(
    wheel: Annotated[
        str,
        typer.Argument(
            metavar="WHEEL|installed",
            help="A wheel; or the word 'installed', or an environment's folder or interpreter, "
            "for the TensorFlow that is installed there.",
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            envvar="TFBUILD_NO_CACHE",
            help="Read everything anew instead of taking the result of an earlier inspection.",
        ),
    ] = False,
) -> None:
    """Show what a wheel is and needs, and which instruction sets its code uses.

    The largest library is disassembled, which takes a minute for a whole TensorFlow; the result is
    kept, so the next time is instant. TensorFlow is neither imported nor run.
    """
    from tfbuild import settings

    cache = None if no_cache else settings.cache_folder("inspections")
    found = _inspection(wheel, cache)
    if json:
        from tfbuild import artifact

        typer.echo(artifact.to_json(found), nl=False)
    else:
        _show(found)


def _inspection(wheel: str, cache: Path | None) -> "Inspection":
    from tfbuild.wheel.inspect import inspect as inspect_wheel
    from tfbuild.wheel.inspect import installed

    path = Path(wheel)
    with console.progress() as progress:
        if wheel == _INSTALLED and not path.is_file():
            return installed(progress=progress, cache=cache)
        if path.is_dir() or (path.is_file() and path.name.startswith("python")):
            return installed(path, progress=progress, cache=cache)
        return inspect_wheel(path, progress=progress, cache=cache)


def _show(found: "Inspection") -> None:
    from rich.table import Table
    from rich.text import Text

    out = console.results()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(no_wrap=True, style="bold")
    facts.add_column(overflow="fold")
    for title, text in _facts(found):
        # Names and compilers' marks are anybody's: no markup of Rich's in them.
        facts.add_row(title, Text(text, overflow="fold"))
    out.print(facts)
    if found.libraries:
        out.print()
        _show_code(found)
    for note in found.notes:
        console.say(f"note: {note}")


def _facts(found: "Inspection") -> Iterator[tuple[str, str]]:
    unknown = "unknown"
    yield ("Wheel" if found.source == "wheel" else "Installed"), found.file
    yield "Distribution", f"{found.distribution} {found.version}"
    yield "Label", found.label or "none"
    yield "TensorFlow", found.tensorflow or "none inside"
    yield "Python", f"{found.python or unknown} (ABI {found.abi or unknown})"
    yield "Tags", " ".join(found.tags) or unknown
    if found.source == "wheel":
        yield "Size", f"{_mb(found.size)}, unpacked {_mb(found.unpacked_size)}"
        yield "SHA-256", found.sha256 or unknown
    else:
        yield "Size", _mb(found.unpacked_size)
    yield "Libraries", _libraries(found)
    yield "Compilers", "\n".join(found.compilers) or unknown
    yield "Needs", _needs(found)
    if found.record is not None:
        from tfbuild.cli import made_by

        yield from ((title, text) for title, text in made_by.rows(found.record) if text)
    if found.sboms:
        yield "Components", ", ".join(found.sboms)


def _libraries(found: "Inspection") -> str:
    if not found.libraries:
        return "none: there is no compiled code in it"
    largest = found.libraries[0]
    return f"{len(found.libraries)}, largest {largest.name} ({_mb(largest.size)})"


def _needs(found: "Inspection") -> str:
    floors = {"glibc": found.glibc, "GLIBCXX": found.glibcxx}
    return ", ".join(f"{name} {floor} or newer" for name, floor in floors.items() if floor) or (
        "no glibc of a certain age" if found.libraries else "no glibc"
    )


def _show_code(found: "Inspection") -> None:
    from rich.text import Text

    out = console.results()
    largest = found.libraries[0]
    machine = largest.machine or "unknown"
    out.print(Text.assemble((f"Code of {largest.name}", "bold"), f", {machine}"))
    for sentence in found.reading:
        out.print(sentence, markup=False)
    if found.code is not None and found.code.total.instructions.value:
        out.print()
        _show_counts(found.code)


def _show_counts(code: "Evidence") -> None:
    from rich.columns import Columns
    from rich.console import Group

    from tfbuild.wheel.extensions import ORDER

    counts = code.total
    none = 0
    encodings = {
        title: counts.encodings[name].value if name in counts.encodings else none
        for name, title in _ENCODINGS.items()
    }
    widths = {
        title: counts.widths[width].value if width in counts.widths else none
        for width, title in _WIDTHS.items()
    }
    extensions = {name: counts.has(name) for name in ORDER if counts.has(name)}
    left = _table("extension", extensions, counts.instructions.value)
    right = Group(
        _table("vector encoding", encodings, counts.vectors),
        "",
        _table("vector width", widths, counts.vectors),
    )
    out = console.results()
    out.print(Columns([left, right], padding=(0, 3)))
    out.print(
        f"{counts.instructions.value:,} instructions in {_mb(counts.bytes)}, "
        f"{counts.fused.value:,} of them fused multiply-adds; "
        f"{code.undecodable:,} bytes that are no instruction."
    )


def _table(title: str, rows: Mapping[str, int], whole: int) -> "Table":
    from rich.table import Table

    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    made.add_column(title, no_wrap=True)
    made.add_column("count", justify="right", no_wrap=True)
    made.add_column("share", justify="right", no_wrap=True)
    for name, number in rows.items():
        made.add_row(name, f"{number:,}", _share(number, whole))
    return made


def _share(number: int, whole: int) -> str:
    from tfbuild.wheel.reading import percent

    return percent(number / whole) if whole else "-"


def _mb(size: int) -> str:
    if size < _MB:
        return f"{size / 1000:.1f} kB"
    return f"{size / _MB:.1f} MB"
