"""Every reason why there is no recipe for what was asked, not only the first."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tfbuild.errors import TfbuildError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

# Each of these goes before those that others are judged by.
_LAST = ("python", "vector_width", "compiler", "target", "tensorflow")
# Without the release that was asked for, nothing can be said about what depends on it.
_WITH = {"tensorflow": ("python", "compiler")}


def attempt(
    make: "Callable[..., Recipe]", given: Mapping[str, Any], neutral: Mapping[str, Any]
) -> "tuple[Recipe | None, tuple[TfbuildError, ...]]":
    """Return the recipe, or None and all that is wrong with what was given.

    After each refusal the option that it is about is put back to a neutral value, and the rest
    is tried again.

    Args:
        make: makes a recipe of options, or raises for the first that does not fit.
        given: the options.
        neutral: values that always fit, for each option that may be refused.
    """
    rest, refusals = dict(given), list[TfbuildError]()
    while True:
        made, refusal = _tried(make, rest)
        if refusal is None:
            return (made if not refusals else None), tuple(refusals)
        refusals.append(refusal)
        about = _about(make, rest, neutral, refusal)
        if about is None:
            return None, tuple(refusals)
        for name in (about, *_WITH.get(about, ())):
            rest[name] = neutral[name]


def _about(
    make: "Callable[..., Recipe]",
    given: Mapping[str, Any],
    neutral: Mapping[str, Any],
    refusal: TfbuildError,
) -> str | None:
    """Return the option without which this refusal goes away."""
    suspects = [name for name in given if name in neutral and given[name] != neutral[name]]
    for name in sorted(suspects, key=lambda name: _LAST.index(name) if name in _LAST else -1):
        _, other = _tried(make, {**given, name: neutral[name]})
        if other is None or str(other) != str(refusal):
            return name
    return None


def _tried(
    make: "Callable[..., Recipe]", given: Mapping[str, Any]
) -> "tuple[Recipe | None, TfbuildError | None]":
    try:
        return make(**given), None
    except TfbuildError as error:
        return None, error
