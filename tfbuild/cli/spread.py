"""Lets commands share many options as one value."""

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any

_Command = Callable[..., None]


def spread(kind: type[Any]) -> Callable[[_Command], _Command]:
    """Return what turns the parameter `options` of a command into one option for each field.

    Args:
        kind: a dataclass whose fields are annotated as Typer wants its options.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    names = [each.name for each in fields(kind)]

    def apart(command: _Command) -> _Command:
        own = inspect.signature(command).parameters
        shared = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default(each),
                annotation=hints[each.name],
            )
            for each in fields(kind)
        ]
        kept = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, each in own.items()
            if name != "options"
        ]

        @functools.wraps(command)
        def called(**given: Any) -> None:  # noqa: ANN401 - whatever Typer has read
            options = kind(**{name: given.pop(name) for name in names})
            command(options=options, **given)

        mine = typing.get_type_hints(command, include_extras=True)
        setattr(called, "__signature__", inspect.Signature([*kept, *shared]))  # noqa: B010
        called.__annotations__ = {each.name: mine[each.name] for each in kept} | {
            name: hints[name] for name in names
        }
        return called

    return apart


def _default(field: "Field[Any]") -> object:
    return inspect.Parameter.empty if field.default is MISSING else field.default
