"""What one contender needed, beside 2017, a price and the machine's limit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tfbuild import cost, reference, roofline, stats, sweep
from tfbuild.bench.suite import Side
from tfbuild.cost import Cost
from tfbuild.errors import NothingToDoError
from tfbuild.prices import Price, fitting
from tfbuild.roofline import Achieved


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds for one epoch of the study, now and in 2017."""

    architecture: str
    seconds: float
    """Geometric mean over the rounds."""
    spread: float | None
    """Standard deviation of the logarithm: 0.03 is about 3 % from round to round; None for one."""
    k80_2017: float | None
    """None for a user's script, as the two below."""
    cpu_pip_2017: float | None
    """8 vCPU, the prebuilt wheel."""
    cpu_compiled_2017: float | None
    """8 vCPU, compiled with AVX2 and FMA."""
    data: str
    cost: Cost | None = None
    """Of the study's run at a given price; None without one for this size of machine."""
    achieved: Achieved | None = None

    @property
    def of_k80(self) -> float | None:
        """How many times as long as the K80 it takes: less than 1 is faster than the K80."""
        return None if self.k80_2017 is None else self.seconds / self.k80_2017


def times(side: Side, prices: Sequence[Price] = ()) -> tuple[Times, ...]:
    """Return the times of one environment, in the order of the plan.

    Args:
        side: the environment.
        prices: of CPU machines, at most one for each size, all in one currency.

    Raises:
        NothingToDoError: no round of its session is finished.
    """
    if not side.runs:
        raise NothingToDoError(f"No round of {side.who.spec} is finished.")
    price = fitting(prices, sweep.rented(side.who.setting, side.suite.machine)) if prices else None
    return tuple(
        Times(
            architecture=name,
            seconds=stats.geometric_mean(side.seconds(name)),
            spread=stats.spread(side.seconds(name)),
            k80_2017=_then(side, name, reference.GPU),
            cpu_pip_2017=_then(side, name, reference.CPU_PIP),
            cpu_compiled_2017=_then(side, name, reference.CPU_COMPILED),
            data=side.data(name),
            cost=None if price is None else _cost(side, name, price),
            achieved=roofline.of(side, name),
        )
        for name in side.suite.plan.architectures
    )


def _then(side: Side, architecture: str, platform: str) -> float | None:
    if side.suite.plan.script is not None:  # whatever its name
        return None
    found = reference.runs().get((architecture, platform))
    return None if found is None else found.epoch_seconds


def _cost(side: Side, architecture: str, price: Price) -> Cost:
    epochs = side.runs[0].sample(architecture).full_epochs
    seconds = stats.geometric_mean(side.seconds(architecture)) * epochs
    found = cost.of_run(architecture, seconds, price)
    return found if side.suite.plan.script is None else replace(found, of_k80=None)
