"""A console on which a stranger's text moves no cursor. Imports rich, so only who prints does."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tfbuild.cli.console import plain


class Screen(Console):
    """Rich's console; of what it is given to show, only text arrives at the terminal.

    Names of functions and files, compilers' marks and metadata come from files that nobody has
    vouched for, and Rich hands control characters in a `Text` on as they are.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - Rich's own options
        super().__init__(highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what is printed, piece by piece; Rich's own control codes are left alone."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(plain(segment.text), segment.style)
