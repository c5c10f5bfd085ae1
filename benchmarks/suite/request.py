"""What the worker is asked to do, checked; and the process put where it shall run.

Nothing but the standard library may be imported here: libraries count the CPUs when they load.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from suite.talk import RequestError, asked
from suite.workload import SCALES

ARCHITECTURES = (
    "mnist_mlp",
    "mnist_cnn",
    "cifar10_cnn",
    "imdb_fasttext",
    "imdb_bidirectional_lstm",
    "lstm_text_generation",
)
MODES = ("auto", "real", "generated")
ALLOCATORS = ("system", "jemalloc", "tcmalloc", "mimalloc")


@dataclass(frozen=True)
class Setting:
    """How to run; None leaves it to TensorFlow, or to whoever started the process.

    `numa_node` is bound from outside, and `cores` is for the record: both only pass through.
    """

    cpus: list[int] | None = None
    cores: int | None = None
    numa_node: int | None = None
    intra_threads: int | None = None
    inter_threads: int | None = None
    omp_threads: int | None = None
    onednn: bool | None = None
    batch: int | None = None
    xla: bool = False
    allocator: str = "system"


@dataclass(frozen=True)
class Script:
    """A user's training script."""

    path: Path
    name: str
    arguments: list[str]


@dataclass(frozen=True)
class Request:
    """All that one process is asked to do."""

    architectures: list[str]
    scale: str
    seed: int
    folder: Path | None
    mode: str
    setting: Setting
    layers: bool
    peak: bool
    script: Script | None


def read(text: str) -> Request:
    """Return the request.

    Raises:
        RequestError: it is no JSON object, or holds what the worker does not know.
    """
    given = asked(text)
    script = _script(given.get("script"))
    known = ARCHITECTURES if script is None else (script.name,)
    data = _object(given, "data")
    folder = data.get("folder")
    _demand(folder is None or isinstance(folder, str), "data.folder must be null or a path")
    return Request(
        architectures=_names(given.get("architectures"), known),
        scale=_one_of(given.get("scale", "quick"), SCALES, "scale"),
        seed=_whole(given.get("seed", 0), 0, "seed"),
        folder=Path(folder) if folder else None,
        mode=_one_of(data.get("mode", "auto"), MODES, "data.mode"),
        setting=_setting(_object(given, "setting")),
        layers=_truth(given.get("layers", False), "layers"),
        peak=_truth(given.get("peak", False), "peak"),
        script=script,
    )


def place(setting: Setting) -> None:
    """Bind this process to the CPUs asked for, and see that it is so.

    Raises:
        RequestError: the kernel does not let it run on all of them, or an allocator is missing.
    """
    if setting.cpus is not None:
        wanted = set(setting.cpus)
        try:
            os.sched_setaffinity(0, wanted)
        except (OSError, AttributeError, OverflowError) as error:
            raise RequestError(f"cpus {sorted(wanted)} cannot be used: {error}") from error
        # The kernel leaves out those of another cgroup or switched off, and says nothing.
        got = os.sched_getaffinity(0)
        _demand(
            got == wanted,
            f"cpus {sorted(wanted)} were asked for, and {sorted(got)} may be used",
        )
    if setting.allocator != "system":
        # The loader only warns of a library that it cannot preload.
        loaded = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        _demand(
            setting.allocator in loaded,
            f"{setting.allocator} was asked for and is not loaded; LD_PRELOAD has to name it",
        )


def _demand(is_so: bool, message: str) -> None:
    if not is_so:
        raise RequestError(message)


def _object(given: dict[str, Any], name: str) -> dict[str, Any]:
    value = given.get(name) or {}
    _demand(isinstance(value, dict), f"{name} must be an object")
    return dict(value)


def _names(given: Any, known: tuple[str, ...]) -> list[str]:
    names = list(known) if given is None else given
    _demand(isinstance(names, list), "architectures must be a list of names")
    for name in names:
        _demand(name in known, f"unknown architecture {name!r}; known: {', '.join(known)}")
    return list(names)


def _one_of(value: Any, known: tuple[str, ...], name: str) -> str:
    _demand(value in known, f"unknown {name} {value!r}; known: {', '.join(known)}")
    return str(value)


def _truth(value: Any, name: str) -> bool:
    _demand(isinstance(value, bool), f"{name} must be true or false")
    return bool(value)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _whole(value: Any, least: int, name: str) -> int:
    _demand(_is_whole(value, least), f"{name} must be a whole number from {least}")
    return int(value)


def _setting(given: dict[str, Any]) -> Setting:
    known = [field.name for field in fields(Setting)]
    for name in given:
        _demand(name in known, f"unknown setting {name!r}; known: {', '.join(known)}")
    for name in ("intra_threads", "inter_threads", "omp_threads", "batch", "cores", "numa_node"):
        least = 0 if name == "numa_node" else 1
        value = given.get(name)
        _demand(
            value is None or _is_whole(value, least),
            f"{name} must be null or a whole number from {least}",
        )
    cpus = given.get("cpus")
    if cpus is not None:
        _demand(isinstance(cpus, list) and bool(cpus), "cpus must be null or a list of CPUs")
        _demand(all(_is_whole(cpu, 0) for cpu in cpus), "cpus must be whole numbers from 0")
    onednn = given.get("onednn")
    _demand(onednn is None or isinstance(onednn, bool), "onednn must be null, true or false")
    _truth(given.get("xla", False), "xla")
    _one_of(given.get("allocator", "system"), ALLOCATORS, "allocator")
    return Setting(**given)


def _script(given: Any) -> Script | None:
    if given is None:
        return None
    _demand(isinstance(given, dict), "script must be null or an object")
    path, name, arguments = given.get("path"), given.get("name"), given.get("arguments") or []
    _demand(isinstance(path, str) and bool(path), "script.path must be a path")
    is_list = isinstance(arguments, list) and all(isinstance(each, str) for each in arguments)
    _demand(is_list, "script.arguments must be a list of texts")
    _demand(name is None or isinstance(name, str), "script.name must be a text")
    return Script(Path(path), name or Path(path).stem, list(arguments))
