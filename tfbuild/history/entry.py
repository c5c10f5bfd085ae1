"""From a saved session to its entry in the history."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tfbuild.bench import contrasts
from tfbuild.bench.setting import Setting, words
from tfbuild.bench.suite import Script, Side, Subject, Suite
from tfbuild.history.model import Entry, Measured, Place
from tfbuild.machine import Machine
from tfbuild.target import all_targets

_GIB = 1 << 30


def entry(suite: Suite, *, sha256: str, size: int) -> Entry:
    """Return the entry of a finished session.

    Args:
        suite: with at least one round.
        sha256: of the file that it lies in.
        size: bytes of that file.
    """
    baselines = {candidate: baseline for baseline, candidate in contrasts.pairs(suite.subjects)}
    kept = [number for number, who in enumerate(suite.subjects) if not who.is_control]
    names = dict(zip(kept, _names([suite.subjects[number] for number in kept]), strict=True))
    place_of = {number: place for place, number in enumerate(kept)}
    return Entry(
        sha256=sha256,
        size=size,
        tfbuild=suite.tfbuild,
        started_at=suite.started_at,
        scale=suite.plan.scale,
        level=suite.level,
        place=place(suite.machine),
        measured=tuple(
            _measured(
                Side(suite=suite, subject=number),
                names[number],
                place_of[baselines[number]] if number in baselines else None,
            )
            for number in kept
        ),
    )


def place(machine: Machine) -> Place:
    """Return what tells one machine from another.

    What a newer kernel may rename or hide is left out: of the features only those count that some
    compile target asks for, and of the memory only its rough size.
    """
    known = frozenset().union(*(target.requires for target in all_targets()))
    memory = machine.memory_bytes and min(
        machine.memory_bytes, machine.memory_limit_bytes or machine.memory_bytes
    )
    cpus = f"{machine.cpus_allowed} of {machine.cpus or '?'} CPUs"
    quota = "" if machine.cpu_quota is None else f"quota {machine.cpu_quota:g} CPUs"
    gib = f"{_rough_gib(memory):g} GiB" if memory else ""
    parts = [machine.brand, machine.microarchitecture, cpus, quota, gib, machine.hypervisor or ""]
    told = [
        *(machine.system, machine.architecture, *parts, str(machine.smt)),
        *sorted(machine.features & known),
    ]
    return Place(
        key=hashlib.sha256("\n".join(told).encode()).hexdigest()[:12],
        description=", ".join(part for part in parts if part),
        kernel=machine.kernel,
        libc=machine.libc,
        microcode=machine.microcode,
        driver=machine.driver,
        governor=machine.governor,
        turbo=machine.turbo,
    )


def _rough_gib(size: int) -> float:
    """Return gibibytes, rounded up to an eighth of the power of two below.

    The kernel keeps one to three hundredths for itself, and not the same on each day.
    """
    gib = size / _GIB
    step = 2.0 ** (math.floor(math.log2(gib)) - 3) if gib > 0 else 1.0
    return math.ceil(gib / step) * step


def setting_told(setting: Setting) -> str:
    """Return "2 CPUs, 2 threads, oneDNN off": all that makes times differ, and no CPU's number."""
    parts = [
        f"{len(setting.cpus)} CPU{'' if len(setting.cpus) == 1 else 's'}" if setting.cpus else "",
        "" if setting.cores in {None, len(setting.cpus)} else f"{setting.cores} cores",
        *words(setting),
    ]
    return ", ".join(part for part in parts if part)


def _names(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield each contender's name over time; those that would share one carry their version."""
    plain = [(_wheel(who), setting_told(who.setting)) for who in subjects]
    versions = [
        (f"{name} {who.version}", setting)
        for (name, setting), who in zip(plain, subjects, strict=True)
    ]
    often, seen = Counter(plain), Counter[tuple[str, str]]()
    for short, long in zip(plain, versions, strict=True):
        chosen = long if often[short] > 1 else short
        seen[chosen] += 1
        yield chosen[0] if seen[chosen] == 1 else f"{chosen[0]} ({seen[chosen]})"


def _wheel(who: Subject) -> str:
    label = who.version.partition("+")[2]
    return f"{who.distribution}+{label}" if label else who.distribution


def _measured(side: Side, name: str, baseline: int | None) -> Measured:
    who, plan = side.who, side.suite.plan
    named = {_workload(name, plan.script): name for name in plan.architectures}
    return Measured(
        wheel=name,
        setting=setting_told(who.setting),
        version=who.version,
        sha256=who.wheel_sha256,
        tensorflow=who.tensorflow,
        python=who.python,
        keras=who.keras,
        numpy=who.numpy,
        baseline=baseline,
        seconds={workload: side.seconds(name) for workload, name in named.items()},
        data={workload: side.data(name) for workload, name in named.items()},
    )


def _workload(name: str, script: Script | None) -> str:
    """Return the architecture's name; for a script one that changes with its text and arguments."""
    if script is None:
        return name
    told = "\n".join([script.sha256, *script.arguments])
    return f"{name} {hashlib.sha256(told.encode()).hexdigest()[:6]}"
