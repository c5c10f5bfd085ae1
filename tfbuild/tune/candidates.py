"""What may be tried on a machine, one dimension at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from tfbuild.bench import placement
from tfbuild.bench.allocators import ALLOCATORS
from tfbuild.bench.placement import Asked
from tfbuild.bench.setting import SYSTEM_ALLOCATOR, Setting
from tfbuild.errors import UsageError, suggestion
from tfbuild.machine.model import sensible_threads
from tfbuild.machine.topology import Topology

BATCHES = (32, 64, 128, 256, 512)
BATCH: Final = "batch"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the candidates depend on besides the setting."""

    topology: Topology
    has_openmp: bool
    """Whether the wheel brings OpenMP threads, as Intel's do."""
    onednn: bool | None
    """Whether the wheel uses oneDNN by default here; None: it does not say."""


def candidates(dimension: str, base: Setting, ground: Ground) -> tuple[Setting, ...]:
    """Return the settings to try against `base`; none where a dimension has nothing to offer."""
    found = _OF[dimension](base, ground)
    return tuple(dict.fromkeys(each for each in found if each != base))


def named(text: str | None) -> tuple[str, ...]:
    """Return the dimensions that a list names, in the order in which they are searched.

    Raises:
        UsageError: one is unknown, or there is none.
    """
    if text is None:
        return tuple(name for name in DIMENSIONS if name != BATCH)
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in DIMENSIONS:
            raise UsageError(
                f"There is no dimension {word!r} to search.",
                why=f"Known: {', '.join(DIMENSIONS)}.",
                do=suggestion(word, list(DIMENSIONS)),
            )
    if not words:
        raise UsageError("--dimensions names none.", do=f"Known: {', '.join(DIMENSIONS)}.")
    return tuple(name for name in DIMENSIONS if name in words)


def _cpus(base: Setting, ground: Ground) -> Iterator[Setting]:
    """One thread of each core instead of all, and each memory node alone."""
    here = ground.topology
    own = replace(here, cpus=here.of(base.cpus)) if here.can_bind else here
    if not own.is_known or not own.can_bind:
        return
    asked = [Asked(cpus=str(own.cores))] if own.cores < len(own.cpus) else []
    if len(own.nodes) > 1:
        asked += [Asked(numa_node=node) for node in own.nodes[:1]]
    for each in asked:
        try:
            placed = placement.resolve(each, own)
        except UsageError:
            continue  # a quota below the number of cores
        yield replace(
            placed, onednn=base.onednn, batch=base.batch, xla=base.xla, allocator=base.allocator
        )


def _threads(base: Setting, ground: Ground) -> Iterator[Setting]:
    """Threads of all kinds: powers of two, and as many as cores.

    A kind that has been given a number of its own keeps it.
    """
    most, now = _most(base, ground), base.intra_threads
    for count in sorted({*_powers(most), min(base.cores or most, most), most}, reverse=True):
        yield replace(
            base,
            intra_threads=count,
            inter_threads=count if base.inter_threads == now else base.inter_threads,
            omp_threads=count if base.omp_threads == now else base.omp_threads,
        )


def _inter(base: Setting, ground: Ground) -> Iterator[Setting]:
    """Fewer ops at a time: most models have little to run side by side."""
    for count in {1, 2, _most(base, ground)}:
        if count <= _most(base, ground):
            yield replace(base, inter_threads=count)


def _intra(base: Setting, ground: Ground) -> Iterator[Setting]:
    for count in sorted({*_powers(_most(base, ground)), _most(base, ground)}):
        yield replace(base, intra_threads=count)


def _omp(base: Setting, ground: Ground) -> Iterator[Setting]:
    if ground.has_openmp:
        for count in sorted({*_powers(_most(base, ground)), _most(base, ground)}):
            yield replace(base, omp_threads=count)


def _onednn(base: Setting, ground: Ground) -> Iterator[Setting]:
    """Yield what differs from what is in use: the default may be either."""
    now = ground.onednn if base.onednn is None else base.onednn
    for is_on in (False, True):
        if is_on is not now:
            yield replace(base, onednn=is_on)


def _xla(base: Setting, _ground: Ground) -> Iterator[Setting]:
    yield replace(base, xla=not base.xla)


def _allocator(base: Setting, _ground: Ground) -> Iterator[Setting]:
    for name in (SYSTEM_ALLOCATOR, *ALLOCATORS):
        yield replace(base, allocator=name)


def _batch(base: Setting, _ground: Ground) -> Iterator[Setting]:
    for size in BATCHES:
        yield replace(base, batch=size)


def _powers(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count *= 2


def _most(base: Setting, ground: Ground) -> int:
    cpus = len(base.cpus) or len(ground.topology.cpus)
    return sensible_threads(cpus, ground.topology.quota)


_OF: Final[dict[str, Callable[[Setting, Ground], Iterator[Setting]]]] = {
    "cpus": _cpus,
    "threads": _threads,
    "inter": _inter,
    "intra": _intra,
    "omp": _omp,
    "onednn": _onednn,
    "xla": _xla,
    "allocator": _allocator,
    BATCH: _batch,
}
DIMENSIONS: Final = tuple(_OF)
"""In the order of the search: what the others depend on comes first."""
