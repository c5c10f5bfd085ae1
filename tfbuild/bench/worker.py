"""One conversation with the worker: a fresh process inside a measured environment.

The request is one JSON object on its standard input. The answer is JSON lines on its standard
output, each with an `event`: environment, start, sample, done, or error. Whatever libraries say
goes to standard error and is only looked at when something fails.
"""

import json
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tfbuild import process, resources
from tfbuild.bench import failure, variables
from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import Plan, Sample
from tfbuild.errors import BenchError
from tfbuild.process import ProcessError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Software:
    """The `environment` event: what the libraries in the process say of themselves."""

    python: str
    tensorflow: str
    keras: str
    numpy: str
    onednn: bool | None
    intra_threads: int
    inter_threads: int
    cpu_features_built: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """All that one process said, and what it used."""

    software: Software
    samples: tuple[Sample, ...]
    peak_rss_bytes: int | None
    seconds: float
    cpu_seconds: float
    involuntary_switches: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one process is asked to do; no architectures asks for the environment alone."""

    architectures: tuple[str, ...]
    plan: Plan
    setting: Setting
    seed: int
    data_folder: Path | None

    def to_json(self) -> str:
        """Return the request as the worker reads it."""
        folder = None if self.data_folder is None else str(self.data_folder)
        request = {
            "architectures": self.architectures,
            "scale": self.plan.scale,
            "seed": self.seed,
            "setting": msgspec.to_builtins(self.setting),
            "data": {"folder": folder, "mode": self.plan.data},
        }
        return msgspec.json.encode(request).decode()


def ask(
    python: Path,
    request: Request,
    *,
    name: str,
    chosen: Mapping[str, str],
    on_start: Callable[[str], None],
    script: Path | None = None,
) -> Answer:
    """Start a process, hand it the request, and return what it said.

    Args:
        python: the environment's interpreter.
        request: what to do.
        name: the environment in the user's words, for errors.
        chosen: as `variables.settings` returns.
        on_start: called with each architecture when its training begins.
        script: the worker; the one that ships with tfbuild if None.

    Raises:
        HostError: this CPU lacks instructions that the wheel uses.
        BenchError: the process failed, hung, or said something else than agreed.
    """
    listener = _Listener(name=name, on_start=on_start)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    try:
        done = process.stream(
            [python, script or resources.folder("benchmarks") / "worker.py"],
            listener.hear,
            env=variables.environment(chosen, os.environ),
            timeout=request.plan.timeout,
            input_text=request.to_json(),
            merge=False,
            check=False,
        )
    except ProcessError as error:
        raise failure.from_process(name, listener.doing, error) from error
    seconds = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if listener.error or not done.ok:
        raise failure.explain(name, listener.doing, done, listener.error)
    software, peak = listener.finish(request.architectures)
    return Answer(
        software=software,
        samples=tuple(listener.samples),
        peak_rss_bytes=peak,
        seconds=seconds,
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        involuntary_switches=after.ru_nivcsw - before.ru_nivcsw,
    )


@dataclass(kw_only=True)
class _Listener:
    """Takes the lines of one process as they come."""

    name: str
    on_start: Callable[[str], None]
    doing: str = ""
    error: str = ""
    software: Software | None = None
    done: dict[str, Any] | None = None
    samples: list[Sample] = field(default_factory=list)

    def hear(self, line: str) -> None:
        event = self._decode(line)
        match event.get("event"):
            case "environment":
                self.software = self._convert(event, Software)
            case "start":
                self.doing = str(event.get("architecture"))
                self.on_start(self.doing)
            case "sample":
                self.samples.append(self._convert(event, Sample))
                self.doing = ""
            case "error":
                self.error = str(event.get("message", line))
            case "done":
                self.done = event
            case _:
                raise self._misunderstood(line, "The event is unknown.")

    def finish(self, asked: Sequence[str]) -> tuple[Software, int | None]:
        heard = [sample.architecture for sample in self.samples]
        if self.software is None or self.done is None or heard != list(asked):
            raise BenchError(
                f"The training process of {self.name} ended early.",
                why=f"It was asked for {', '.join(asked) or 'its environment'} and "
                f"answered {', '.join(heard) or 'nothing'}.",
            )
        peak = self.done.get("peak_rss_bytes")
        return self.software, peak if isinstance(peak, int) else None

    def _decode(self, line: str) -> dict[str, Any]:
        try:
            # The standard library's reader, because Python writes NaN for a loss that diverged.
            event = json.loads(line, parse_constant=lambda _: None)
        except ValueError as error:
            raise self._misunderstood(line, str(error)) from error
        return event if isinstance(event, dict) else {}

    def _convert(self, event: dict[str, Any], kind: type[T]) -> T:
        try:
            return msgspec.convert(event, kind)
        except msgspec.ValidationError as error:
            raise self._misunderstood(str(event), str(error)) from error

    def _misunderstood(self, line: str, why: str) -> BenchError:
        return BenchError(
            f"The training process of {self.name} said something unexpected.",
            why=f"{why}\n{line[:500]}",
            do="Something in that environment writes to standard output; look at its packages.",
        )
