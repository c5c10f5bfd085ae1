"""Time and cost against vCPUs, and which size to take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tfbuild import cost, prices, stats
from tfbuild.bench.setting import Setting, words
from tfbuild.bench.suite import Side
from tfbuild.machine import Machine
from tfbuild.machine.topology import numbers
from tfbuild.prices import Price


@dataclass(frozen=True, kw_only=True)
class Point:
    """One size of machine."""

    vcpus: int
    """Hardware threads of the cores that were used: what a cloud would let one rent."""
    subject: int
    """Index into the suite's subjects."""
    seconds: float
    """Of the study's run; for the geometric mean over architectures, that mean."""
    amount: float | None
    """Its cost in the prices' currency; None without a price for this size."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One wheel and architecture over all sizes."""

    wheel: str
    """The spec, and what else was switched on in it."""
    architecture: str
    """"" for the geometric mean over all."""
    points: tuple[Point, ...]
    """By vCPUs, ascending."""
    fastest: int
    """Its vCPUs; of several as fast, the fewest."""
    cheapest: int | None
    """Its vCPUs; of several as cheap, the fastest. None without prices."""
    pareto: tuple[int, ...]
    """The vCPUs than which no other size is both faster and cheaper, ascending; of sizes with a
    price. As fast and cheaper, or as cheap and faster, counts too."""
    currency: str | None = None


def curves(sides: Sequence[Side], prices: Sequence[Price] = ()) -> tuple[Curve, ...]:
    """Return a curve for each wheel and architecture that was measured in several sizes.

    Contenders belong to one curve if nothing but their CPUs differs, and the threads that go with
    them. The geometric mean over the architectures comes last for each wheel, where there are
    several.

    Args:
        sides: the contenders of one session; the control is left out.
        prices: of CPU machines, at most one for each size, all in one currency.
    """
    groups: dict[tuple[str, Setting], list[Side]] = {}
    for side in sides:
        if side.runs and not side.who.is_control:
            groups.setdefault((side.who.spec, _without_size(side.who.setting)), []).append(side)
    swept = {key: group for key, group in groups.items() if len(_sizes(group)) > 1}
    return tuple(
        each
        for (spec, setting), group in swept.items()
        for each in _of_group(", ".join((spec, *words(setting))), group, prices)
    )


def curve(wheel: str, architecture: str, points: Iterable[Point], currency: str | None) -> Curve:
    """Return the curve of at least one point, with the best choices."""
    ordered = tuple(sorted(points, key=lambda point: (point.vcpus, point.seconds)))
    priced = [(p.seconds, p.amount, p) for p in ordered if p.amount is not None]
    best = [
        p.vcpus
        for seconds, amount, p in priced
        if not any(
            other[0] <= seconds and other[1] <= amount and other[:2] != (seconds, amount)
            for other in priced
        )
    ]
    cheapest = min(priced, key=lambda one: (one[1], one[0], one[2].vcpus), default=None)
    return Curve(
        wheel=wheel,
        architecture=architecture,
        points=ordered,
        fastest=min(ordered, key=lambda point: (point.seconds, point.vcpus)).vcpus,
        cheapest=None if cheapest is None else cheapest[2].vcpus,
        pareto=tuple(dict.fromkeys(best)),
        currency=currency if priced else None,
    )


def rented(setting: Setting, machine: Machine) -> int:
    """Return the vCPUs of the machine that one would rent: whole cores, all their threads.

    A process on one thread of each of four cores leaves their siblings idle, and they are paid for.
    """
    together: set[int] = set(setting.cpus)
    for core in machine.cores_shared:
        members = numbers(core)
        if together.intersection(members):
            together.update(members)
    return len(together) or machine.cpus_allowed


def _of_group(wheel: str, group: Sequence[Side], given: Sequence[Price]) -> list[Curve]:
    names = group[0].suite.plan.architectures
    currency = given[0].currency if given else None
    found = {name: [_point(side, name, given) for side in group] for name in names}
    made = [curve(wheel, name, points, currency) for name, points in found.items()]
    if len(names) > 1:
        columns = zip(*found.values(), strict=True)
        made.append(curve(wheel, "", map(_mean, columns), currency))
    return made


def _point(side: Side, architecture: str, given: Sequence[Price]) -> Point:
    epochs = side.runs[0].sample(architecture).full_epochs
    seconds = stats.geometric_mean(side.seconds(architecture)) * epochs
    size = rented(side.who.setting, side.suite.machine)
    price = prices.fitting(given, size)
    return Point(
        vcpus=size,
        subject=side.subject,
        seconds=seconds,
        amount=None if price is None else cost.of_run(architecture, seconds, price).amount,
    )


def _mean(points: Sequence[Point]) -> Point:
    amounts = [point.amount for point in points if point.amount]
    return replace(
        points[0],
        seconds=stats.geometric_mean([point.seconds for point in points]),
        amount=stats.geometric_mean(amounts) if len(amounts) == len(points) else None,
    )


def _sizes(group: Sequence[Side]) -> set[int]:
    return {rented(side.who.setting, side.suite.machine) for side in group}


def _without_size(setting: Setting) -> Setting:
    """Return the setting without its CPUs, and without threads that follow their number."""
    size = len(setting.cpus)
    follow = {setting.intra_threads, setting.inter_threads, setting.omp_threads} == {size}
    bare = replace(setting, cpus=(), cores=None)
    return replace(bare, intra_threads=0, inter_threads=0, omp_threads=0) if follow else bare
