"""Which compiler flags a target gets from the recipe's compiler, and which pairs are refused."""

from dataclasses import dataclass, replace

from tfbuild import compilers, release
from tfbuild.compilers import Choice, Compiler
from tfbuild.errors import UsageError
from tfbuild.release import KnownBad, Release
from tfbuild.target import Target


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The target's flags: decided, or left to the build script, which can ask the compiler."""

    flags: tuple[str, ...]
    """The flags; where the script chooses, those that it tries first."""
    ask: tuple[Choice, ...] = ()
    """What the script tries, in this order; () where the flags are decided."""
    ask_bad: tuple[KnownBad, ...] = ()
    """What the script checks because only it knows the compiler's version."""
    notices: tuple[str, ...] = ()
    """What the user is told, a sentence each."""


def decide(what: Release, name: str, target: Target) -> Decision:
    """Return the flags for target code.

    Args:
        what: the release that is built.
        name: its compiler: "gcc-11", "clang-17", "llvm-18", or "system".
        target: what is compiled for, with the vector width that is wanted.

    Raises:
        UsageError: the compiler fails on this release, or knows nothing near the target.
    """
    compiler = compilers.named(name)
    bad = release.known_bad(what, target.requires)
    here = tuple(pair for pair in bad if _is(pair, compiler))
    usual = what.compiler_on(target.architecture)
    _refuse(here, what, compiler, usual)
    found = compilers.choices(target, compiler)
    if not found:
        raise _knows_nothing(what, compiler, target)
    without = tuple(dict.fromkeys(pair.without for pair in here))
    ask = (
        tuple(replace(choice, flags=(*choice.flags, *without)) for choice in found)
        if not compilers.decided(found, compiler)
        else ()
    )
    return Decision(
        flags=(*found[0].flags, *without),
        ask=ask,
        ask_bad=bad if compiler.major is None else (),
        notices=(*_fallback(found, ask, compiler, target), *_left_out(here, compiler)),
    )


def told(choice: Choice, target: Target) -> str:
    """Return in a sentence, without its full stop, that these flags stand for the target's own."""
    return (
        f"{target.name} is compiled with {' '.join(choice.flags)}, the nearest to {target.march} "
        "that the compiler knows"
    )


def _is(pair: KnownBad, compiler: Compiler) -> bool:
    if compiler.major is None or pair.compiler != compiler.family:
        return False
    return pair.since <= compiler.major <= pair.until


def _refuse(pairs: tuple[KnownBad, ...], what: Release, compiler: Compiler, usual: str) -> None:
    for pair in pairs:
        if not pair.without:
            raise UsageError(
                f"TensorFlow {what.version} cannot be built with {compiler}.",
                why=f"{pair.why} ({release.source(pair.source)}).",
                do=f"Leave --compiler out: this release is built with {usual}.",
            )


def _knows_nothing(what: Release, compiler: Compiler, target: Target) -> UsageError:
    first = compilers.first_native(target, compiler.family)
    return UsageError(
        f"{compiler} does not know {target.name}, nor anything near it.",
        why=f"{target.march} came with {compilers.FAMILIES[compiler.family]} {first}.",
        do=f"Choose an older target of the same family, or another --compiler; {what.version} is "
        f"built with {what.compiler_on(target.architecture)}.",
    )


def _fallback(
    found: tuple[Choice, ...], ask: tuple[Choice, ...], compiler: Compiler, target: Target
) -> tuple[str, ...]:
    if ask:
        return (
            (
                f"{compiler} may be older than {target.march}: then it gets the nearest flags that "
                "it knows, and the record tells them."
            ),
        )
    if found[0].native:
        return ()
    return (f"{compiler}: {told(found[0], target)}.",)


def _left_out(pairs: tuple[KnownBad, ...], compiler: Compiler) -> tuple[str, ...]:
    return tuple(
        f"{pair.without} is added for {compiler}: {pair.why} ({release.source(pair.source)})."
        for pair in pairs
    )
