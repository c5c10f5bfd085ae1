"""The way of `bench` and `compare` from specs to samples."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tfbuild.cli import bench_options, machine_options, repeating
from tfbuild.cli.bench_options import Options, Scale

if TYPE_CHECKING:
    from tfbuild.bench import Contender, Plan, Script, Setting, Suite
    from tfbuild.bench.suite import Side
    from tfbuild.choice import Choice
    from tfbuild.cli.tune_options import TuneOptions
    from tfbuild.host import Host
    from tfbuild.installer import Installer
    from tfbuild.machine import Machine
    from tfbuild.progress import Progress
    from tfbuild.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Session:
    """What was measured now, and where it lies."""

    suite: "Suite"
    path: Path

    @property
    def sides(self) -> "tuple[Side, ...]":
        """Its contenders, the baseline first, the control left out."""
        from tfbuild.bench.suite import Side

        return tuple(
            Side(suite=self.suite, subject=number)
            for number, each in enumerate(self.suite.subjects)
            if not each.is_control
        )


@dataclass(frozen=True, kw_only=True)
class Here:
    """This machine, and what environments are made with."""

    cpu: "Host"
    machine: "Machine"
    installer: "Installer"


def plan(options: Options) -> "Plan":
    """Return the plan that the options ask for.

    Raises:
        UsageError: an architecture is unknown or named twice, there is no such script, or options
            exclude each other.
    """
    import random

    from tfbuild import bench, stats
    from tfbuild.bench import workload

    script = None if options.workload is None else workload.parse(options.workload)
    seed, timeout = options.seed, options.timeout
    if timeout is None and options.scale is not Scale.FULL and script is None:
        timeout = bench_options.TIMEOUT
    return bench.Plan(
        rounds=_rounds(options),
        scale=bench.Scale(options.scale),
        architectures=_architectures(options.architectures, script),
        seed=random.SystemRandom().randrange(1_000_000) if seed is None else seed,
        data=bench.DataMode(options.data),
        timeout=timeout,
        precision=options.precision,
        max_seconds=options.max_time,
        noise=stats.NOISE if options.noise is None else options.noise,
        script=script,
    )


def measure(
    specs: Sequence["Spec"], options: Options, *, command: str, against: Sequence["Side"] = ()
) -> Session:
    """Make an environment for each spec, run the rounds, and save every sample.

    The sentence about a wheel that stands in for a compiled one is said before anything else.
    What could not be compared with the saved sides `against` is refused before that.
    """
    from tfbuild import artifact, bench, environment, signals
    from tfbuild.choice import choose
    from tfbuild.cli import console
    from tfbuild.compare import check

    here = this_machine(options)
    asked, settings = plan(options), machine_options.settings(options)
    for side in against:
        check(side.who.spec, side.suite.plan, specs[0].text, asked)
    if asked.precision is not None:
        _need_pairs(len(specs) * len(settings))
    chosen = choose(specs, environment.here(here.cpu, options.wheels_dir, here.installer))
    if chosen.first_line:
        say_first(chosen.first_line, as_json=options.json)
    for note in chosen.notes:
        console.say(note)
    first = [chosen.first_line] if chosen.first_line else []
    name = file_name(command, chosen.choices)
    with (
        signals.stoppable(),
        artifact.reserved(options.output_dir, name, ".suite.json") as path,
        console.progress() as progress,
    ):
        around = bench.Around(
            here=here.machine,
            data_folder=data_folder(asked, options, progress),
            path=path,
            notes=(*first, *chosen.notes),
            command=repeating.command(command, specs, options, seed=asked.seed),
            resume_command=repeating.resume(command, path, options),
            has_peaks=_has_peaks(asked, options),
        )
        contenders = _contenders(chosen.choices, settings, here, options, progress)
        suite = bench.measure(contenders, asked, around, progress)
    return Session(suite=suite, path=path)


def resume(path: Path, options: Options, *, command: str) -> Session:
    """Go on with a session that was interrupted.

    Raises:
        UsageError: the file is no such session, or what it needs is not here any more.
        NothingToDoError: it is finished.
    """
    from tfbuild import bench, environment, saved, signals
    from tfbuild.bench import resuming
    from tfbuild.choice import choose
    from tfbuild.cli import console

    here = this_machine(options)
    suite = saved.load(path)
    resuming.check(suite, here.machine, path)
    specs = [repeating.spec(each, options.wheels_dir) for each in suite.subjects]
    distinct = list(dict.fromkeys(specs))
    chosen = choose(distinct, environment.here(here.cpu, options.wheels_dir, here.installer))
    with signals.stoppable(), console.progress() as progress:
        made = {
            each.spec: environment.prepare(each, here.installer, here.cpu, progress)
            for each in chosen.choices
        }
        contenders = [
            bench.Contender(
                environment=replace(made[spec], spec=each.spec, description=each.description),
                setting=each.setting,
                is_control=each.is_control,
            )
            for spec, each in zip(specs, suite.subjects, strict=True)
        ]
        around = bench.Around(
            here=here.machine,
            data_folder=data_folder(suite.plan, options, progress),
            path=path,
            resume_command=repeating.resume(command, path, options),
            has_peaks=_has_peaks(suite.plan, options, suite.command),
        )
        suite = bench.resume(suite, contenders, around, progress)
    return Session(suite=suite, path=path)


def this_machine(options: "Options | TuneOptions") -> Here:
    """Return what is known of this machine, and what environments are made with."""
    from tfbuild import host, machine
    from tfbuild.installer import Installer

    cpu = host.detect()
    installer = Installer(index=options.pip_index, offline=options.offline)
    return Here(cpu=cpu, machine=machine.read(cpu), installer=installer)


def _contenders(
    choices: "Sequence[Choice]",
    settings: "Sequence[Setting]",
    here: Here,
    options: Options,
    progress: "Progress",
) -> "list[Contender]":
    from tfbuild import bench, environment

    made = [environment.prepare(each, here.installer, here.cpu, progress) for each in choices]
    found = [
        bench.Contender(environment=each, setting=setting) for each in made for setting in settings
    ]
    is_full = options.scale is Scale.FULL
    if is_full if options.control is None else options.control:
        found.append(replace(found[0], is_control=True))
    return found


def _has_peaks(asked: "Plan", options: Options, begun: Sequence[str] = ()) -> bool:
    """Return whether to measure peaks: as said now, or when the session was `begun`."""
    if options.roofline is not None:
        return options.roofline
    if "--roofline" in begun or "--no-roofline" in begun:
        return "--roofline" in begun
    return asked.scale.value != Scale.SMOKE.value and asked.script is None


def _rounds(options: Options) -> int:
    from tfbuild.errors import UsageError

    is_open = options.precision is not None or options.max_time is not None
    if options.rounds is not None:
        if options.precision is not None or options.max_rounds is not None:
            other = "--max-rounds" if options.precision is None else "--precision"
            raise UsageError(
                f"--rounds and {other} exclude each other.",
                why="--rounds is a fixed number; with --precision it follows from what is seen.",
                do="Use --max-rounds with --precision or --max-time.",
            )
        return options.rounds
    if options.max_rounds is not None and not is_open:
        raise UsageError(
            "--max-rounds bounds --precision or --max-time, and neither is given.",
            do=f"For a fixed number: --rounds {options.max_rounds}",
        )
    return (options.max_rounds or bench_options.MOST_ROUNDS) if is_open else bench_options.ROUNDS


def _need_pairs(contenders: int) -> None:
    from tfbuild.errors import UsageError

    if contenders < 2:  # noqa: PLR2004 - a pair
        raise UsageError(
            "--precision is that of a ratio, and a single contender has none.",
            do="Compare two, or fix the number: --rounds 10",
        )


def data_folder(
    asked: "Plan", options: "Options | TuneOptions", progress: "Progress"
) -> Path | None:
    """Return where the real data lies that a plan needs; None for a script, and without any."""
    from tfbuild import datasets

    if asked.script is not None:
        return None
    return datasets.prepare(
        asked.architectures,
        mode=asked.data.value,
        scale=asked.scale,
        offline=options.offline,
        progress=progress,
    )


def say_first(line: str, *, as_json: bool) -> None:
    """Say what must be known before anything else, without spoiling JSON."""
    from tfbuild.cli import console

    if as_json:
        console.say(line)
    else:
        typer.echo(line + "\n")


def _architectures(text: str | None, script: "Script | None") -> tuple[str, ...]:
    from tfbuild.bench import ARCHITECTURES
    from tfbuild.errors import UsageError, suggestion

    if script is not None:
        if text is not None:
            raise UsageError(
                "--workload and --architectures exclude each other.",
                why="The script is trained in place of the six.",
            )
        return (script.name,)
    if text is None:
        return ARCHITECTURES
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in ARCHITECTURES:
            raise UsageError(
                f"There is no architecture {name!r}.",
                why=f"The six are {', '.join(ARCHITECTURES)}.",
                do=suggestion(name, list(ARCHITECTURES)),
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            "--architectures names " + ("one twice." if names else "none."),
            do=f"Example: --architectures {ARCHITECTURES[0]},{ARCHITECTURES[1]}",
        )
    return tuple(names)


def file_name(command: str, choices: Sequence["Choice"]) -> str:
    """Return "20261130-081502-compare-tensorflow-cpu-2.8.4-intel-tensorflow-2.8.0"."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    whos = "-".join(f"{each.distribution}-{each.version}" for each in choices[:2])
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", f"{stamp}-{command}-{whos}")[:120]
