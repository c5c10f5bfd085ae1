"""What a search for the fastest setting has found, for people."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.bench.setting import Setting, words
from tfbuild.cli import tables
from tfbuild.machine.topology import written
from tfbuild.stats import Verdict
from tfbuild.tune.run import changed

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from tfbuild.compare import Contrast
    from tfbuild.tune import Step, Tuning
    from tfbuild.tune.model import Advice, Trial


def shown(found: "Tuning", path: "Path", out: "Console") -> None:
    """Print what was tried, what was confirmed, and what to set."""
    out.print(Text(f"{found.distribution} {found.version} ({found.spec})"))
    out.print(Text(f"Default: {_setting(found.default)}"))
    if found.steps:
        out.print()
        out.print(_steps(found.steps))
        for line in _failures(found.steps):
            out.print(Text(line))
        out.print(
            Text(
                f"{_several(found.tried)} screened, in a few rounds each: that claims nothing yet."
            )
        )
    out.print()
    for line in _outcome(found):
        out.print(Text(line))
    if found.confirmed is not None:
        out.print(_rows(found.confirmed))
        out.print()
    for line in (*_to_set(found.advice), *_batch(found), *_notes(found)):
        out.print(Text(line), soft_wrap=True)
    tables.files([path], out)


def _setting(setting: Setting) -> str:
    cpus = f"CPUs {written(setting.cpus)}" if setting.cpus else "all CPUs"
    return ", ".join((cpus, *words(setting)))


def _several(count: int) -> str:
    return "One setting" if count == 1 else f"{count} settings"


def _fate(step: "Step", trial: "Trial") -> str:
    if trial.failure:
        return "failed"
    return "taken" if trial.setting == step.chosen else ""


def _failures(steps: "Sequence[Step]") -> Iterator[str]:
    for step in steps:
        for trial in step.trials:
            if trial.failure:
                yield f"{changed(step.base, trial)} failed: {trial.failure}"


def _steps(steps: "Sequence[Step]") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("dimension", "tried", "times as fast", "rounds"):
        table.add_column(name, justify="left" if name in {"dimension", "tried"} else "right")
    table.add_column("")
    for step in steps:
        for place, trial in enumerate(step.trials):
            table.add_row(
                "" if place else step.dimension,
                Text(changed(step.base, trial)),
                "-" if trial.ratio is None else f"{trial.ratio:.2f}x",
                str(trial.rounds) if trial.rounds else "-",
                Text(_fate(step, trial)),
            )
    return table


def _outcome(found: "Tuning") -> Iterator[str]:
    if found.confirmed is None:
        yield "Nothing to set: no setting was clearly faster than the default."
        return
    overall = found.confirmed.overall
    much = f"{tables.ratio(overall.ratio)} ({tables.interval(overall)})"
    several = "pair" if overall.pairs == 1 else "pairs"
    pairs = f"in {overall.pairs} fresh {several} of processes, which had no part in choosing"
    if found.is_worth_it:
        yield f"Faster than the default: {much} {pairs}."
    elif found.confirmed.overall_verdict is Verdict.INCONCLUSIVE:
        yield f"Nothing to set: a gain is not certain, {much} {pairs}."
        yield "More --rounds narrow the interval."
    else:
        yield f"Nothing to set: the default is as good, {much} {pairs}."


def _rows(contrast: "Contrast") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("architecture", "times as fast", "95 %", "verdict"):
        table.add_column(name, justify="right" if name in {"times as fast", "95 %"} else "left")
    for row in contrast.rows:
        style = tables.STYLES.get(row.verdict, "")
        table.add_row(
            row.architecture,
            tables.ratio(row.speedup.ratio),
            tables.interval(row.speedup),
            Text(row.verdict.value, style=style),
        )
    return table


def _to_set(advice: "Sequence[Advice]") -> Iterator[str]:
    kinds = {
        "variable": "Set before the program starts:",
        "command": "Start the program so:",
        "code": "Write in the program:",
    }
    for kind, title in kinds.items():
        lines = [each for each in advice if each.kind == kind]
        if lines:
            yield title
            yield from (f"    {each.line}    # {each.what}" for each in lines)


def _batch(found: "Tuning") -> Iterator[str]:
    if found.batch is None:
        return
    overall = found.batch.overall
    much = f"{tables.ratio(overall.ratio)} ({tables.interval(overall)})"
    if not found.batch_advice:
        yield f"Another size of batches brings nothing that is certain: {much}."
        return
    yield f"Apart from that, other batches train {much} as fast. They change what is learned: fewer"
    yield "steps an epoch, so the learning rate and the number of epochs want another look."
    yield from _to_set(found.batch_advice)


def _notes(found: "Tuning") -> Iterator[str]:
    if found.left_out:
        yield f"Not searched, for lack of time: {', '.join(found.left_out)}."
    if found.distribution.startswith("intel"):
        yield "Measured with KMP_BLOCKTIME=1, as all of tfbuild's measurements are."
    concerns = found.confirmed.concerns if found.confirmed else ()
    for concern in concerns:
        yield f"{concern.what} {concern.do}"
