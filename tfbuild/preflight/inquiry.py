"""What is asked, and what several checks need to know: found out once, by whoever is first."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tfbuild.engine.base import NO_SETUP, Engine, Facts, Setup
from tfbuild.errors import EngineError, TfbuildError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe
    from tfbuild.remote import Remote

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A build that somebody wants to start."""

    engine: str
    """The word of `--engine`."""
    output_dir: Path
    recipe: "Recipe | None"
    """None where it is refused."""
    refusals: tuple[TfbuildError, ...] = ()
    """Why there is no recipe; all reasons."""
    jobs: int | None = None
    """What `--jobs` says."""
    replace: bool = False
    """Another recipe's wheel may be replaced."""
    is_bundled: bool = False
    """The source is the rehearsal's workspace, which names no place by itself."""
    setup: Setup = NO_SETUP
    remote: "Remote | None" = None
    """Servers that share results or do the work."""


class Inquiry:
    """A question, and what is known about its engine. Safe to use from several threads."""

    def __init__(self, question: Question, pool: Executor, choose: Callable[[str], Engine]) -> None:
        self.question = question
        self._engine: Future[tuple[Engine, Facts]] = pool.submit(self._choose, choose)
        self._toolchain: Future[bool] = pool.submit(self._has_toolchain)

    def answer(self) -> tuple[Engine, Facts]:
        """Return the engine and what it says about itself. Raises EngineError."""
        return self._engine.result()

    def engine(self) -> Engine | None:
        """Return the engine, None if none answers."""
        return None if self._engine.exception() else self._engine.result()[0]

    def facts(self) -> Facts | None:
        """Return what the engine says about itself, None if none answers."""
        return None if self._engine.exception() else self._engine.result()[1]

    @property
    def is_local(self) -> bool:
        """Whether this machine itself compiles, without a container."""
        return self.question.engine == "local"

    def has_toolchain(self) -> bool:
        """Return whether all that comes before the compile is there: image, or source."""
        return self._toolchain.result()

    def has_image(self, tag: str) -> bool:
        """Return whether the engine has an image of that name."""
        from tfbuild.engine.container import ContainerEngine

        engine = self.engine()
        try:
            return isinstance(engine, ContainerEngine) and engine.client.image(tag) is not None
        except EngineError:
            return False

    def _choose(self, choose: Callable[[str], Engine]) -> tuple[Engine, Facts]:
        engine = choose(self.question.engine)
        return engine, engine.facts()

    def _has_toolchain(self) -> bool:
        from tfbuild.engine.container import image_tag
        from tfbuild.engine.local import LocalEngine

        recipe, engine = self.question.recipe, self.engine()
        if recipe is None:
            return False
        if isinstance(engine, LocalEngine):
            return engine.is_prepared(recipe)
        return self.has_image(image_tag(recipe))
