"""Goes along the line: engine, toolchain, compile, instructions, index, installers, numbers.

These are the places where a build of hours would fail late.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from tfbuild import build, publish, release, resources
from tfbuild.engine import NO_SETUP, Engine, Setup, tools
from tfbuild.errors import SaveError
from tfbuild.progress import BuildProgress, Silent
from tfbuild.record import BuiltWheel
from tfbuild.rehearse import checks, installers
from tfbuild.rehearse.steps import CheckList, Step, Stopwatch

if TYPE_CHECKING:
    from tfbuild.host import Host
    from tfbuild.recipe import Recipe

_SILENT = Silent()
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A rehearsal in which nothing failed."""

    SCHEMA: ClassVar[str] = "tfbuild.rehearsal"
    VERSION: ClassVar[int] = 1

    target: str
    tensorflow: str
    python: str
    bazel: str
    """Which one the wheel was really compiled with."""
    engine: str
    wheel: BuiltWheel
    steps: tuple[Step, ...]


def copy_workspace(folder: Path, tensorflow: str) -> Path:
    """Copy the bundled workspace; its wheel will say that it is this release.

    Where the release's own tree shares flags with host tools, the copy does too: the recipe must
    prevent that, and the rehearsal sees whether it does.

    Raises:
        SaveError: it cannot be written there.
    """
    try:
        _copy(folder, tensorflow)
    except OSError as error:
        # A copy of many files collects its errors: (from, to, reason) for each.
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise SaveError(
            f"The workspace cannot be copied to {folder}.",
            why=str(first or error),
            do="Free some space there, or name another place: --keep DIR, or TMPDIR.",
        ) from error
    return folder


def _copy(folder: Path, tensorflow: str) -> None:
    shutil.copytree(resources.folder("templates") / "rehearsal", folder)
    (folder / "VERSION").write_text(f"{tensorflow}\n", encoding="utf-8")
    if release.find(tensorflow).distinct_host_configuration:
        shared = "build --distinct_host_configuration=false\n"
        (folder / "release.bazelrc").write_text(shared, encoding="utf-8")
    # Not every installer keeps what may be executed.
    for path in (folder / "configure", *folder.rglob("*.sh")):
        path.chmod(0o755)


def bazel_for(recipe: "Recipe", engine: Engine, url: str) -> str | None:
    """Return what serves in place of the release's Bazel, None where that one can be fetched.

    Args:
        recipe: names the base image whose containers try it.
        engine: asked whether its containers reach the server.
        url: where the release's Bazel comes from.
    """
    if engine.name == "local":
        return None if tools.has_bazel(recipe) else "system"
    place = urlsplit(url)
    port = place.port or _PORTS.get(place.scheme, _PORTS["https"])
    return None if engine.reaches(recipe, place.hostname or "", port) else "apt"


def rehearse(
    recipe: "Recipe",
    engine: Engine,
    folder: Path,
    host: "Host | None",
    progress: BuildProgress = _SILENT,
    *,
    setup: Setup = NO_SETUP,
) -> Rehearsal:
    """Go along the whole line.

    Args:
        recipe: of the bundled workspace (`copy_workspace`).
        engine: where to compile.
        folder: takes the wheel, the index and the environments.
        host: this machine's CPU; None where it cannot be read, and then nothing is run.
        progress: is told what goes on.
        setup: how the toolchain and the compile reach the world.

    Raises:
        EngineError, BuildError, WheelError, PublishError: the first check that failed.
    """
    todo = CheckList(progress)
    with todo.step("engine") as finding:
        facts = engine.facts()
        finding.detail = f"{facts}, {facts.cpus} CPUs, {facts.memory / 2**30:.0f} GiB"
    built = _build(recipe, engine, folder / "wheels", todo, setup)
    wheel = folder / "wheels" / built.file
    with todo.step("instructions") as finding:
        finding.detail = checks.instructions(wheel, recipe.target)
    with todo.step("host tools") as finding:
        finding.detail = checks.host_tools(wheel)
    with todo.step("components") as finding:
        finding.detail = checks.components(wheel, built)
    with todo.step("index") as finding:
        receipt = publish.publish([wheel], folder / "index")[0]
        finding.detail = f"{receipt.requirement}, read back: {receipt.sha256[:12]}"
    why_not = recipe.target.why_not(host) if host else "This host's CPU cannot be read."
    for name, install in (("pip", installers.pip), ("uv", installers.uv)):
        place = folder / f"installed-{name}"
        with todo.step(f"{name} install") as finding:
            finding.detail = install(receipt, recipe.python, place)
        with todo.step(f"{name} run") as finding:
            finding.detail = checks.numbers(place, recipe.python, why_not)
    return Rehearsal(
        target=recipe.target.name,
        tensorflow=recipe.tensorflow,
        python=recipe.python,
        bazel=built.bazel,
        engine=str(facts),
        wheel=built,
        steps=tuple(todo.steps),
    )


def _build(
    recipe: "Recipe", engine: Engine, wheels: Path, todo: CheckList, setup: Setup
) -> BuiltWheel:
    watch = Stopwatch(todo.progress)
    built = build.build(recipe, engine, wheels, watch, setup=setup)
    seconds = watch.times()
    image = built.image.removeprefix("sha256:")[:12] if built.image else "this machine's own"
    todo.add("toolchain", f"{image}, Bazel {built.bazel}", seconds[build.TOOLCHAIN])
    done = built.actions
    counted = f"{done.executed} actions run, {done.cached} from the cache" if done else ""
    todo.add("compile", f"{built.compiler}; {counted}", seconds[build.COMPILING])
    todo.add("label", built.file, seconds[build.LABELLING])
    return built
