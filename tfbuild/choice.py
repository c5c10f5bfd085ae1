"""Decides which wheel, at which version, on which Python of this machine, each spec means.

The rules, in order:

1. A wheel, a pinned requirement, an interpreter and the newest own wheel say for themselves which
   TensorFlow they hold; the first of these sets the version that `pip` follows.
2. `compiled` without any compiled wheel is the best published one that this CPU can run, at that
   version; without such a version at the newest one for which a Python is here. (An older release
   may show a larger gain; the newest is what a user would install.)
3. `pip` alone is the newest release for which a Python is here.
4. All share the newest Python that serves all; where none does, each has its own newest, and a
   note says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from tfbuild import demand, published
from tfbuild.demand import Demand, Here, no_python
from tfbuild.errors import UsageError
from tfbuild.pythons import SUPPORTED
from tfbuild.spec import Spec

__all__ = ["Choice", "Choices", "Here", "choose"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What will be installed for one spec, and where it will run."""

    spec: Spec
    distribution: str
    version: str
    tensorflow: str
    python: str
    """"3.11"."""
    interpreter: Path | None
    """None: no such Python is here, so it has to be fetched."""
    install: str | None
    """A pin or a wheel's path for the installer; None: the interpreter has it already."""
    wheel: Path | None = None
    size: int | None = None
    """Size of the download in megabytes, where known."""

    @property
    def description(self) -> str:
        """What it is in words: "tensorflow-cpu 2.14.0 on Python 3.11"."""
        return f"{self.distribution} {self.version} on Python {self.python}"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """All of one comparison, in the order of the specs."""

    choices: tuple[Choice, ...]
    first_line: str | None
    """What must be said before anything else: `compiled` stands for a published wheel."""
    notes: tuple[str, ...]


def choose(specs: Sequence[Spec], here: Here) -> Choices:
    """Decide for all specs of one comparison together.

    Raises:
        UsageError: a saved result or the study is among them (there is nothing to install), or a
            version is unknown.
        HostError: this CPU cannot run what is asked.
        NothingToDoError: `compiled`, and there is neither a compiled nor a published wheel for it.
        BenchError: no Python here, or no index, has what is asked.
    """
    if any(spec.kind == "study" for spec in specs):
        raise UsageError(
            "2017 is the study of that year; there is nothing to install or to measure.",
            do="Its figures stand beside each result. Its own table: tfbuild compare 2017",
        )
    demands: dict[int, Demand] = {}
    for place, spec in enumerate(specs):
        if settled := demand.settled(spec, here, _anchor(demands)):
            demands[place] = settled
    stand_ins = [
        place
        for place, spec in enumerate(specs)
        if place not in demands and spec.kind == "compiled"
    ]
    first_line, notes = None, []
    for place in stand_ins:
        demands[place], note = demand.stand_in(specs[place], here, _anchor(demands))
        notes += [note] if note else []
    for place, spec in enumerate(specs):
        if place not in demands:
            demands[place] = demand.official(spec, here, _anchor(demands))
    choices = _on_pythons([demands[place] for place in range(len(specs))], here)
    if stand_ins:
        first_line = _first_line(choices, stand_ins[0])
    if len({choice.python for choice in choices}) > 1:
        notes.append("No Python here serves all of them, so they run on different Pythons.")
    return Choices(choices=choices, first_line=first_line, notes=tuple(dict.fromkeys(notes)))


def _anchor(demands: dict[int, Demand]) -> str | None:
    return demands[min(demands)].tensorflow if demands else None


def _on_pythons(demands: list[Demand], here: Here) -> tuple[Choice, ...]:
    local = [python.version for python in here.pythons]
    others = [python for python in reversed(SUPPORTED) if python not in local]
    order = [*local, *(others if here.fetch_pythons else [])]
    for python in order:
        if all(python in one.versions for one in demands):
            return tuple(_on(one, python, here) for one in demands)
    return tuple(_alone(one, order, here) for one in demands)


def _alone(one: Demand, order: list[str], here: Here) -> Choice:
    if one.interpreter is not None:
        return _on(one, next(iter(one.versions)), here)
    for python in order:
        if python in one.versions:
            return _on(one, python, here)
    version = next(iter(one.versions.values()))
    raise no_python(f"{one.distribution} {version}", tuple(one.versions))


def _on(one: Demand, python: str, here: Here) -> Choice:
    version = one.versions[python]
    local = next((found.path for found in here.pythons if found.version == python), None)
    return Choice(
        spec=one.spec,
        distribution=one.distribution,
        version=version,
        tensorflow=Version(version).public,
        python=python,
        interpreter=one.interpreter or local,
        install=one.install and one.install.format(version=version),
        wheel=one.wheel,
        size=one.size,
    )


def _first_line(choices: Sequence[Choice], place: int) -> str:
    choice = choices[place]
    by = published.find(choice.distribution)
    return (
        f"No wheel has been compiled yet: compiled is {choice.distribution} {choice.version}, the "
        f"best published source-built wheel for this CPU (by {by.by if by else 'others'}), at "
        f"{_at(choices, place)}, on Python {choice.python}."
    )


def _at(choices: Sequence[Choice], place: int) -> str:
    """Return the version of a choice in words, beside that of what it is compared with."""
    choice = choices[place]
    if len(choices) == 1:
        return f"TensorFlow {choice.tensorflow}"
    other, name = (choices[0], "baseline") if place else (choices[1], "candidate")
    if other.tensorflow == choice.tensorflow:
        return f"the same TensorFlow version as the {name}"
    return f"TensorFlow {choice.tensorflow}; the {name} has {other.tensorflow}"
