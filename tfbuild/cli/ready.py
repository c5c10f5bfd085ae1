"""What `wheel`, `rehearse` and `doctor` share: look first, then start."""

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfbuild.cli import console, offline_options
from tfbuild.cli import recipe_options as options

if TYPE_CHECKING:
    from tfbuild.engine import Setup
    from tfbuild.errors import TfbuildError
    from tfbuild.offline import Copy
    from tfbuild.preflight import Question
    from tfbuild.recipe import Recipe

NoPreflight_ = Annotated[
    bool,
    typer.Option(
        "--no-preflight",
        envvar="TFBUILD_NO_PREFLIGHT",
        help="Start without a look at engine, memory, disk and network.",
    ),
]


def given(**options_: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the options of a recipe, by name."""
    return options_


def attempt(**given: Any) -> "tuple[Recipe | None, tuple[TfbuildError, ...]]":  # noqa: ANN401
    """Return the recipe that the options describe, or all that is wrong with them."""
    from tfbuild import release
    from tfbuild.preflight.refusals import attempt as try_all

    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(options.make).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    neutral = {
        **defaults,
        "target": "x86-64",
        "tensorflow": release.default().version,
        "python": None,
    }
    return try_all(options.make, given, neutral)


def fitted(
    copy: "Copy | None",
    recipe: "Recipe | None",
    refusals: "tuple[TfbuildError, ...]",
    setup: "Setup",
) -> "tuple[Setup, tuple[TfbuildError, ...]]":
    """Return the setup for a fetched folder, if there is one, and what is wrong with that too."""
    from tfbuild.engine import Setup, joined
    from tfbuild.errors import UsageError

    try:
        return offline_options.fitting(copy, recipe, setup), refusals
    except UsageError as error:
        return joined(setup, Setup(network=False)), (*refusals, error)


def checked(question: "Question", *, look: bool = True) -> "Recipe":
    """Return the question's recipe when nothing is in the way of its build; show warnings.

    Args:
        question: the build.
        look: also at engine, memory, disk and network; else at what was asked alone.

    Raises:
        TfbuildError: something is in the way; all of it is named.
    """
    from tfbuild import preflight

    report = preflight.check(question) if look else preflight.refused(question)
    for finding in report.warnings:
        # The command itself says what is known of a release.
        if finding.about != "recipe":
            console.say(f"warning: {finding.what}")
            for line in (*finding.why.splitlines(), *finding.do.splitlines()):
                console.say(f"  {line}")
    error = report.error()
    if error is not None:
        raise error
    if question.recipe is None:
        raise AssertionError
    return question.recipe
