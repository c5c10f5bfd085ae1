"""Picks from Bazel's output the lines that tell what went wrong first.

For an action that fails Bazel prints a head, the command (with --verbose_failures), and what the
command said. Compilers mark their errors; of other programs the first words are kept.
"""

import re

from tfbuild.engine import bazel

MOST = 12
"""Lines that are kept."""
_WORDS = 6
_LONGEST = 400
_HEAD = re.compile(r"^ERROR: .* failed:? \(")
# Between the command and what it said.
_ABOUT = re.compile(r"^(?:#? ?Execution platform:|# Configuration:|Use --sandbox_debug|\s*$)")
_END = re.compile(
    r"^(?:INFO|ERROR|FAILED|WARNING|DEBUG|Analyzing|Loading|tfbuild): ?|^Target //|^\[[\d,]+ / "
)
# What Bazel says beside each error, and no reader needs.
_NOISE = re.compile(
    r"^FAILED: Build did NOT complete|^ERROR: Analysis of target .* failed; build aborted"
    r"|^ERROR: Error fetching repository: Traceback|^ERROR: An error occurred during the fetch"
    r"|^ERROR: Build did NOT complete|^ERROR: error loading package '?external"
)
_TAIL = re.compile(r":? error executing(?: \w+)? command(?: \(from target [^)]*\))?\s*$")


class Excerpt:
    """Takes line by line; keeps few."""

    def __init__(self) -> None:
        self.memory = ""
        """The first line that tells of a lack of memory."""
        self._kept: dict[str, None] = {}
        self._noise: dict[str, None] = {}
        self._words: list[str] = []
        self._in_block = self._in_command = self._has_errors = False

    @property
    def lines(self) -> list[str]:
        """The lines that tell the cause, the first first; what Bazel says at the end if none do."""
        kept = list(self._kept) + self._unmarked()
        return (kept or list(self._noise))[:MOST]

    def take(self, line: str) -> None:
        """Take a line of output."""
        if _END.match(line):
            self._close()
        if self._in_block and self._skips(line):
            return
        if _HEAD.match(line):
            self._in_block, self._has_errors = True, False
        if not self.memory and bazel.is_memory(line, in_failure=self._in_block):
            self.memory = line.strip()[:_LONGEST]
        if _NOISE.match(line):
            self._noise.setdefault(line.strip())
        elif bazel.is_error(line):
            self._has_errors = self._in_block and not _HEAD.match(line)
            self._keep(_TAIL.sub("", line))
        elif self._in_block and len(self._words) < _WORDS:
            self._words.append(line)

    def _skips(self, line: str) -> bool:
        """Return whether the line belongs to the command, and not to what it said."""
        if line.startswith("  (cd "):
            self._in_command = True
        if self._in_command:
            # Its last word closes the parenthesis.
            self._in_command = not line.rstrip().endswith(")")
            return True
        return bool(_ABOUT.match(line))

    def _close(self) -> None:
        """End what an action said; without marked errors its first words are what is known."""
        for line in self._unmarked():
            self._keep(line)
        self._words = []
        self._in_block = self._in_command = self._has_errors = False

    def _unmarked(self) -> list[str]:
        return [] if self._has_errors else [line.rstrip()[:_LONGEST] for line in self._words]

    def _keep(self, line: str) -> None:
        if len(self._kept) < MOST:
            self._kept.setdefault(line.strip()[:_LONGEST])
