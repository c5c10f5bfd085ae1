"""What was measured with what: tables of times apart, of environments and of machines."""

import dataclasses
import shlex
from collections.abc import Iterator

from tfbuild.bench.suite import Sample, Stopped
from tfbuild.report import words
from tfbuild.report.figure import Table
from tfbuild.report.value import Source
from tfbuild.report.view import Contender, View
from tfbuild.stats import mean

_NAMES = {
    "cpus": "logical CPUs",
    "cpus_allowed": "CPUs allowed",
    "cpu_quota": "CPU quota",
    "memory_bytes": "memory",
    "smt": "hyper-threads",
    "virtual": "virtual machine",
    "libc": "C library",
    "brand": "CPU",
}
_FIRST = ("brand", "microarchitecture")
_UNKNOWN = "not known"


def apart(view: View) -> tuple[Table, ...]:
    """Return the tables of what is not in the epochs: start-up, preparation, first step."""
    with_runs = [each for each in view.contenders if each.side is not None]
    return (_processes(with_runs), _phases(view, with_runs)) if with_runs else ()


def startup(view: View) -> tuple[str, ...]:
    """Return how long each needs until it can work."""
    found = []
    for each in view.contenders:
        runs = () if each.side is None else each.side.runs
        known = [run.startup_seconds for run in runs if run.startup_seconds is not None]
        if known:
            found.append(f"{each.label} starts up in {words.number(mean(known))} s.")
    return tuple(found)


def _processes(contenders: list[Contender]) -> Table:
    rows = []
    for each in contenders:
        runs = each.side.runs if each.side is not None else ()
        rows.append(
            (
                each.label,
                _mean([run.startup_seconds for run in runs]),
                _mean([run.seconds for run in runs]),
                _mean([run.cpu_seconds for run in runs]),
                _mean([run.others_cpus for run in runs]),
                _size(max((run.peak_rss_bytes or 0 for run in runs), default=0)),
            )
        )
    return Table(
        caption="Each process: means over the rounds",
        headings=(
            "With",
            "Start-up, s",
            "Whole, s",
            "CPU time, s",
            "CPUs used by others",
            "Most memory",
        ),
        rows=tuple(rows),
    )


def _phases(view: View, contenders: list[Contender]) -> Table:
    rows = []
    for name in view.architectures:
        for each in contenders:
            samples = _samples(each, name)
            rows.append(
                (
                    words.title(name),
                    each.label,
                    _mean([sample.prepare_seconds for sample in samples]),
                    _mean([sample.first_step_seconds for sample in samples]),
                    _mean([sample.warmup_seconds for sample in samples]),
                    _mean([mean(sample.epoch_seconds) for sample in samples]),
                    f"{samples[0].parameters:,}" if samples else words.NONE,
                )
            )
    return Table(
        caption="Each training: means over the rounds, in seconds",
        headings=(
            "Architecture",
            "With",
            "Preparation",
            "First step",
            "Warm-up",
            "Timed epoch",
            "Parameters",
        ),
        rows=tuple(rows),
        words=frozenset({1}),
    )


def _samples(contender: Contender, name: str) -> list[Sample]:
    runs = () if contender.side is None else contender.side.runs
    return [each for run in runs for each in run.samples if each.architecture == name]


def _mean(values: list[float | None]) -> str:
    known = [each for each in values if each is not None]
    return words.number(mean(known)) if known else words.NONE


def _size(count: int) -> str:
    return f"{words.number(count / 2**30)} GiB" if count else words.NONE


def environments(view: View) -> Table:
    """Return the contenders, one a row."""
    rows = []
    for each in view.contenders:
        who = each.subject
        onednn = {True: "on", False: "off", None: "unknown"}[who.onednn]
        own = who.setting
        rows.append(
            (
                each.label,
                who.spec,
                who.tensorflow,
                who.python,
                who.keras,
                who.numpy,
                onednn,
                ", ".join(map(str, own.cpus)),
                f"{who.intra_threads} / {who.inter_threads} / {own.omp_threads}",
            )
        )
    return Table(
        caption="Environments; threads are those within an op, between ops, and OpenMP's",
        headings=(
            "Name",
            "Asked for as",
            "TensorFlow",
            "Python",
            "Keras",
            "NumPy",
            "oneDNN",
            "CPUs",
            "Threads",
        ),
        rows=tuple(rows),
        words=frozenset(range(1, 9)),
    )


def machine(source: Source) -> tuple[tuple[str, str], ...]:
    """Return all that is known of the machine, in words."""
    here = source.suite.machine
    names = [field.name for field in dataclasses.fields(here)]
    names.sort(key=lambda name: name not in _FIRST)
    pairs = ((name, getattr(here, name)) for name in names)
    return tuple(
        (_NAMES.get(name, name.replace("_", " ")), _value(name, value)) for name, value in pairs
    )


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes") and isinstance(value, int):
        return _size(value)
    if isinstance(value, frozenset | tuple):
        parts = map(str, value) if isinstance(value, tuple) else sorted(map(str, value))
        return " ".join(parts) or _UNKNOWN
    return _UNKNOWN if value in {None, ""} else str(value)


def commands(view: View) -> tuple[str, ...]:
    """Return what repeats the measurement, one command a session."""
    found = (source.suite.command for source in view.report.sources)
    return tuple(dict.fromkeys(words.safe(shlex.join(each)) for each in found if each))


def origins(view: View) -> Table:
    """Return the files that the report is made of."""
    return Table(
        caption="Files with the samples",
        headings=("File", "SHA-256", "From", "To", "Rounds", "Seed", "Measured by"),
        rows=tuple(_origin(each) for each in view.report.sources),
        words=frozenset({1, 2, 3, 6}),
    )


_END: dict[Stopped | None, str] = {
    None: "",
    Stopped.ROUNDS: "",
    Stopped.TIME: ", time was up",
    Stopped.VERDICT: ", verdicts are clear",
    Stopped.PRECISION: ", precision reached",
}
"""Why a session did not take all the rounds that it was allowed."""


def _origin(source: Source) -> tuple[str, ...]:
    suite = source.suite
    end = suite.finished_at
    return (
        source.name,
        source.sha256,
        f"{suite.started_at:%Y-%m-%d %H:%M} UTC",
        "unfinished" if end is None else f"{end:%Y-%m-%d %H:%M} UTC",
        f"{suite.rounds} of {suite.plan.rounds}{_END[suite.stopped]}",
        str(suite.plan.seed),
        f"tfbuild {suite.tfbuild}",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inside:
    """What is too long for a table."""

    label: str
    says: str
    """What TensorFlow says of the CPU features that it was built for."""
    variables: tuple[str, ...]
    packages: tuple[str, ...]


def inside(view: View) -> Iterator[Inside]:
    """Yield what each contender's processes were given, and what is installed."""
    for each in view.contenders:
        given = {} if each.side is None else each.side.settings
        yield Inside(
            label=each.label,
            says=each.subject.cpu_features_built or "",
            variables=tuple(f"{name}={value}" for name, value in sorted(given.items())),
            packages=each.subject.packages,
        )
