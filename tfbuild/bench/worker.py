"""One conversation with the worker: a fresh process inside a measured environment.

The request is one JSON object on its standard input. The answer is JSON lines on its standard
output, each with an `event`: environment, start, sample, peak, done, or error. Whatever libraries
say goes to standard error and is only looked at when something fails.
"""

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tfbuild import process, resources
from tfbuild.bench import failure, memory, oom, variables
from tfbuild.bench.failure import Failure
from tfbuild.bench.listener import Listener, Software
from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import Peak, Plan, Sample
from tfbuild.process import ProcessError

__all__ = ["Answer", "Request", "Software", "ask"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """All that one process said, and what it used."""

    software: Software
    samples: tuple[Sample, ...]
    peak_rss_bytes: int | None
    seconds: float
    cpu_seconds: float
    involuntary_switches: int
    startup_seconds: float | None = None
    peak: Peak | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one process is asked to do; no architectures asks for the environment alone."""

    architectures: tuple[str, ...]
    plan: Plan
    setting: Setting
    seed: int
    data_folder: Path | None
    layers: bool = False
    """Whether samples tell the model's layers."""
    peak: bool = False
    """Whether to measure what the libraries reach at most."""

    def to_json(self) -> str:
        """Return the request as the worker reads it."""
        folder = None if self.data_folder is None else str(self.data_folder)
        request = {
            "architectures": self.architectures,
            "scale": self.plan.scale,
            "seed": self.seed,
            "setting": {**msgspec.to_builtins(self.setting), "cpus": self.setting.cpus or None},
            "data": {"folder": folder, "mode": self.plan.data},
            "layers": self.layers,
            "peak": self.peak,
            "script": self._script(),
        }
        return msgspec.json.encode(request).decode()

    def _script(self) -> dict[str, object] | None:
        script = self.plan.script
        if script is None or not self.architectures:
            return None
        return {"path": script.path, "name": script.name, "arguments": script.arguments}


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
    listener = Listener(name=name, on_start=on_start)
    kills = oom.kills()
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    try:
        with memory.of_node(request.setting.numa_node):
            done = process.stream(
                [python, program(script)],
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
        raise failure.explain(
            Failure(
                name=name,
                doing=listener.doing,
                done=done,
                error=listener.error,
                before=kills,
                after=oom.kills(),
            )
        )
    return Answer(
        software=listener.finish(request.architectures, peak=request.peak),
        samples=tuple(listener.samples),
        peak_rss_bytes=listener.peak_rss_bytes,
        startup_seconds=listener.startup_seconds,
        peak=listener.peak,
        seconds=seconds,
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        involuntary_switches=after.ru_nivcsw - before.ru_nivcsw,
    )


def program(script: Path | None) -> Path:
    """Return what runs inside the environment: what is given, or the worker of tfbuild."""
    return script or resources.folder("benchmarks") / "worker.py"
