"""Runs a recipe on an engine; the wheel and its record appear together, whole or not at all."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from tfbuild import artifact, made, placing, provenance, settings, signals
from tfbuild.attempts import Journal
from tfbuild.engine.base import NO_SETUP, Engine, Facts, Setup
from tfbuild.engine.blame import failure
from tfbuild.engine.watch import Watch
from tfbuild.errors import BuildError, UsageError
from tfbuild.progress import BuildProgress, Silent
from tfbuild.record import BuiltWheel, Checked, record_path
from tfbuild.wheel import label

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

TOOLCHAIN, COMPILING, LABELLING = "Toolchain", "Compiling", "Labelling the wheel"
CHECKING = "Checking the wheel"
"""The phases that a build reports, in their order."""
_SILENT = Silent()


def build(
    recipe: "Recipe",
    engine: Engine,
    output_dir: Path,
    progress: BuildProgress = _SILENT,
    *,
    setup: Setup = NO_SETUP,
    replace_other: bool = False,
    check: Callable[[Path], tuple[Checked, ...]] | None = None,
) -> BuiltWheel:
    """Compile the recipe and put the wheel, with its record, into `output_dir`.

    A wheel of the same recipe that is there already is replaced. One of another recipe that has
    the same name is not, unless `replace_other`: nothing of it is lost by a mistyped option.
    `check` looks at the labelled wheel; what it finds is recorded, and the wheel kept all the same.

    Raises:
        UsageError: a wheel of another recipe is in the way, or the engine's CPU is of another kind.
        EngineError: the engine does not answer, or cannot reach an outside source.
        BuildError: the compile failed; names the log.
        WheelError: what was compiled is no wheel that can be labelled.
        SaveError: the wheel cannot be written.
    """
    facts = engine.facts()
    check_architecture(recipe, facts)
    if not replace_other:
        check_others(recipe, output_dir)
    log = log_path(recipe)
    journal = Journal(recipe, engine.name)
    run = Watch(log, progress, on_finished=journal.finished, secrets=setup.secrets)
    with ExitStack() as stack:
        stack.enter_context(signals.stoppable())
        work = stack.enter_context(placing.workspace(output_dir))
        stack.enter_context(run)
        run.phase(TOOLCHAIN)
        toolchain = engine.prepare(recipe, run.line, setup)
        run.phase(COMPILING)
        on_line = stack.enter_context(journal.kept(run.line))
        start = time.monotonic()
        end = engine.compile(recipe, toolchain, work / "out", on_line, setup)
        seconds = time.monotonic() - start
        attempts = journal.counted(run.actions, run.stored, len(run.failed))
        if end.code != 0:
            raise failure(end, run, facts, _jobs(recipe), network=setup.network)
        run.phase(LABELLING)
        wheel = _only_wheel(work / "out", recipe, log)
        told = made.read(work / "out" / made.FILE)
        record = replace(
            provenance.record(recipe, wheel.name, told),
            engine=str(facts),
            image=toolchain,
            base_digest=engine.base(toolchain),
            base_image=recipe.base_image if toolchain else "",
            actions=run.actions,
            attempts=attempts,
            seconds=round(seconds, 3),
        )
        inside = provenance.inside(record, told)
        labelled = label.relabel(
            wheel, recipe.label, work / "labelled", inside, moment=record.source_date_epoch
        )
        if check is not None:
            run.phase(CHECKING)
            record = replace(record, checks=check(labelled))
        return _finish(labelled, record, recipe, output_dir, replace_other=replace_other)


def _jobs(recipe: "Recipe") -> int | None:
    jobs = json.loads(recipe.files["recipe.json"])["jobs"]
    return None if jobs is None else int(jobs)


def log_path(recipe: "Recipe") -> Path:
    """Return where the full output of the recipe's last build is kept."""
    name = f"{recipe.tensorflow}-py{recipe.python}-{recipe.label}-{recipe.digest[:8]}.log"
    return settings.cache_folder("logs") / name


def check_architecture(recipe: "Recipe", facts: Facts) -> None:
    """Raise UsageError when the engine's CPU is of another kind than the recipe's."""
    if facts.architecture != recipe.target.architecture:
        raise UsageError(
            f"{recipe.target.name} is {recipe.target.architecture}; {facts.name} runs on "
            f"{facts.architecture}.",
            why="A recipe compiles on the architecture that it compiles for; under an emulator the "
            "compile would take days, so tfbuild does not start one.",
            do=f"Use an engine on {recipe.target.architecture} (DOCKER_HOST names another one), "
            "or a target of this architecture: tfbuild targets",
        )


def check_others(recipe: "Recipe", output_dir: Path) -> None:
    """Refuse before hours of work what `_finish` would refuse after them. Raises UsageError."""
    for path in sorted(output_dir.glob("*.whl.json")):
        try:
            record = artifact.load(BuiltWheel, path)
        except UsageError:
            continue
        same = (record.tensorflow, record.python, record.architecture) == (
            recipe.tensorflow,
            recipe.python,
            recipe.target.architecture,
        )
        if same and record.version.endswith(f"+{recipe.label}"):
            _check_other(output_dir / record.file, recipe)


def _check_other(wheel: Path, recipe: "Recipe") -> None:
    if not wheel.exists():
        return
    try:
        record = artifact.load(BuiltWheel, record_path(wheel))
    except UsageError:
        record = None
    if record is None or record.recipe_digest != recipe.digest:
        made = f"By recipe {record.recipe_digest[:12]}" if record else "It has no record"
        raise UsageError(
            f"{wheel} is there and was not made by this recipe ({recipe.digest[:12]}).",
            why=f"{made}; its options, sources or tfbuild differ.",
            do="Replace it with --replace, or name another --output-dir.",
        )


def _only_wheel(out: Path, recipe: "Recipe", log: Path) -> Path:
    wheels = sorted(out.glob("*.whl"))
    if len(wheels) != 1 or not (out / made.FILE).is_file():
        raise BuildError(
            "The build script did not leave one wheel and its build.json.",
            why=f"It left: {', '.join(sorted(path.name for path in out.glob('*'))) or 'nothing'}.",
            do=f"The whole output is in {log}",
        )
    try:
        tags = parse_wheel_filename(wheels[0].name)[3]
    except InvalidWheelFilename as error:
        raise BuildError("What was compiled is no wheel.", why=str(error)) from error
    wanted = f"cp{recipe.python.replace('.', '')}"
    if not any(tag.interpreter in {wanted, "py3"} or tag.abi == "abi3" for tag in tags):
        raise BuildError(
            f"{wheels[0].name} is not for Python {recipe.python}.",
            why="The build found another Python than the recipe names.",
            do=f"The whole output is in {log}",
        )
    return wheels[0]


def _finish(
    labelled: Path,
    record: BuiltWheel,
    recipe: "Recipe",
    output_dir: Path,
    *,
    replace_other: bool,
) -> BuiltWheel:
    """Move the wheel and its record to their place."""
    final = replace(record, sha256=artifact.sha256(labelled), size=labelled.stat().st_size)
    place = output_dir / labelled.name
    if not replace_other:
        try:
            _check_other(place, recipe)
        except UsageError as error:
            place = settings.cache_folder("wheels") / recipe.digest[:16] / labelled.name
            placing.put(labelled, place, final)
            raise UsageError(error.what, why=error.why, do=f"The new wheel is {place}") from error
    placing.put(labelled, place, final)
    return final
