"""A bar at a terminal. Imports rich, so only who shows one imports this."""

from collections.abc import Iterable
from datetime import timedelta

from rich import progress
from rich.console import RenderableType
from rich.text import Text

from tfbuild.cli import console, live
from tfbuild.progress import Course

_NAME = 60


class Bar:
    """The phase and how far it is; for a build what is known of it, and what runs now."""

    def __init__(self) -> None:
        # Two refreshes a second: more would take processor time from what is measured.
        self._bar = _Lines(
            _Spinner(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=30),
            progress.MofNCompleteColumn(),
            _Elapsed(),
            _Left(),
            console=console.messages(),
            refresh_per_second=2,
            transient=True,
        )
        self._bar.start()
        self._task: progress.TaskID | None = None
        self._name = ""

    def phase(self, text: str, total: int | None = None) -> None:
        """Start a new bar."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._bar.below = ()
        self._name = text
        self._task = self._bar.add_task(text, total=total, is_build=False)

    def step(self, done: int, total: int | None = None, text: str = "") -> None:
        """Move the bar."""
        if self._task is None:
            return
        name = f"{self._name}: {text}" if text else self._name
        self._bar.update(self._task, completed=done, description=name[:_NAME])
        if total is not None:
            self._bar.update(self._task, total=total)

    def course(self, course: Course) -> None:
        """Move the bar, and tell below it what is known."""
        if self._task is None:
            return
        self._bar.below = tuple(filter(None, (", ".join(live.facts(course)), course.now)))
        name = course.phase or self._name
        self._bar.update(self._task, completed=course.done, description=name, is_build=True)
        if course.total is not None:
            self._bar.update(self._task, total=course.total)

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self._bar.console.print(text, markup=False)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()


class _Lines(progress.Progress):
    """A bar with lines below it."""

    below: tuple[str, ...] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        for line in self.below:
            yield Text(f"  {line}", no_wrap=True, overflow="ellipsis")


class _Spinner(progress.SpinnerColumn):
    """Turns on when all that is known is done: Bazel may find more, or the wheel be packed."""

    def render(self, task: progress.Task) -> RenderableType:
        return self.spinner.render(task.get_time())


class _Elapsed(progress.TimeElapsedColumn):
    """Goes on for the same reason."""

    def render(self, task: progress.Task) -> Text:
        return Text(str(timedelta(seconds=int(task.elapsed or 0))), style="progress.elapsed")


class _Left(progress.TimeRemainingColumn):
    """Rich's own estimate, but for builds: theirs stands below, where there is an honest one."""

    def render(self, task: progress.Task) -> Text:
        return Text() if task.fields["is_build"] else super().render(task)
