"""`--pgo`: options, and the way from them to a recipe with a profile."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfbuild.cli import console, ready
from tfbuild.cli import recipe_options as options

if TYPE_CHECKING:
    from tfbuild.engine import Engine, Setup
    from tfbuild.errors import TfbuildError
    from tfbuild.host import Host
    from tfbuild.pgo import Trainer
    from tfbuild.recipe import Recipe
    from tfbuild.record import BuiltWheel

_PANEL = "Experimental"


class PgoScale(StrEnum):
    """As `tfbuild.bench.Scale`, less the one that takes days with an instrumented wheel."""

    SMOKE = "smoke"
    QUICK = "quick"


Pgo_ = Annotated[
    bool,
    typer.Option(
        "--pgo",
        envvar="TFBUILD_PGO",
        help="Compile twice: first a wheel that counts what it runs while it trains the six "
        "architectures on this machine, then with what it counted.",
        rich_help_panel=_PANEL,
    ),
]
PgoScale_ = Annotated[
    PgoScale,
    typer.Option(
        "--pgo-scale",
        envvar="TFBUILD_PGO_SCALE",
        help="How much of the study's workload is trained for --pgo.",
        rich_help_panel=_PANEL,
    ),
]


def attempt(
    given: Mapping[str, Any], scale: PgoScale
) -> "tuple[Recipe | None, tuple[TfbuildError, ...]]":
    """Return what the wheel that comes of it is like, or all that is wrong with the options.

    This machine has to run what is compiled: whether it can is known before anything is started.
    """
    from tfbuild import pgo
    from tfbuild.errors import HostError

    made, refusals = ready.attempt(**given, instrument=True)
    if made is None:
        return None, refusals
    host = _host()
    try:
        pgo.check_host(made, host)
    except HostError as error:
        return None, (error,)
    known = pgo.cached(made, _choose(given, scale, host)) if host is not None else None
    if known is not None:
        return options.make(**given, profile=known), ()
    return pgo.final_label(made), ()


def profiled(
    given: Mapping[str, Any], engine: "Engine", scale: PgoScale, setup: "Setup"
) -> "Recipe":
    """Compile the instrumented wheel, train it, and return the recipe with its profile.

    What was made before, for the same recipe, is used again.

    Raises:
        TfbuildError: as a build, and as a benchmark.
    """
    from tfbuild import build, pgo

    recipe = options.make(**given, instrument=True)
    host = _host()
    if host is None:
        raise AssertionError
    console.say(f"First the instrumented wheel. Log: {build.log_path(recipe)}")
    console.say("Its training takes what TensorFlow needs beside itself from the package index.")
    choose = _choose(given, scale, host, offline=not setup.network)
    with console.progress() as progress:
        made = pgo.profile(recipe, engine, choose, progress, setup)
    console.say(f"Profile of {made.wheel} ({made.trainer}): {made.path}, {made.sha256[:12]}")
    return options.make(**given, profile=made.path)


def _choose(
    given: Mapping[str, Any], scale: PgoScale, host: "Host", *, offline: bool = False
) -> "Callable[[BuiltWheel], Trainer]":
    from tfbuild import bench, pgo
    from tfbuild.installer import Installer

    installer = Installer(index=given["pip_index"], offline=offline)
    real = pgo.Architectures(host=host, installer=installer, scale=bench.Scale(scale))
    return lambda built: pgo.trainer_for(built, real)


def _host() -> "Host | None":
    from tfbuild import host
    from tfbuild.errors import HostError

    try:
        return host.detect()
    except HostError:
        return None
