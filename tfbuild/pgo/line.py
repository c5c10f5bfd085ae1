"""The steps: instrumented wheel, training, profile. Each is kept, so that a run can go on."""

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import artifact, build, settings
from tfbuild.engine.base import NO_SETUP, Engine, Setup
from tfbuild.errors import HostError, SaveError, UsageError
from tfbuild.pgo import counts
from tfbuild.pgo.train import Trainer
from tfbuild.progress import BuildProgress
from tfbuild.record import BuiltWheel, record_path

if TYPE_CHECKING:
    from tfbuild.host import Host
    from tfbuild.recipe import Recipe

NOTICE = "--pgo is experimental: it compiles twice, and what it gains has to be measured."
Choose = Callable[[BuiltWheel], Trainer]
_SHORT = 16


@dataclass(frozen=True, kw_only=True)
class Made:
    """A profile, and what it came from."""

    path: Path
    sha256: str
    wheel: str
    """File name of the instrumented wheel."""
    trainer: str


def check_host(recipe: "Recipe", host: "Host | None") -> None:
    """Raise HostError when the wheel could not be trained here."""
    why = recipe.target.why_not(host) if host is not None else "This host's CPU cannot be read."
    if why:
        raise HostError(
            "--pgo trains on this machine, which cannot run the wheel.",
            why=why,
            do="Run it on a machine of the target's kind, or leave --pgo out.",
        )


def final_label(recipe: "Recipe") -> "Recipe":
    """Return the instrumented recipe under the label of the wheel that comes of it.

    Whether a wheel is in that one's way can be told before the profile is there.
    """
    label = recipe.label.replace(".instrumented", ".pgo")
    return replace(recipe, label=label, notices=(NOTICE,))


def cached(recipe: "Recipe", choose: Choose) -> Path | None:
    """Return the profile of the recipe's training if it was made before; arguments as `profile`."""
    kept = _kept(recipe)
    place = None if kept is None else _place(recipe, choose(kept[1]))
    return place if place is not None and place.is_file() else None


def profile(
    recipe: "Recipe",
    engine: Engine,
    choose: Choose,
    progress: BuildProgress,
    setup: Setup = NO_SETUP,
) -> Made:
    """Return a profile of the recipe's training: from the cache, or made.

    Args:
        recipe: of the instrumented wheel.
        engine: compiles it.
        choose: says what to run with it.
        progress: is told what goes on.
        setup: how the compile reaches the world.

    Raises:
        TfbuildError: as `build.build`, `Trainer.train` and `counts.merge`.
    """
    with _in_use(_folder(recipe)):
        return _profile(recipe, engine, choose, progress, setup)


def _profile(
    recipe: "Recipe", engine: Engine, choose: Choose, progress: BuildProgress, setup: Setup
) -> Made:
    kept = _kept(recipe)
    if kept is None:
        folder = _folder(recipe)
        record = build.build(recipe, engine, folder, progress, setup=setup, replace_other=True)
        kept = folder / record.file, record
    wheel, trainer = kept[0], choose(kept[1])
    place = _place(recipe, trainer)
    if not place.is_file():
        try:
            counted = tempfile.TemporaryDirectory(dir=place.parent, prefix=".counts-")
        except OSError as error:
            raise SaveError(
                f"Cannot write below {place.parent}.", why=error.strerror or str(error)
            ) from error
        with counted as name:
            here = Path(name)
            trainer.train(wheel, recipe.python, counts.variables(recipe, here), progress)
            progress.phase("Merging the counts")
            counts.merge(recipe, engine, here, place, setup)
    return Made(path=place, sha256=artifact.sha256(place), wheel=wheel.name, trainer=trainer.name)


@contextmanager
def _in_use(folder: Path) -> Iterator[None]:
    """Keep `tfbuild cache prune` from the folder, not another build."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = (folder.parent / f".{folder.name}.lock").open("ab")
    except OSError as error:
        raise SaveError(
            f"Cannot write below {folder.parent}.", why=error.strerror or str(error)
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _kept(recipe: "Recipe") -> tuple[Path, BuiltWheel] | None:
    """Return the instrumented wheel and its record, None if it was not compiled yet."""
    folder = _folder(recipe)
    for path in sorted(folder.glob("*.whl.json")):
        try:
            record = artifact.load(BuiltWheel, path)
        except UsageError:
            continue
        wheel = folder / record.file
        if record.recipe_digest == recipe.digest and wheel.is_file() and record_path(wheel) == path:
            return wheel, record
    return None


def _place(recipe: "Recipe", trainer: Trainer) -> Path:
    return _folder(recipe) / f"profile-{trainer.name}{counts.suffix(recipe)}"


def _folder(recipe: "Recipe") -> Path:
    return settings.cache_folder("pgo") / recipe.digest[:_SHORT]
