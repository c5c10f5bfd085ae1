"""What one spec can be, before a Python is chosen for the whole comparison."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tfbuild import compiled, published, release
from tfbuild.compiled import Own
from tfbuild.errors import BenchError, HostError, NothingToDoError, TfbuildError, UsageError
from tfbuild.host import Host
from tfbuild.installer import UnreachableError
from tfbuild.pythons import SUPPORTED, Python
from tfbuild.spec import Spec

Resolve = Callable[[str, Python], str]
"""(requirement, interpreter) -> the version that an installer would take; raises BenchError."""
Look = Callable[[Path], tuple[str, str, str]]
"""Interpreter -> its Python, the distribution of TensorFlow there, and that one's version; raises
BenchError."""


@dataclass(frozen=True, kw_only=True)
class Here:
    """What a choice depends on: this machine, and what may be asked."""

    host: Host
    pythons: tuple[Python, ...]
    """Newest first."""
    wheels: Path
    resolve: Resolve
    look: Look
    fetch_pythons: bool = True
    """Whether a Python that is not here may be downloaded."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """A spec, half decided: what it is on each Python."""

    spec: Spec
    distribution: str
    versions: dict[str, str]
    """Python -> the version that can be had on it."""
    install: str | None = None
    interpreter: Path | None = None
    wheel: Path | None = None
    size: int | None = None

    @property
    def tensorflow(self) -> str:
        """TensorFlow's version on the newest Python."""
        newest = max(self.versions, key=Version)
        return Version(self.versions[newest]).public


def settled(spec: Spec, here: Here, anchor: str | None) -> Demand | None:
    """Return the demand of a spec that says for itself what it holds, else None."""
    match spec.kind:
        case "result":
            raise UsageError(f"{spec.text} is a saved result; there is nothing to install.")
        case "python" if spec.path is not None:
            python, distribution, version = here.look(spec.path)
            return Demand(
                spec=spec,
                distribution=distribution,
                versions={series(python): version},
                interpreter=spec.path,
            )
        case "wheel" if spec.path is not None:
            own = compiled.read(spec.path)
            _check(own.missing(here.host), own.path.name, here.host)
            return _own(spec, own)
        case "requirement" if spec.requirement is not None:
            return _requirement(spec, Requirement(spec.requirement), here)
        case "compiled":
            newest = compiled.best(here.wheels, here.host, anchor)
            return _own(spec, newest) if newest else None
        case _:
            return None


def _own(spec: Spec, own: Own) -> Demand:
    return Demand(
        spec=spec,
        distribution=own.distribution,
        versions=dict.fromkeys(own.pythons, own.version),
        install=_literal(str(own.path.resolve())),
        wheel=own.path,
    )


def _literal(text: str) -> str:
    """Return a template for `str.format` that gives the text itself."""
    return text.replace("{", "{{").replace("}", "}}")


def _requirement(spec: Spec, requirement: Requirement, here: Here) -> Demand:
    name = canonicalize_name(requirement.name)
    known = published.find(name)
    if known is not None:
        _check(known.missing(here.host), name, here.host)
    versions, size = _known_versions(name, requirement), None
    if versions and known is not None:
        size = known.releases[next(iter(versions.values()))].size
    if not versions:
        versions = _asked_versions(requirement, here)
    install = f"{name}=={{version}}" if requirement.url is None else _literal(str(requirement))
    return Demand(spec=spec, distribution=name, versions=versions, install=install, size=size)


def _known_versions(name: str, requirement: Requirement) -> dict[str, str]:
    """Return Python -> version for a pin of a distribution whose wheels are on record."""
    known = published.find(name)
    if known is not None:
        wheels = {one.version: one.pythons for one in known.releases.values()}
    elif name in {"tensorflow", "tensorflow-cpu"}:
        wheels = {one.version: one.pythons for one in release.known()}
    else:
        return {}
    pins = [one.version for one in requirement.specifier if one.operator == "=="]
    if len(pins) != 1 or len(requirement.specifier) != 1 or pins[0] not in wheels:
        return {}
    return {python: pins[0] for python in wheels[pins[0]] if python in SUPPORTED}


def _asked_versions(requirement: Requirement, here: Here) -> dict[str, str]:
    """Ask the index on every Python that is here."""
    versions: dict[str, str] = {}
    refusal: TfbuildError | None = None
    for python in here.pythons:
        try:
            versions[python.version] = here.resolve(str(requirement), python)
        except UnreachableError:
            raise
        except BenchError as error:
            # The answer for the newest Python is the one to show.
            refusal = refusal or error
    if not versions:
        raise refusal or no_python(str(requirement), SUPPORTED)
    return versions


def stand_in(spec: Spec, here: Here, anchor: str | None) -> tuple[Demand, str]:
    """Return the best published wheel for this CPU, and what to know about it."""
    local = {python.version for python in here.pythons}
    for pool in (local, set(SUPPORTED) if here.fetch_pythons else set()):
        for one in published.all_():
            if one.missing(here.host):
                continue
            for each in one.newest_first():
                serving = [python for python in each.pythons if python in pool]
                if serving and (anchor is None or series(each.version) == series(anchor)):
                    demand = Demand(
                        spec=spec,
                        distribution=one.distribution,
                        versions=dict.fromkeys(serving, each.version),
                        install=f"{one.distribution}=={{version}}",
                        size=each.size,
                    )
                    return demand, one.note
    raise NothingToDoError(
        "No wheel has been compiled yet.",
        why=f"Nor is any known published one for {here.host.brand or here.host.architecture}"
        f"{f' at TensorFlow {series(anchor)}' if anchor else ''} on Python "
        f"{', '.join(sorted(local, key=Version)) or '(none here)'}.",
        do="Compile one: tfbuild wheel --target native",
    )


def official(spec: Spec, here: Here, anchor: str | None) -> Demand:
    """Return the official wheel: of that version, else of its series, else the newest."""
    name = published.official(here.host.architecture)
    local = {python.version for python in here.pythons}
    releases = release.known()
    if anchor is not None:
        same = [one for one in releases if one.version == anchor]
        releases = tuple(same or [one for one in releases if one.series == series(anchor)])
        if not releases:
            raise UsageError(
                f"`pip` has no TensorFlow {anchor} to compare with.",
                why=f"Official releases are known from {release.known()[0].version} "
                f"to {release.known()[-1].version}.",
                do="Name the official wheel yourself: tensorflow-cpu==X.Y.Z",
            )
    for pool in (local, set(SUPPORTED) if here.fetch_pythons or anchor else set()):
        for one in reversed(releases):
            serving = [python for python in one.pythons if python in pool]
            if serving:
                return Demand(
                    spec=spec,
                    distribution=name,
                    versions=dict.fromkeys(serving, one.version),
                    install=f"{name}=={{version}}",
                )
    raise no_python(f"{name} {anchor or ''}".strip(), SUPPORTED)


def no_python(what: str, wanted: Sequence[str]) -> BenchError:
    """Return the error for a distribution whose Pythons are not here."""
    return BenchError(
        f"No Python here can install {what}.",
        why=f"It has wheels for Python {', '.join(sorted(wanted, key=Version))}.",
        do=f"Install one: uv python install {max(wanted, key=Version)}",
    )


def _check(missing: list[str], what: str, host: Host) -> None:
    if missing:
        raise HostError(
            f"This CPU cannot run {what}.",
            why=f"{host.brand or host.architecture} lacks {', '.join(missing)}.",
            do="`tfbuild detect` shows what this CPU has.",
        )


def series(version: str) -> str:
    """Return the first two numbers of a version: "2.14", "3.11"."""
    return ".".join(version.split(".")[:2])
