"""A place in a text that is read from left to right."""

import re


class NotUnderstoodError(Exception):
    """The text is not what it should be."""


class Cursor:
    """Reads a text; what reads something moves on behind it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self, text: str | tuple[str, ...]) -> bool:
        """Return whether one of these texts comes next."""
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Read a text if it comes next.

        Raises:
            NotUnderstoodError: nothing comes any more.
        """
        if self.at >= len(self.text):
            raise NotUnderstoodError
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def expect(self, text: str) -> None:
        """Read a text that must come next. Raises NotUnderstoodError if it does not."""
        if not self.take(text):
            raise NotUnderstoodError

    def match(self, pattern: re.Pattern[str]) -> str:
        """Read what matches a pattern. Raises NotUnderstoodError if nothing does."""
        found = pattern.match(self.text, self.at)
        if found is None:
            raise NotUnderstoodError
        self.at = found.end()
        return found[0]
