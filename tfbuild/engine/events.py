"""Reads the lines in which a build script tells Bazel's build events.

`templates/follow_events.py` writes them beside Bazel: `tfbuild-event: ` and a JSON object. All
counts are totals since the script's start, and each line of one script has a number: a line that
comes twice, or not at all, does no harm.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tfbuild.record import Actions

PREFIX = "tfbuild-event: "
# Types of actions that run no program, so that no cache holds them. Bazel does them itself.
INTERNAL = frozenset(
    {
        "BazelWorkspaceStatusAction",
        "CppModuleMap",
        "ExecutableSymlink",
        "FileWrite",
        "Middleman",
        "ParameterFileWrite",
        "RepoMappingManifest",
        "RunfilesTree",
        "SolibSymlink",
        "SourceSymlinkManifest",
        "Symlink",
        "SymlinkTree",
        "TemplateExpand",
        "UnresolvedSymlink",
    }
)


@dataclass(frozen=True, kw_only=True)
class Action:
    """An action of Bazel's that has ended well: run, or answered by a cache."""

    kind: str
    """Bazel's mnemonic: "CppCompile", "Genrule"."""
    output: str
    """Its primary output, relative to Bazel's execution root."""

    @property
    def is_internal(self) -> bool:
        """Whether Bazel does it itself, running no program."""
        return self.kind in INTERNAL


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An action that failed."""

    kind: str
    output: str
    label: str
    """The target that it belongs to: "//tensorflow/core/kernels:dot"."""
    code: int


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line: what has happened since the line before."""

    number: int | None = None
    """Counts up within one run of the script; None for the script's own events."""
    phase: str = ""
    """What the script itself does next: "packaging"."""
    done: int | None = None
    """Actions that have ended well so far."""
    stored: int | None = None
    """New results in the disk cache so far: as many actions were really run."""
    fetched: int = 0
    """Files downloaded so far."""
    actions: tuple[Action, ...] = ()
    failed: Failed | None = None
    actions_counted: Actions | None = None
    """Bazel's closing count, from version 5 on."""
    exit_name: str = ""
    """Bazel's own name for how it ended: "SUCCESS", "BUILD_FAILURE", "OOM_ERROR"."""


def split(line: str) -> tuple[str, Event | None]:
    """Return what of the line belongs to the log, and the event in it, if there is one.

    An event may end up behind another program's unfinished line.
    """
    before, found, after = line.partition(PREFIX)
    event = _parse(after) if found else None
    return (line, None) if event is None else (before, event)


def counted(counts: Mapping[str, int]) -> Actions | None:
    """Return the actions of Bazel's count by the way in which each was answered; None without."""
    if not counts:
        return None
    kinds = {name: int(number) for name, number in counts.items() if name != "total"}
    cached = sum(number for name, number in kinds.items() if name.endswith("cache hit"))
    total = int(counts.get("total", sum(kinds.values())))
    return Actions(
        total=total, cached=cached, executed=sum(kinds.values()) - cached - kinds.get("internal", 0)
    )


def _parse(text: str) -> Event | None:
    try:
        told = json.loads(text)
        return _event(told) if isinstance(told, dict) else None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        # Any program may print such a line.
        return None


def _event(told: Mapping[str, object]) -> Event:
    def number(name: str) -> int | None:
        return int(str(told[name])) if name in told else None

    actions = cast("list[list[object]]", told.get("actions", []))
    failed = cast("list[object]", told.get("failed", []))
    counts = told.get("counts")
    return Event(
        number=number("n"),
        phase=str(told.get("phase", "")),
        done=number("done"),
        stored=number("stored"),
        fetched=number("fetched") or 0,
        actions=tuple(Action(kind=str(kind), output=str(output)) for kind, output in actions),
        failed=_failed(failed) if failed else None,
        actions_counted=counted(counts) if isinstance(counts, dict) else None,
        exit_name=str(told.get("exit", "")),
    )


def _failed(row: list[object]) -> Failed:
    kind, output, label, code = map(str, row)
    return Failed(kind=kind, output=output, label=label, code=int(code))
