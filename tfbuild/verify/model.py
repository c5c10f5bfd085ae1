"""What a verification finds."""

from dataclasses import dataclass
from typing import ClassVar, Literal

Status = Literal["passed", "warning", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    """"record", "instructions", "training": what `--skip` takes."""
    status: Status
    found: str
    """What was found, in one sentence; skipped: why."""
    details: tuple[str, ...] = ()
    """The evidence, one item a line: files, functions, numbers."""
    why: str = ""
    """Failed or warning: the cause, as far as it is known."""
    do: str = ""
    """Failed or warning: the next thing to do."""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """All checks of one wheel, or of one installed distribution."""

    SCHEMA: ClassVar[str] = "tfbuild.verification"
    VERSION: ClassVar[int] = 1

    wheel: str
    """File name; the .dist-info folder of what is installed."""
    sha256: str | None
    """Of the wheel; None for an installed one."""
    target: str | None
    """The target that its code was checked against; None where none is known."""
    checks: tuple[Check, ...]
    """In the order in which they were done."""

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if check.status == "failed")

    @property
    def is_good(self) -> bool:
        """Whether nothing failed (warnings and skipped checks do not count)."""
        return not self.failed
