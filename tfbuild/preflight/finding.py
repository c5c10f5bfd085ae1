"""What a check found, and what all of them found together."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tfbuild import errors
from tfbuild.errors import TfbuildError

State = Literal["ok", "warning", "failure"]
_KINDS = {
    kind.exit_code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, TfbuildError)
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    about: str
    """"engine", "disk": what the table calls it."""
    state: State
    what: str
    why: str = ""
    do: str = ""
    exit_code: int = 0
    """Of the error that a failure is; 0 for anything else."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that was looked at, in the order in which it is told."""

    SCHEMA: ClassVar[str] = "tfbuild.doctor"
    VERSION: ClassVar[int] = 1

    findings: tuple[Finding, ...]
    seconds: float
    """How long it took."""

    @property
    def failures(self) -> tuple[Finding, ...]:
        """What is in the way."""
        return tuple(finding for finding in self.findings if finding.state == "failure")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What may turn out to be in the way."""
        return tuple(finding for finding in self.findings if finding.state == "warning")

    def error(self) -> TfbuildError | None:
        """Return one error that lists all failures, None without any.

        It is of the first one's kind: that decides the exit code. What was asked comes before the
        engine, the engine before disk and network.
        """
        if not self.failures:
            return None
        first = self.failures[0]
        kind = _KINDS.get(first.exit_code, TfbuildError)
        if len(self.failures) == 1:
            return kind(first.what, why=first.why, do=first.do)
        return kind(
            f"The build cannot start: {len(self.failures)} things are in the way.",
            why="\n".join(_item(number, each) for number, each in enumerate(self.failures, 1)),
            do="The whole list, with what is well: tfbuild doctor with the same options.",
        )


def ok(about: str, what: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(about=about, state="ok", what=what)


def warning(about: str, what: str, *, why: str = "", do: str = "") -> Finding:
    """Return a finding that may turn out to be in the way."""
    return Finding(about=about, state="warning", what=what, why=why, do=do)


def failure(about: str, error: TfbuildError) -> Finding:
    """Return a finding that is in the way, as the error that it would be later."""
    return Finding(
        about=about,
        state="failure",
        what=error.what,
        why=error.why,
        do=error.do,
        exit_code=error.exit_code,
    )


def _item(number: int, finding: Finding) -> str:
    rest = [f"   {line}" for part in (finding.why, finding.do) for line in part.splitlines()]
    return "\n".join([f"{number}. {finding.what}", *rest])
