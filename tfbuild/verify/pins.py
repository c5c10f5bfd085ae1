"""The check "pins": requirements that let an installer take a release that breaks TensorFlow.

Nothing is asked of an index: a requirement is compared with the limits of data/constraints.toml.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tfbuild import constraints
from tfbuild.constraints import Limit
from tfbuild.verify.judge import judged, skipped
from tfbuild.verify.model import Check
from tfbuild.verify.subject import Subject

NAME = "pins"
_LATEST = Version("99999")
_MOST = 500
"""Requirements and limits together; TensorFlow's wheels have some 150."""


@dataclass(frozen=True, kw_only=True)
class _Breach:
    requirement: str
    limit: Limit


def check(subject: Subject) -> Check:
    """Compare the wheel's requirements with what is known to break its TensorFlow."""
    if subject.tensorflow is None:
        return skipped(NAME, "It holds no TensorFlow, and only about that is anything known.")
    if "METADATA" not in subject.texts:
        return skipped(NAME, "It has no METADATA.")
    pythons = _pythons(subject)
    limits = [
        limit
        for limit in constraints.limits(subject.tensorflow)
        if any(SpecifierSet(limit.python).contains(python) for python in pythons)
    ]
    if subject.beside is not None:
        return _installed(subject.tensorflow, limits, subject.beside)
    breaches = list(_breaches(subject, limits, pythons[-1]))
    avoid = " ".join(f"'{breach.limit.requirement}'" for breach in breaches)
    return judged(
        NAME,
        good="Its requirements keep out every release that is known to break "
        f"TensorFlow {subject.tensorflow}.",
        faults=[_told(breach) for breach in breaches if breach.limit.breaks == "import"],
        oddities=[
            *(_told(breach) for breach in breaches if breach.limit.breaks != "import"),
            *_overlong(subject),
        ],
        why="An installer takes the newest release that the requirements allow.",
        do=f"Install it with limits: pip install {subject.path.name} {avoid}",
    )


def _installed(tensorflow: str, limits: list[Limit], beside: Mapping[str, str]) -> Check:
    """Compare what is installed, whatever the requirements allow."""
    broken = [limit for limit in limits if _is_beyond(Requirement(limit.requirement), beside)]
    avoid = " ".join(f"'{limit.requirement}'" for limit in broken)
    told = {
        limit.requirement: f"{name} {beside[name]} is installed. {limit.consequence}"
        for limit in broken
        if (name := canonicalize_name(Requirement(limit.requirement).name))
    }
    return judged(
        NAME,
        good=f"Nothing that is installed is known to break TensorFlow {tensorflow}.",
        faults=[told[each.requirement] for each in broken if each.breaks == "import"],
        oddities=[told[each.requirement] for each in broken if each.breaks != "import"],
        do=f"Install other releases there: pip install {avoid}",
    )


def _is_beyond(limit: Requirement, beside: Mapping[str, str]) -> bool:
    version = beside.get(canonicalize_name(limit.name))
    try:
        return version is not None and not limit.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _overlong(subject: Subject) -> Iterator[str]:
    if _is_overlong(_requirements(subject)):
        yield f"It has more than {_MOST:,} requirements and limits, so they were not compared."


def _is_overlong(requirements: list[Requirement]) -> bool:
    # Comparing takes a time that grows with the square of their number.
    return sum(1 + len(each.specifier) for each in requirements) > _MOST


def _told(breach: _Breach) -> str:
    return f"It requires {breach.requirement}. {breach.limit.consequence}"


def _breaches(subject: Subject, limits: list[Limit], python: str) -> Iterator[_Breach]:
    requirements = _requirements(subject)
    if _is_overlong(requirements):
        return
    for limit in limits:
        limited = Requirement(limit.requirement)
        mine = [r for r in requirements if _is_for(r, limited.name, python)]
        if mine and _admits(mine, limited.specifier):
            text = ", ".join(f"{r.name}{r.specifier}" for r in mine)
            yield _Breach(requirement=text, limit=limit)


def _requirements(subject: Subject) -> list[Requirement]:
    raw, _ = parse_email(subject.texts["METADATA"])
    return [found for text in raw.get("requires_dist", []) if (found := _requirement(text))]


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None  # the check "structure" tells


def _is_for(requirement: Requirement, name: str, python: str) -> bool:
    # What an address holds is not known.
    if requirement.url or canonicalize_name(requirement.name) != canonicalize_name(name):
        return False
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "extra": "",
    }
    return requirement.marker is None or requirement.marker.evaluate(environment)


def _admits(requirements: list[Requirement], limit: SpecifierSet) -> bool:
    """Whether all the requirements together allow a release beyond the limit.

    If any does, one of these does: the release at an end of an interval, one just after it, or
    one far beyond.
    """
    together = SpecifierSet(",".join(str(each.specifier) for each in requirements))
    ends = {_LATEST}
    for specifier in (*together, *limit):
        try:
            end = Version(specifier.version.removesuffix(".*"))
        except InvalidVersion:
            continue
        ends |= {end, Version(f"{end.base_version}.1")}
    return any(
        together.contains(end, prereleases=True) and not limit.contains(end, prereleases=True)
        for end in ends
        if not end.is_prerelease
    )


def _pythons(subject: Subject) -> list[str]:
    """Return the Python versions of the tags: ["3.10"]; where they name none, a recent one."""
    found = [
        f"{tag.interpreter[2]}.{tag.interpreter[3:]}"
        for tag in subject.name.tags
        if re.fullmatch(r"cp\d{2,5}", tag.interpreter)
    ]
    return sorted(set(found), key=Version) or ["3.12"]
