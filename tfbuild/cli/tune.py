"""`tfbuild tune`: which settings make training fastest here, and what they gain."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import schema_option
from tfbuild.cli.spread import spread
from tfbuild.cli.tune_options import TuneOptions

if TYPE_CHECKING:
    from tfbuild.bench import Plan
    from tfbuild.progress import Progress
    from tfbuild.tune import Task, Tuning


def _tuning() -> "type[Tuning]":
    from tfbuild.tune import Tuning

    return Tuning


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="tune", no_args_is_help=True)(tune)


@spread(TuneOptions)
def tune(
    ctx: typer.Context,
    options: TuneOptions,
    spec: Annotated[
        str | None,
        typer.Argument(
            help="pip, compiled, a wheel, a requirement, or a Python that has TensorFlow.",
            show_default=False,
        ),
    ] = None,
    _json_schema: Annotated[bool, schema_option.option(_tuning)] = False,
) -> None:
    """Search threads, CPUs, oneDNN, XLA and allocators for the fastest setting here.

    Candidates run in paired rounds. The best one is then confirmed against the
    default in fresh rounds, because the best of several noisy values looks better
    than it is. "The default is best" is a result too.

    Example: tfbuild tune pip --workload train.py --max-time 30m
    """
    from tfbuild import artifact
    from tfbuild.cli import console, tune_shown

    found, path = _resumed(ctx, options, spec) if options.resume else _new(options, spec)
    if options.json:
        sys.stdout.write(artifact.to_json(found))
        return
    tune_shown.shown(found, path, console.results())


def _new(options: TuneOptions, spec: str | None) -> "tuple[Tuning, Path]":
    from tfbuild import artifact, signals
    from tfbuild import tune as room
    from tfbuild.bench import Around, placement
    from tfbuild.choice import choose
    from tfbuild.cli import console, measuring, repeating, resumed
    from tfbuild.environment import here as places
    from tfbuild.environment import prepare
    from tfbuild.spec import parse
    from tfbuild.tune.candidates import named

    what = parse(resumed.needed(spec, "tune"))
    dimensions, plan = named(options.dimensions), _plan(options)
    default = placement.resolve(
        placement.Asked(
            cpus=options.cpus,
            vcpus=options.vcpus,
            affinity=options.affinity,
            numa_node=options.numa_node,
        )
    )
    here = measuring.this_machine(options)
    chosen = choose([what], places(here.cpu, options.wheels_dir, here.installer))
    if chosen.first_line:
        measuring.say_first(chosen.first_line, as_json=options.json)
    for note in chosen.notes:
        console.say(note)
    name = measuring.file_name("tune", chosen.choices)
    with (
        signals.stoppable(),
        artifact.reserved(options.output_dir, name, ".tuning.json") as path,
        console.progress() as progress,
    ):
        environment = prepare(chosen.choices[0], here.installer, here.cpu, progress)
        task = room.Task(
            environment=environment,
            default=default,
            dimensions=dimensions,
            plan=plan,
            around=Around(
                here=here.machine,
                data_folder=measuring.data_folder(plan, options, progress),
                path=path,
                notes=(*filter(None, [chosen.first_line]), *chosen.notes),
                command=repeating.command("tune", [what], options, seed=plan.seed),
            ),
            max_seconds=options.max_time,
        )
        return room.tune(task, progress), path


def _resumed(ctx: typer.Context, options: TuneOptions, spec: str | None) -> "tuple[Tuning, Path]":
    from tfbuild import signals
    from tfbuild import tune as room
    from tfbuild.cli import console, resumed

    resumed.check(ctx, [spec] if spec else [], more=("max_time",))
    path = options.resume or Path()
    known = room.load(path)
    with signals.stoppable(), console.progress() as progress:
        return room.tune(_task_of(known, path, options, progress), progress), path


def _task_of(known: "Tuning", path: Path, options: TuneOptions, progress: "Progress") -> "Task":
    from tfbuild import tune as room
    from tfbuild.bench import Around
    from tfbuild.choice import choose
    from tfbuild.cli import measuring
    from tfbuild.environment import here as places
    from tfbuild.environment import prepare
    from tfbuild.spec import parse

    here = measuring.this_machine(options)
    choices = choose(
        [parse(known.spec)], places(here.cpu, options.wheels_dir, here.installer)
    ).choices
    return room.Task(
        environment=prepare(choices[0], here.installer, here.cpu, progress),
        default=known.default,
        dimensions=known.dimensions,
        plan=known.plan,
        around=Around(
            here=here.machine,
            data_folder=measuring.data_folder(known.plan, options, progress),
            path=path,
            notes=known.notes,
            command=known.command,
        ),
        max_seconds=options.max_time,
        known=known,
    )


def _plan(options: TuneOptions) -> "Plan":
    from dataclasses import replace

    from tfbuild.cli import measuring
    from tfbuild.cli.bench_options import Options

    same = {"scale", "architectures", "data", "workload", "noise", "seed", "timeout"}
    asked = Options(**{name: getattr(options, name) for name in same})
    return replace(measuring.plan(asked), rounds=options.rounds)
