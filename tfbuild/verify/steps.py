"""All checks, in the order in which they are done."""

from tfbuild.verify import instructions, numbers, quantised, static, training
from tfbuild.verify.verify import Step

STATIC: tuple[Step, ...] = (
    Step(
        names=static.NAMES,
        title="Reading every file",
        run=lambda wheel: wheel.static(),
    ),
    Step(
        names=instructions.NAMES,
        title="Reading its machine code",
        run=lambda wheel: instructions.check(wheel.code, wheel.target),
    ),
)
"""Those that only read the wheel."""

_RUNNING = (
    Step(
        names=training.NAMES,
        title="Importing it, and training one step",
        run=lambda wheel: training.check(wheel.runnable, wheel.running),
        runs_wheel=True,
    ),
    Step(
        names=("numbers",),
        title="Comparing its numbers",
        run=lambda wheel: (numbers.check(wheel.runnable, wheel.running, wheel.asked.against),),
        runs_wheel=True,
    ),
    Step(
        names=("quantised",),
        title="Computing with quantised numbers",
        run=lambda wheel: (quantised.check(wheel.runnable, wheel.running),),
        runs_wheel=True,
    ),
)

ALL = (*STATIC, *_RUNNING)
