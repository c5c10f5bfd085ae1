"""The check "platform": what the wheel's tag promises against what its libraries need."""

from collections import Counter
from collections.abc import Iterator

from tfbuild.verify import policies
from tfbuild.verify.judge import judged, shown, skipped
from tfbuild.verify.loading import Loading
from tfbuild.verify.model import Check
from tfbuild.verify.policies import Policy, Promise
from tfbuild.verify.structure import same_platform
from tfbuild.verify.subject import Subject
from tfbuild.wheel.elf import Facts

NAME = "platform"
_LOADERS = ("ld-linux", "ld64.so")
_GLIBC = ("libc.so.6", "ld-linux")
_MUSL = ("libc.musl-", "ld-musl-")


def check(subject: Subject) -> Check:
    """Compare the platform tags with the libraries' needs."""
    tags = sorted({same_platform(tag.platform) for tag in subject.name.tags})
    linked = {name: facts for name, facts in subject.libraries.items() if facts.dynamic.is_there}
    if tags == ["any"]:
        return _anywhere(linked)
    if not linked:
        return skipped(NAME, "It holds no shared library in ELF.")
    foreign = [tag for tag in tags if not tag.startswith(("manylinux", "musllinux", "linux"))]
    if foreign:
        return Check(
            name=NAME,
            status="failed",
            found=f"The tag says {', '.join(foreign)}, but the libraries are for Linux.",
            details=shown(sorted(linked)),
            do="Give it the tag of the system that it was built on.",
        )
    return _linux(subject, linked, tags)


def _anywhere(linked: dict[str, Facts]) -> Check:
    machines = sorted({facts.machine for facts in linked.values()})
    return judged(
        NAME,
        good="It is for any platform, and holds no machine code.",
        faults=[f"The tag says that it runs anywhere, but it holds code for {', '.join(machines)}."]
        if linked
        else [],
        details=shown(sorted(linked)),
        do="Give it the tag of the system that it was built on.",
    )


def _linux(subject: Subject, linked: dict[str, Facts], tags: list[str]) -> Check:
    machine = _machine(subject, linked)
    loading = Loading(subject)
    best = _carried(subject, machine, loading)
    promises = [found for tag in tags if (found := policies.promise(tag)) is not None]
    faults = list(_machines(linked, tags))
    for promise in promises:
        faults += _broken(subject, promise, best, loading)
    oddities = list(_strangers(linked, machine))
    if not promises:
        oddities.append(_plain(best))
    return judged(
        NAME,
        good=f"The libraries allow {best}, and the tag promises no older system.",
        faults=list(dict.fromkeys(faults)),
        oddities=oddities,
        why="A tag promises that the wheel runs on every system for which it stands; these "
        "libraries ask for more, and the import fails there."
        if faults
        else "",
        do=f"Build it on an older system, or give it the tag {best}." if faults else "",
    )


def _machine(subject: Subject, linked: dict[str, Facts]) -> str:
    """Return the tags' machine if any library has it, else the commonest."""
    counts = Counter(facts.machine for facts in linked.values())
    named = [tag.platform for tag in subject.name.tags]
    fitting = [machine for machine in counts if any(name.endswith(machine) for name in named)]
    return fitting[0] if fitting else counts.most_common(1)[0][0]


def _machines(linked: dict[str, Facts], tags: list[str]) -> Iterator[str]:
    machines = {facts.machine for facts in linked.values()}
    for tag in tags:
        if not any(tag.endswith(f"_{machine}") for machine in machines):
            yield f"The tag says {tag}, but the libraries are for {', '.join(sorted(machines))}."
    for name, facts in linked.items():
        if _is_extension(facts) and not any(tag.endswith(f"_{facts.machine}") for tag in tags):
            yield f"{name} extends Python, but is for {facts.machine}."


def _strangers(linked: dict[str, Facts], machine: str) -> Iterator[str]:
    for name, facts in linked.items():
        if facts.machine != machine and not _is_extension(facts):
            yield f"{name} is for {facts.machine}."


def _is_extension(facts: Facts) -> bool:
    return any(name.startswith(("Py", "_Py")) for name in facts.dynamic.imports)


def _carried(subject: Subject, machine: str, loading: Loading) -> str:
    """Return the tag for the oldest systems that the libraries allow, as auditwheel finds it."""
    libraries = {n: f for n, f in subject.libraries.items() if f.machine == machine}
    is_musl = any(_uses(facts, _MUSL) for facts in libraries.values())
    for policy in policies.known("musl" if is_musl else "glibc", machine):
        if not any(_excess(policy, libraries, loading)):
            return policy.name
    return f"linux_{machine}"


def _broken(subject: Subject, promise: Promise, best: str, loading: Loading) -> Iterator[str]:
    """Yield what keeps the libraries from what a tag promises."""
    libraries = {n: f for n, f in subject.libraries.items() if f.machine == promise.machine}
    wrong = _MUSL if promise.libc == "glibc" else _GLIBC
    for name, facts in libraries.items():
        if _uses(facts, wrong):
            other = "musl" if wrong is _MUSL else "glibc"
            yield f"{name} is linked against {other}; {promise.tag} stands for {promise.libc}."
    found = policies.promise(best)
    if found is not None and found.libc == promise.libc and found.release <= promise.release:
        return
    fitting = [
        p for p in policies.known(promise.libc, promise.machine) if p.release <= promise.release
    ]
    if fitting:
        yield from (f"{promise.tag}: {text}" for text in _excess(fitting[-1], libraries, loading))
    elif libraries:
        yield f"{promise.tag} is older than any system that is known."


def _excess(policy: Policy, libraries: dict[str, Facts], loading: Loading) -> Iterator[str]:
    """Yield what libraries need beyond a policy, in words."""
    for name, facts in libraries.items():
        if facts.level:
            yield f"{name} says that it needs x86-64-v{facts.level}, which not every CPU is."
        for version in facts.dynamic.versions:
            if not version.library.startswith(_LOADERS) and policy.lacks(version.name):
                some = ", ".join(f"{symbol}@{version.name}" for symbol in version.symbols[:3])
                more = f" and {version.count - 3} more" if version.count > 3 else ""  # noqa: PLR2004
                yield f"{name} needs {some or version.name}{more} of {version.library}."
        for library, symbols in policy.forbidden.items():
            used = sorted(symbols & facts.dynamic.imports)
            if used and library in facts.dynamic.needed:
                yield f"{name} needs {', '.join(used)} of {library}, which not every system has."
    for need in loading.unresolved:
        is_asked = need.user in libraries and not need.elsewhere and not need.is_tensorflow
        if is_asked and need.library not in policy.libraries:
            yield f"{need.user} needs {need.library}, which is not in the wheel."


def _uses(facts: Facts, names: tuple[str, ...]) -> bool:
    return any(needed.startswith(names) for needed in facts.dynamic.needed)


def _plain(best: str) -> str:
    if best.startswith("linux_"):
        return f"It could carry no tag but {best}, which installs here but which PyPI refuses."
    return f"A plain Linux tag installs, but PyPI refuses it; the libraries would allow {best}."
