"""Reads in Bazel's output what a remote cache or remote execution did wrong.

Bazel goes on without an HTTP cache, with a warning in the log; it ends when a gRPC server does not
answer. A user has to hear of both.
"""

import re
from collections.abc import Iterable

from tfbuild.errors import EngineError

# Bazel's exit codes: a remote server failed; Bazel crashed; a server lost what it had promised.
_FAILED, _CRASHED, _LOST = 34, 37, 39
_WARNING = re.compile(
    r"^WARNING: (?:(?P<way>Reading from|Writing to) )?Remote Cache:\s*(?P<why>.*)$"
    r"|^WARNING: Failed to query remote execution capabilities: (?P<silent>.*)$"
)
_ERROR = re.compile(
    r"^ERROR: (?:Failed to query remote execution capabilities: )?(?P<why>"
    r".*\b(?:UNAUTHENTICATED|PERMISSION_DENIED|UNAVAILABLE|UNIMPLEMENTED|INVALID_ARGUMENT"
    r"|NOT_FOUND|RESOURCE_EXHAUSTED|FAILED_PRECONDITION|DEADLINE_EXCEEDED|INTERNAL)\b.*"
    r"|.*API version .* not supported by the server.*"
    r"|(?<=capabilities: ).*)$"
)
_CAUSE = re.compile(
    r"(?:^|[ :.])(?:(?:SSLHandshakeException|ValidatorException|SunCertPathBuilderException"
    r"|StatusRuntimeException): )(?P<why>.*)$"
)
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+(?:[\w$]+\.)*[\w$]*(?:Exception|Error): ")
_WAYS = {"Reading from": "gives nothing", "Writing to": "takes nothing"}
_LONGEST = 300
_ADVICE = {
    "UNAUTHENTICATED|401": "Give it the header that it asks for: --remote-header-file FILE",
    "PERMISSION_DENIED|403": "These credentials may not do this. To take results and give none: "
    "--remote-read-only",
    "API version": "Take a server that speaks this Bazel's version of the protocol (Bazel 4 to 6: "
    "2.0), or leave the server out: what is compiled here stays in the local cache.",
    "instance": "Name the server's instance: --remote-instance NAME",
    "certification path|CERTIFICATE|SSL|handshake": "Name the authority of its certificate: "
    "--remote-ca FILE; for Bazel 4 and https:// it is --ca-certificate FILE",
    "refused|UNAVAILABLE|nknown|resolve|timed out|DEADLINE": "Is the server up, and reached from "
    "where it compiles? To go on without it: --remote-local-fallback",
}


class Complaints:
    """Turns Bazel's warnings about servers into a note each, one of a kind."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._way: str | None = None

    def line(self, line: str) -> str | None:
        """Take a line of the log; return a sentence for the user, or None."""
        way, self._way = self._way, None
        if way is not None:
            if line.startswith("\tat ") or "errors during bulk transfer" in line:
                self._way = way
                return None
            # With --verbose_failures the reason stands in the next line, or below a stack.
            return self._note(way, line.strip().removeprefix("Suppressed: "))
        found = _WARNING.match(line)
        if not found:
            return None
        if found["silent"] is not None:
            return self._note("does not answer", found["silent"])
        way = _WAYS.get(found["way"] or "", "fails")
        if found["why"]:
            return self._note(way, found["why"])
        self._way = way
        return None

    def _note(self, way: str, why: str) -> str | None:
        if way in self._told:
            return None
        self._told.add(way)
        reason = _plain(why)
        does = (
            "this machine does the work itself" if way != "takes nothing" else "results stay here"
        )
        return f"note: the remote server {way}, so {does}: {reason}. {advice(reason)}".rstrip()


def error(code: int, lines: Iterable[str], log: str) -> EngineError | None:
    """Return the error for a build that a remote server has ended, None for another one.

    Args:
        code: how Bazel ended.
        lines: the end of its output.
        log: the sentence that names the log.
    """
    found = list(lines)
    causes = [match["why"] for line in found if (match := _CAUSE.search(line))]
    reasons = [match["why"] for line in found if (match := _ERROR.match(line))]
    is_handshake = any("certification path" in cause for cause in causes)
    if code == _LOST:
        return EngineError(
            "The remote cache has lost results while they were needed.",
            why=_plain((reasons or _last(found))[-1]),
            do=f"Run the same command again. {log}",
        )
    if code != _FAILED and not (code == _CRASHED and is_handshake):
        return None
    reason = _plain((causes if is_handshake else reasons or causes or _last(found))[-1])
    return EngineError(
        "The remote server failed, and Bazel ended.", why=reason, do=f"{advice(reason)}\n{log}"
    )


def advice(reason: str) -> str:
    """Return what to do about a server's reason, "" where nothing is known to help."""
    return next((do for words, do in _ADVICE.items() if re.search(words, reason)), "")


def _last(lines: list[str]) -> list[str]:
    said = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return said or ["Bazel gave no reason."]


def _plain(reason: str) -> str:
    """Return a reason without the names of Java's classes in front of it."""
    text = reason.strip()
    while found := _CLASS.match(text):
        text = text[found.end() :]
    return text[:_LONGEST].rstrip(".")
