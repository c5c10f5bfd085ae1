"""What `wheel`, `rehearse` and `doctor` share: look first, then start."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfbuild.cli import console
from tfbuild.cli import recipe_options as options

if TYPE_CHECKING:
    from tfbuild.errors import TfbuildError
    from tfbuild.preflight import Question
    from tfbuild.recipe import Recipe


def attempt(given: Mapping[str, Any]) -> "tuple[Recipe | None, tuple[TfbuildError, ...]]":
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


def check(question: "Question") -> None:
    """Look at everything that the build needs; show warnings.

    Raises:
        TfbuildError: something is in the way; all of it is named.
    """
    from tfbuild import preflight

    report = preflight.check(question)
    for finding in report.warnings:
        # The command itself says what is known of a release.
        if finding.about != "recipe":
            console.say(f"warning: {finding.what}")
            for line in (*finding.why.splitlines(), *finding.do.splitlines()):
                console.say(f"  {line}")
    error = report.error()
    if error is not None:
        raise error
