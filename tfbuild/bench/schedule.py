"""The order of the rounds: a pure function of the plan, so a resumed session goes on with it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tfbuild.bench.suite import Plan


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of the schedule."""

    number: int
    seed: int
    subjects: tuple[int, ...]
    """Order of the processes."""
    architectures: tuple[str, ...]
    """Order within each process: the same in all of a round, so that a carry-over cancels."""


def schedule(plan: Plan, subjects: int) -> Iterator[Round]:
    """Yield the rounds in their random orders; the plan's seed decides them all.

    Every second round turns the order of contenders around: what comes first in a round has no
    advantage over the session.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - an order to repeat, not a secret
    order: tuple[int, ...] = ()
    for number in range(plan.rounds):
        order = order[::-1] if number % 2 else tuple(rng.sample(range(subjects), subjects))
        yield Round(
            number=number,
            seed=plan.seed + number,
            subjects=order,
            architectures=tuple(rng.sample(plan.architectures, len(plan.architectures))),
        )
