"""Reads the machine code of one shared library, whole or by a sample of its functions."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfbuild.code import forms, functions, headers, sample, whole
from tfbuild.code.components import Place
from tfbuild.code.evidence import Count, Evidence, Generator, Need, Part, Tally
from tfbuild.code.ledger import WITNESSES, Group, Library, generators
from tfbuild.code.source import FileSource, MemorySource, Source
from tfbuild.code.sums import added
from tfbuild.code.whole import Partial
from tfbuild.errors import WheelError


def is_known(machine: str) -> bool:
    """Return whether this machine's code can be decoded."""
    return machine in headers.MACHINES.values()


def read(path: Path, name: str = "", *, full: bool = True) -> Evidence:
    """Read a library's code.

    Args:
        path: the file.
        name: for people and for witnesses; the file's own name if left out.
        full: decode all of it; else a sample, if the library is large.

    Raises:
        WheelError: it cannot be read, is not ELF for x86, or is damaged.
    """
    try:
        with path.open("rb") as file:
            return evidence(opened(FileSource(file.fileno()), name or path.name), full=full)
    except OSError as error:
        raise WheelError(f"Cannot read {path}.", why=error.strerror or str(error)) from error


def read_bytes(data: bytes, name: str = "The library", *, full: bool = True) -> Evidence:
    """Read a library's code from its content; else as `read`."""
    return evidence(opened(MemorySource(data), name), full=full)


def opened(source: Source, name: str) -> Library:
    """Return a library, cut into pieces.

    Raises:
        WheelError: it is not ELF for x86, or damaged.
    """
    head = headers.read(source, name)
    if head.machine not in headers.MACHINES:
        raise WheelError(
            f"The instructions of {name} cannot be counted.",
            why=f"It is for ELF machine {head.machine}; only x86 code is decoded.",
        )
    # 64-bit code in a file of the 32-bit class is what x32 was.
    bits = 64 if headers.MACHINES[head.machine] == "x86_64" else 32
    return Library(name, source, bits, functions.read(source, head))


def evidence(library: Library, *, full: bool) -> Evidence:
    """Return what a library's code shows."""
    number = None if full else sample.number_of_units(library.pieces)
    if number is None:
        return counted(library, [whole.count(library)])
    found = sample.estimate(library, number)
    declared = library.pieces.size[library.pieces.is_data]
    return Evidence(
        machine=_machine(library),
        mode="sample",
        seed=sample.SEED,
        symbols=library.pieces.symbols,
        total=found.total,
        parts=_parts(found.parts),
        needs=found.needs,
        generators=found.generators,
        undecodable=found.undecodable,
        data=int(declared.sum()),
    )


def counted(library: Library, partials: Sequence[Partial]) -> Evidence:
    """Return what a library's chunks show, which several workers may have counted."""
    groups: dict[Place, Group] = {}
    for partial in partials:
        for place, group in partial.groups.items():
            groups.setdefault(place, Group()).add(group)
    tallies = {place: _tally(group) for place, group in groups.items()}
    return Evidence(
        machine=_machine(library),
        mode="full",
        seed=None,
        symbols=library.pieces.symbols,
        total=added(list(tallies.values())),
        parts=_parts(tallies),
        needs=needs_of([partial.needs for partial in partials]),
        generators=generators_of([partial.generators for partial in partials]),
        undecodable=sum(partial.undecodable for partial in partials),
        data=sum(partial.data for partial in partials),
    )


def combined(evidences: Sequence[Evidence]) -> Evidence | None:
    """Return what several libraries show together, None without any.

    Only those for the machine that has most code count: one process runs one machine's code. The
    symbols are said to be those that most of the code has.
    """
    sizes = {each.machine: 0 for each in evidences}
    for each in evidences:
        sizes[each.machine] += each.total.bytes
    machine = max(sizes, key=sizes.__getitem__, default="")
    mine = [each for each in evidences if each.machine == machine]
    if not mine:
        return None
    sampled = [each.seed for each in mine if each.mode == "sample"]
    named = {each.symbols: 0 for each in mine}
    for each in mine:
        named[each.symbols] += each.total.bytes
    symbols = max(named, key=named.__getitem__)
    # Without names a guard cannot be seen: a stripped library beside must not decide for all.
    sure = [each for each in mine if symbols != "full" or each.symbols == "full"]
    needs = needs_of([each.needs for each in sure])
    known = {need.extension for need in needs}
    others = needs_of([each.needs for each in mine if each not in sure])
    return Evidence(
        machine=machine,
        mode="sample" if sampled else "full",
        seed=sampled[0] if sampled else None,
        symbols=symbols,
        total=added([each.total for each in mine]),
        parts=_joined(part for each in mine for part in each.parts),
        needs=needs,
        generators=generators_of([each.generators for each in mine]),
        undecodable=sum(each.undecodable for each in mine),
        data=sum(each.data for each in mine),
        unsure=tuple(need for need in others if need.extension not in known),
    )


def needs_of(found: Iterable[Sequence[Need]]) -> tuple[Need, ...]:
    """Return the needs of several lists as one."""
    needs: dict[str, list[Need]] = {name: [] for name in forms.NEEDS}
    for each in found:
        for need in each:
            needs[need.extension].append(need)
    return tuple(_need(name, some) for name, some in needs.items() if some)


def generators_of(found: Iterable[Sequence[Generator]]) -> tuple[Generator, ...]:
    """Return the generators of several lists as one."""
    names: dict[str, set[str]] = {}
    for each in found:
        for one in each:
            names.setdefault(one.component, set()).update(one.extensions)
    return generators(names)


def _machine(library: Library) -> str:
    return "x86_64" if library.bits == 64 else "i686"  # noqa: PLR2004


def _need(name: str, some: Sequence[Need]) -> Need:
    # The order of libraries is kept: the largest comes first.
    order = {witness.library: 0 for need in some for witness in need.first}
    rank = {library: place for place, library in enumerate(order)}
    witnesses = sorted(
        (witness for need in some for witness in need.first),
        key=lambda witness: (rank[witness.library], witness.address),
    )
    functions_ = sum(need.functions for need in some)
    return Need(extension=name, functions=functions_, first=tuple(witnesses[:WITNESSES]))


def _tally(group: Group) -> Tally:
    sums = forms.summed(group.counts)
    return forms.tally(
        lambda column: Count.exactly(int(sums[column])),
        functions=group.functions,
        size=group.bytes,
        decoded=group.decoded,
    )


def _parts(tallies: dict[Place, Tally]) -> tuple[Part, ...]:
    kinds: dict[str, tuple[list[Tally], list[Tally]]] = {}
    for place, tally in tallies.items():
        always, dispatched = kinds.setdefault(place.component, ([], []))
        (dispatched if place.guard else always).append(tally)
    return _by_size(
        Part(component=component, always=added(always), dispatched=added(dispatched))
        for component, (always, dispatched) in kinds.items()
    )


def _joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    kinds: dict[str, list[Part]] = {}
    for part in parts:
        kinds.setdefault(part.component, []).append(part)
    return _by_size(
        Part(
            component=component,
            always=added([part.always for part in some]),
            dispatched=added([part.dispatched for part in some]),
        )
        for component, some in kinds.items()
    )


def _by_size(parts: Iterable[Part]) -> tuple[Part, ...]:
    sized = [(-part.always.bytes - part.dispatched.bytes, part.component, part) for part in parts]
    return tuple(part for _, _, part in sorted(sized, key=lambda row: row[:2]))
