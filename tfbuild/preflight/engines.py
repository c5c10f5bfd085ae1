"""The engine that was asked for: whether it answers, fits the target, and has what it needs."""

import re
from collections.abc import Iterator

from tfbuild import build
from tfbuild.engine import tools
from tfbuild.engine.base import Facts
from tfbuild.errors import EngineError, TfbuildError, UsageError
from tfbuild.preflight.finding import Finding, failure, ok, warning
from tfbuild.preflight.inquiry import Inquiry

# The oldest that builds a stage of a Dockerfile (docs.docker.com, release notes of 17.05;
# Buildah 1.2 of 2018 and, with it, Podman 1.0), and the oldest that tfbuild's tests have met.
_OLDEST = {"docker": (17, 5), "podman": (1, 0)}
_TESTED = {"docker": (20, 10), "podman": (4, 3)}


def answers(inquiry: Inquiry) -> Iterator[Finding]:
    """Check that the engine answers, is not too old, and compiles for the target's kind of CPU."""
    try:
        _, facts = inquiry.answer()
    except TfbuildError as error:
        yield failure("engine", error)
        return
    yield _version(facts)
    recipe = inquiry.question.recipe
    if recipe is None:
        return
    try:
        build.check_architecture(recipe, facts)
    except UsageError as error:
        yield failure("engine", error)


def tools_of_this_machine(inquiry: Inquiry) -> Iterator[Finding]:
    """Check Bazel, compiler and Python of this machine for the local engine."""
    recipe = inquiry.question.recipe
    if not inquiry.is_local or recipe is None:
        return
    found = tools.problems(recipe)
    for error in found:
        yield failure("tools", error)
    if not found and inquiry.engine() is not None:
        python = tools.interpreter(recipe.python)
        yield ok("tools", f"{tools.bazel()}, {recipe.compiler} compiler, {python}")


def told(facts: Facts) -> str:
    """Return the engine in a few words: "docker 20.10.24, with root, 2 CPUs, 24 GiB"."""
    words = [str(facts)]
    if facts.name != "local":
        words.append("rootless" if facts.rootless else "with root")
    if facts.is_remote:
        words.append("on another machine")
    return ", ".join([*words, f"{facts.cpus} CPUs", f"{facts.memory / 2**30:.0f} GiB"])


def _version(facts: Facts) -> Finding:
    numbers = tuple(int(number) for number in re.findall(r"\d+", facts.version)[:2])
    if numbers and numbers < _OLDEST.get(facts.name, ()):
        return failure(
            "engine",
            EngineError(
                f"{facts} is too old.",
                why=f"Since {_dotted(_OLDEST[facts.name])} it builds one stage of a Dockerfile.",
                do="Install a newer one, or take another engine with --engine.",
            ),
        )
    if numbers and numbers < _TESTED.get(facts.name, ()):
        return warning(
            "engine",
            f"{told(facts)}: older than any that tfbuild was tested with",
            why=f"Tested is {_dotted(_TESTED[facts.name])} and newer.",
            do="Try it first: tfbuild rehearse",
        )
    return ok("engine", told(facts))


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]:02}" if version[0] > 10 else f"{version[0]}.{version[1]}"  # noqa: PLR2004 - Docker's years
