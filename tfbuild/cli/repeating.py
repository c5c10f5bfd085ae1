"""Words that repeat a measurement, or go on with it. They never hold a password or a token."""

from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from tfbuild.bench import Subject
    from tfbuild.cli.bench_options import Options
    from tfbuild.cli.tune_options import TuneOptions
    from tfbuild.spec import Spec

_NOT_REPEATED = frozenset({"seed", "resume", "output_dir", "json", "offline"})
_RESUMED = ("wheels_dir", "pip_index", "offline", "output_dir")
_SHARES = frozenset({"precision", "noise"})


def command(
    name: str, specs: "Sequence[Spec]", options: "Options | TuneOptions", *, seed: int
) -> tuple[str, ...]:
    """Return the command that repeats a measurement, with its seed, whether drawn or given.

    Options count wherever they came from: the command line, a variable, or a settings file.
    """
    given = [each.name for each in fields(options) if each.name not in _NOT_REPEATED]
    texts = [each.text.strip() for each in specs]
    return ("tfbuild", name, *texts, *_words(given, options), "--seed", str(seed))


def resume(name: str, path: Path, options: "Options | TuneOptions") -> tuple[str, ...]:
    """Return the command that goes on after an interrupt."""
    return ("tfbuild", name, "--resume", str(path), *_words(_RESUMED, options))


def spec(subject: "Subject", wheels: Path) -> "Spec":
    """Return a spec of what a subject was, whatever its own words would mean by now.

    Raises:
        UsageError: its wheel or interpreter is not there any more.
    """
    from tfbuild.spec import parse

    found = parse(subject.spec)
    if found.kind == "compiled" and subject.wheel_sha256 is not None:
        return _own_wheel(subject, wheels) or found
    is_named = found.kind == "requirement" and "@" in subject.spec
    if found.kind in {"pip", "compiled", "requirement"} and not is_named:
        return parse(f"{subject.distribution}=={subject.version}")
    return found


def _own_wheel(subject: "Subject", wheels: Path) -> "Spec | None":
    from tfbuild import artifact
    from tfbuild.spec import parse

    start = f"{subject.distribution.replace('-', '_')}-{subject.version}-"
    for path in sorted(wheels.glob("*.whl")):
        if path.name.startswith(start) and artifact.sha256(path) == subject.wheel_sha256:
            return parse(str(path))
    return None


def _words(names: Sequence[str], options: "Options | TuneOptions") -> list[str]:
    defaults = {each.name: each.default for each in fields(options)}
    words = []
    for name in names:
        value = getattr(options, name)
        if value != defaults[name]:
            words += _word(name, value)
    return words


def _word(name: str, value: object) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [option if value else f"--no-{option.removeprefix('--')}"]
    if isinstance(value, Enum):
        return [option, str(value.value)]
    if name == "pip_index":
        return [option, without_secrets(str(value))]
    if name == "max_time":
        return [option, f"{value:g}s"]
    if name in _SHARES:
        return [option, f"{value:g}"]
    return [option, str(value)]


def without_secrets(url: str) -> str:
    """Return an address without user, password, and what stands behind a question mark."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "URL"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
