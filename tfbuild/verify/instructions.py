"""The checks "instructions" and "flags": machine code against the target that it is for.

"instructions" fails where code that always runs needs more than the target has: it would die there.
"flags" fails where the target's instructions are absent from code that should have them: the
compiler was not told of the target, and the wheel is slower than its label says.
"""

from collections.abc import Iterable, Iterator

from tfbuild.code import minimum
from tfbuild.code.evidence import Evidence, Need, Witness
from tfbuild.target import Target
from tfbuild.verify.judge import judged, shown, skipped
from tfbuild.verify.model import Check

INSTRUCTIONS = "instructions"
FLAGS = "flags"
NAMES = (INSTRUCTIONS, FLAGS)


def check(evidence: Evidence | None, target: Target | None) -> tuple[Check, Check]:
    """Check a wheel's code.

    Args:
        evidence: of all its libraries; None where there is none that can be decoded.
        target: what the code shall be made for; None where nobody names one.
    """
    if evidence is None:
        return _both("It holds no machine code that can be decoded.")
    if target is None:
        why = "No target is named: neither here, nor in its record, nor in its label."
        return _minimum(evidence), skipped(FLAGS, why)
    if target.architecture != evidence.machine:
        return _other_machine(evidence, target), skipped(FLAGS, "Its code is for another machine.")
    return _instructions(evidence, target), _flags(evidence, target)


def _both(why: str) -> tuple[Check, Check]:
    return skipped(INSTRUCTIONS, why), skipped(FLAGS, why)


def _minimum(evidence: Evidence) -> Check:
    """Return what can be said without a target."""
    found = minimum.of(evidence)
    if evidence.symbols != "full":
        return skipped(INSTRUCTIONS, f"No target is named. {_UNSURE}")
    names = ", ".join(found.required) or "nothing beyond x86-64"
    lowest = f"; the lowest target that has all is {found.target}" if found.target else ""
    told = f"What always runs needs {names}{lowest}. No target is named to compare it with."
    return Check(name=INSTRUCTIONS, status="passed", found=told)


def _other_machine(evidence: Evidence, target: Target) -> Check:
    return Check(
        name=INSTRUCTIONS,
        status="failed",
        found=f"Its code is for {evidence.machine}, and {target.name} is {target.architecture}.",
        do="Name a target of that architecture; `tfbuild targets` shows them all.",
    )


def _instructions(evidence: Evidence, target: Target) -> Check:
    beyond = minimum.excess(evidence, target.requires)
    sure = [need for need in beyond if _is_sure(need, evidence)]
    beyond += minimum.doubtful(evidence, target.requires)
    unsure = [need for need in beyond if need not in sure]
    told = []
    if sure:
        told.append(_sentence(sure, target, "What always runs"))
    if unsure:
        told.append(_sentence(unsure, target, "Code without names"))
    return Check(
        name=INSTRUCTIONS,
        status="failed" if sure else "warning" if unsure else "passed",
        found=" ".join(told) or _good(evidence, target),
        details=shown(list(_witnesses(beyond))),
        why=_why(sure, evidence, target) if sure else _UNSURE if unsure else "",
        do=_do(sure, evidence) if sure else "",
    )


def _good(evidence: Evidence, target: Target) -> str:
    found = minimum.of(evidence)
    sampled = " in the sample" if evidence.mode == "sample" else ""
    lowest = f" (the lowest that has all is {found.target})" if found.target else ""
    return f"What always runs needs nothing{sampled} that {target.name} has not{lowest}."


_UNSURE = "Without a symbol table, code that is chosen at run time looks like any other."
_UNKNOWN = "or a dispatcher is not known here"


def _is_sure(need: Need, evidence: Evidence) -> bool:
    """Return whether a function with a name needs it: without names, a guard may be overlooked."""
    return evidence.symbols == "full" and any(witness.symbol for witness in need.first)


def _sentence(needs: Iterable[Need], target: Target, what: str) -> str:
    names = ", ".join(need.extension for need in needs)
    return f"{what} needs {names}, which {target.name} does not have."


def _why(needs: Iterable[Need], evidence: Evidence, target: Target) -> str:
    guards = sorted({one.guard for need in needs for one in need.first})
    if guards and all(guards):
        return f"The check of the CPU before it ({', '.join(guards)}) does not assure that much."
    found = minimum.of(evidence)
    if found.target is None or found.target == target.name:
        return (
            "The compiler was allowed more than the target has, or a dispatcher is not known here."
        )
    return f"The compiler was allowed what {found.target} has, or a dispatcher is not known here."


def _do(needs: Iterable[Need], evidence: Evidence) -> str:
    found = minimum.of(evidence).target
    names = ", ".join(need.extension for need in needs)
    if found is None:
        return f"Find out where {names} comes from: the functions are above."
    return f"Give it to CPUs from {found} on, or compile it again without {names}."


def _witnesses(needs: Iterable[Need]) -> Iterator[str]:
    for need in needs:
        # Instances of one template have the same readable name.
        yield from dict.fromkeys(f"{need.extension}: {_witness(one)}" for one in need.first)


def _witness(one: Witness) -> str:
    name = one.function or f"unnamed code at {one.address:#x}"
    guard = f", behind the check {one.guard!r}" if one.guard else ""
    return f"{name} ({one.instruction}) in {one.library.rpartition('/')[2]}{guard}"


def _flags(evidence: Evidence, target: Target) -> Check:
    looked = minimum.tells(evidence, target)
    if not looked and "avx" in target.requires:
        why = f"Too little code to tell whether the flags of {target.name} arrived."
        return skipped(FLAGS, why)
    if not looked:
        told = f"{target.name} has no instructions whose absence would tell anything."
        return Check(name=FLAGS, status="passed", found=told)
    absent = minimum.arrived(evidence, target)
    untold = ", ".join(minimum.untold(evidence, target))
    rest = f" Too little code tells of {untold}." if untold else ""
    return judged(
        FLAGS,
        good=f"{', '.join(looked)}: where the flags of {target.name} should put them.{rest}",
        faults=absent,
        why="The target's flags did not reach the compiler everywhere." if absent else "",
        do="Look at the compiler's commands in the build's log, and at tfbuild.bazelrc "
        "(`tfbuild render`)."
        if absent
        else "",
    )
