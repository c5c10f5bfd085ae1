"""Compiler flags that a user adds: which are refused, and why."""

import re

from tfbuild.errors import UsageError
from tfbuild.target import Target

# Bazel's rc file and shells see them: no spaces, quotes, $ or #.
_FLAG = re.compile(r"-[A-Za-z][A-Za-z0-9=+_,.:/@%-]*")
# Machine flags that leave alone which CPUs run the code.
_HARMLESS = re.compile(
    r"-m(?:no-[a-z0-9.-]+|tune=.+|cmodel=\w+|stackrealign|vzeroupper|branch-cost=\d+|red-zone|"
    r"tls-dialect=\w+|fentry|omit-leaf-frame-pointer|64)"
)
# Words that tell the driver to do something else than compile this file, or that hide others.
_DRIVER = re.compile(
    r"-(?:[cESox]|o.+|x.+|M[A-Z]*|M[FQT].*|X[a-z].*|mllvm|target"
    r"|include|imacros|isystem|idirafter|I|L|D|U|arch|specs=.*|wrapper|pipe|v|fplugin.*|B.*"
    r"|fsyntax-only|ivfsoverlay.*)"
)
_HIDDEN = re.compile(r"-W[apl],")


def check(flag: str, target: Target) -> str:
    """Return the flag, checked.

    Raises:
        UsageError: it is none, would change which CPUs run the wheel, or has an option of its own.
    """
    if not _FLAG.fullmatch(flag) or _DRIVER.fullmatch(flag):
        raise UsageError(
            f"--copt: {flag!r} is not a flag that tfbuild passes on.",
            why="Expected one word for the compilation of every file, like -fno-math-errno or "
            "-DNAME=1, without spaces or quotes.",
        )
    if flag.endswith("=native"):
        raise UsageError(
            f"--copt: {flag} cannot be part of a recipe.",
            why="Code would depend on the machine that compiles, and the wheel could not say which "
            "CPUs run it.",
            do="Name a target: `tfbuild detect` recommends one for this CPU.",
        )
    if own := _own_option(flag):
        raise UsageError(f"--copt: {flag} has an option of its own.", do=own)
    if _HIDDEN.match(flag) or (flag.startswith("-m") and not _HARMLESS.fullmatch(flag)):
        raise UsageError(
            f"--copt: {flag} could change which CPUs run the wheel.",
            why=f"Its label and record say {target.name}, and pip would install it on CPUs that "
            "it kills.",
            do="Choose a target that has what you want: `tfbuild targets` shows what each needs.",
        )
    return flag


def notices(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a user should know about these flags, a sentence each."""
    return tuple(
        f"{flag} changes results, and with GCC those of everything else in the process as well: "
        "libraries linked with it turn denormal numbers off."
        for flag in flags
        if flag in {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"}
    )


def _own_option(flag: str) -> str:
    if flag.startswith("-mprefer-vector-width"):
        return "Use --vector-width."
    if flag.startswith("-flto"):
        return "Use --lto thin."
    if flag.startswith(("-fprofile", "-fcs-profile", "-fauto-profile", "-fbranch-probabilities")):
        return "Use tfbuild's own way to build with a profile."
    return ""
