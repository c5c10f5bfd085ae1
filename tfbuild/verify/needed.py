"""The check "libraries": shared libraries that nothing will bring."""

from collections import defaultdict
from collections.abc import Iterator

from tfbuild.verify import policies
from tfbuild.verify.judge import judged, skipped
from tfbuild.verify.loading import Loading, Need
from tfbuild.verify.model import Check
from tfbuild.verify.structure import same_platform
from tfbuild.verify.subject import Subject

NAME = "libraries"
_PYTHON = "libpython"
"""The check "python" tells about these."""


def check(subject: Subject) -> Check:
    """Look for each library that a library of the wheel needs."""
    if not subject.libraries and not subject.damaged:
        return skipped(NAME, "It holds no shared library.")
    loading = Loading(subject)
    first = loading.loaded_first
    wanted = [
        need
        for need in loading.unresolved
        if not need.library.startswith(_PYTHON) and need.library not in first
    ]
    allowed = {machine: _allowed(subject, machine) for machine in _machines(subject)}
    missing = [n for n in wanted if n.library not in allowed[subject.libraries[n.user].machine]]
    promised = any(policies.promise(same_platform(tag.platform)) for tag in subject.name.tags)
    others = [need for need in missing if not need.elsewhere]
    nowhere = list(_told([need for need in others if not need.is_tensorflow]))
    theirs = list(_told([need for need in others if need.is_tensorflow], "import tensorflow first"))
    unled = list(_unled([need for need in missing if need.elsewhere]))
    broken = [f"{name} cannot be read: {why}" for name, why in subject.damaged.items()]
    return judged(
        NAME,
        good=_good(subject, loading, wanted),
        faults=[*broken, *(nowhere if promised else ())],
        oddities=[*unled, *theirs, *(() if promised else nowhere)],
        why="What is neither in the wheel nor part of every system for which its tag stands must "
        "already be installed where it is used, or the import fails.",
        do="Put the library into the wheel (auditwheel repair does that), or link it statically.",
    )


def _good(subject: Subject, loading: Loading, wanted: list[Need]) -> str:
    count = len(subject.libraries)
    inside = sum(
        loading.found(name, needed) is not None
        for name, facts in subject.libraries.items()
        for needed in facts.dynamic.needed
    )
    system = sorted({need.library for need in wanted})
    places = [f"{inside} times in the wheel"] if inside else []
    if system:
        which = f"the rest ({', '.join(system)})" if inside else ", ".join(system)
        places.append(f"{which} on every system for which its tag stands")
    if not places:
        return f"{count} libraries need no other." if count > 1 else "Its library needs no other."
    who = (
        "Its library finds what it needs"
        if count == 1
        else f"{count} libraries find what they need"
    )
    return f"{who}: {', '.join(places)}."


def _machines(subject: Subject) -> set[str]:
    return {facts.machine for facts in subject.libraries.values()}


def _allowed(subject: Subject, machine: str) -> frozenset[str]:
    """Return what the systems for which the wheel's tags stand have: all of them, or some."""
    promised = [policies.promise(same_platform(tag.platform)) for tag in subject.name.tags]
    libcs = {each.libc for each in promised if each} or {"glibc"}
    sets = [policy.libraries for libc in sorted(libcs) for policy in policies.known(libc, machine)]
    return frozenset.union(*sets) if sets else frozenset()


def _told(needs: list[Need], advice: str = "") -> Iterator[str]:
    users: dict[str, list[str]] = defaultdict(list)
    for need in needs:
        users[need.library].append(need.user)
    for library, names in sorted(users.items()):
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        tail = f" ({advice})" if advice else ""
        yield f"{library} is not in the wheel; {names[0]}{more} needs it{tail}."


def _unled(needs: list[Need]) -> Iterator[str]:
    for need in needs:
        yield (
            f"{need.user} needs {need.library}, which is in the wheel as {need.elsewhere}, but no "
            "search path (RUNPATH, RPATH) leads there; it loads only after something else has "
            "loaded that."
        )
