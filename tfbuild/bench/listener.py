"""Takes the lines of one training process as they come, and believes none of them unread."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from tfbuild.bench.suite import Peak, Sample
from tfbuild.errors import BenchError

T = TypeVar("T")

_SHOWN = 500
"""Letters of a line that was not understood."""


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


@dataclass(kw_only=True)
class Listener:
    """What one process has said so far."""

    name: str
    """The contender in the user's words, for errors."""
    on_start: Callable[[str], None]
    doing: str = ""
    """The architecture in training, or "" outside one."""
    error: str = ""
    software: Software | None = None
    startup_seconds: float | None = None
    peak: Peak | None = None
    done: dict[str, Any] | None = None
    samples: list[Sample] = field(default_factory=list)

    def hear(self, line: str) -> None:
        """Take one line. Raises BenchError where it is none that was agreed on."""
        event = self._decode(line)
        match event.get("event"):
            case "environment":
                self.software = self._convert(event, Software)
                self.startup_seconds = _positive(event.get("startup_seconds"))
            case "start":
                self.doing = str(event.get("architecture"))
                self.on_start(self.doing)
            case "sample":
                self.samples.append(self._sample(event, line))
                self.doing = ""
            case "peak":
                self.peak = self._peak(event, line)
            case "error":
                self.error = str(event.get("message", line))
            case "done":
                self.done = event
            case _:
                raise self._misunderstood(line, "The event is unknown.")

    def finish(self, asked: Sequence[str], *, peak: bool) -> Software:
        """Return the software, once all that was asked for has been answered."""
        heard = [sample.architecture for sample in self.samples]
        is_whole = heard == list(asked) and (self.peak is not None or not peak)
        if self.software is None or self.done is None or not is_whole:
            wanted = "the peak" if peak else "its environment"
            raise BenchError(
                f"The training process of {self.name} ended early.",
                why=f"It was asked for {', '.join(asked) or wanted} and "
                f"answered {', '.join(heard) or 'nothing'}.",
            )
        return self.software

    @property
    def peak_rss_bytes(self) -> int | None:
        """The most memory that the process had."""
        found = (self.done or {}).get("peak_rss_bytes")
        return found if isinstance(found, int) else None

    def _sample(self, event: dict[str, Any], line: str) -> Sample:
        sample = self._convert(event, Sample)
        if not sample.is_timed:
            why = "A sample holds no time, or one that is not positive."
            raise self._misunderstood(line, why)
        return sample

    def _peak(self, event: dict[str, Any], line: str) -> Peak:
        peak = self._convert(event, Peak)
        if _positive(peak.gflops) is None or _positive(peak.gbytes) is None:
            raise self._misunderstood(line, "A peak is no positive number.")
        return peak

    def _decode(self, line: str) -> dict[str, Any]:
        try:
            # The standard library's reader, because Python writes NaN for a loss that diverged.
            event = json.loads(line, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
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
            why=f"{why}\n{line[:_SHOWN]}",
            do="Something in that environment writes to standard output; look at its packages.",
        )


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < math.inf else None
