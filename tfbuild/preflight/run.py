"""Runs all checks side by side: each waits for something else, and together about a second."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tfbuild.engine import choose
from tfbuild.engine.base import Engine
from tfbuild.errors import TfbuildError
from tfbuild.preflight import asked, engines, images, machine, memory, network, space
from tfbuild.preflight.finding import Finding, Report, failure
from tfbuild.preflight.inquiry import Inquiry, Question

Check = Callable[[Inquiry], Iterable[Finding]]
CHECKS: tuple[tuple[str, Check], ...] = (
    ("recipe", asked.recipe),
    ("output", asked.output),
    ("engine", engines.answers),
    ("tools", engines.tools_of_this_machine),
    ("memory", memory.against_jobs),
    ("disk", space.free),
    ("image", images.base),
    ("network", network.sources),
)
"""In the order in which findings are told, and in which the first failure gives the exit code."""
ABOUT_THE_MACHINE: tuple[tuple[str, Check], ...] = (
    ("engines", machine.engines),
    ("CPU", machine.cpu),
    ("Python", machine.pythons_here),
    ("uv", machine.uv),
    ("settings", machine.settings_file),
)
"""What `tfbuild doctor` tells beyond that."""
_THREADS = 16


def check(
    question: Question,
    *,
    whole_machine: bool = False,
    choose: Callable[[str], Engine] = choose,
) -> Report:
    """Look at everything that the build needs, and tell all that is in its way.

    Args:
        question: the build.
        whole_machine: tell what this machine has, too.
        choose: finds the engine that a word names.
    """
    start = time.monotonic()
    checks = (*(ABOUT_THE_MACHINE if whole_machine else ()), *CHECKS)
    with ThreadPoolExecutor(_THREADS) as pool:
        inquiry = Inquiry(question, pool, choose)
        running = [pool.submit(_guarded, name, each, inquiry) for name, each in checks]
        findings = [finding for future in running for finding in future.result()]
    return Report(findings=tuple(findings), seconds=round(time.monotonic() - start, 3))


def refused(question: Question) -> Report:
    """Return what is wrong with the question itself. Contacts nothing."""
    found = tuple(failure("recipe", refusal) for refusal in question.refusals)
    return Report(findings=found, seconds=0.0)


def _guarded(name: str, each: Check, inquiry: Inquiry) -> Sequence[Finding]:
    try:
        return tuple(each(inquiry))
    except TfbuildError as error:
        return (failure(name, error),)
