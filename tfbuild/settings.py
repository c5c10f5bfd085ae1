"""Where options come from: command line, then TFBUILD_* variables, then `[tool.tfbuild]`.

Typer reads the first two. The third is the nearest `pyproject.toml` upwards that has the table;
a key is an option's long name (`engine = "podman"`), at the top for every command that has the
option or in a table named after one command (`[tool.tfbuild.wheel]`).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tfbuild.errors import SaveError, UsageError, suggestion


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The `[tool.tfbuild]` table, checked; `path` is None where no file has one."""

    path: Path | None
    values: Mapping[str, object]


def cache_folder(name: str) -> Path:
    """Return the user's cache folder for `name` ("environments", "data"); it may not exist yet.

    Raises:
        SaveError: this user has no home folder, as a number without a name in a container.
    """
    from platformdirs import user_cache_path

    try:
        return user_cache_path("tfbuild") / name
    except RuntimeError as error:
        raise SaveError(
            "There is no place for caches: this user has no home folder.",
            why=str(error),
            do="Name one: export XDG_CACHE_HOME=/some/folder",
        ) from error


def find(start: Path) -> Settings:
    """Read the nearest `[tool.tfbuild]` at or above `start`.

    Raises:
        UsageError: that file cannot be read or is not TOML, or what it holds there is no table.
    """
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        # A folder that may not be looked into has none.
        if not os.access(path, os.F_OK) or not path.is_file():
            continue
        import tomllib

        try:
            tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} is not valid TOML.", why=str(error)) from error
        except OSError as error:
            raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
        table = tool.get("tfbuild") if isinstance(tool, dict) else None
        if table is not None and not isinstance(table, dict):
            raise UsageError(
                f"{path}: tool.tfbuild is not a table.",
                do='Example: [tool.tfbuild]\nengine = "podman"',
            )
        if table is not None:
            return Settings(path=path, values=table)
    return Settings(path=None, values={})


def default_map(
    settings: Settings, options: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, object]]:
    """Return Click's default map: command -> parameter -> value.

    Args:
        settings: the table.
        options: command name -> its parameters' Python names.

    Raises:
        UsageError: a key names no option.
    """
    result: dict[str, dict[str, object]] = {command: {} for command in options}
    everywhere = sorted({name for names in options.values() for name in names})
    for key, value in settings.values.items():
        if key in options and isinstance(value, dict):
            for inner, inner_value in value.items():
                _check(settings, f"{key}.{inner}", inner, sorted(options[key]))
                result[key][_parameter(inner)] = inner_value
            continue
        _check(settings, key, key, everywhere)
        for command, names in options.items():
            if _parameter(key) in names:
                result[command].setdefault(_parameter(key), value)
    return result


def shaped(settings: Settings, name: str, value: object, *, is_list: bool) -> object:
    """Return a value as Click wants it: a list for an option that may be given several times.

    Raises:
        UsageError: it is a list for an option that has one value, or a table.
    """
    values = value if isinstance(value, list) else [value]
    if any(isinstance(one, (dict, list)) for one in values) or (values is value and not is_list):
        key = name.replace("_", "-")
        raise UsageError(
            f"{settings.path}: [tool.tfbuild] {key} cannot be {value!r}.",
            why="Expected a list of words." if is_list else "Expected one value.",
        )
    return [str(one) for one in values] if is_list else value


def _parameter(key: str) -> str:
    return key.replace("-", "_")


def _check(settings: Settings, shown: str, key: str, known: list[str]) -> None:
    if _parameter(key) not in known:
        raise UsageError(
            f"{settings.path}: [tool.tfbuild] has an unknown key {shown!r}.",
            why="No command has an option of that name.",
            do=suggestion(_parameter(key), known).replace("_", "-"),
        )
