"""What a user asks for beyond release, Python and target, checked and turned into options.

Everything here ends up in Bazel's rc file, so each word has to match a strict pattern.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from tfbuild import release
from tfbuild.errors import UsageError
from tfbuild.recipe import bazel_args, copts
from tfbuild.release import Release
from tfbuild.target import Target

PROFILE_RUN = "/tmp/tfbuild-profile"  # noqa: S108 - only a default, where the wheel is trained
"""Where an instrumented wheel writes its counts, unless LLVM_PROFILE_FILE or GCOV_PREFIX says."""
PROFILES = {".profdata": "clang", ".zip": "gcc"}
"""How a profile's name ends -> whose it is: merged counts of Clang, a folder of GCC's .gcda."""
OPTIMIZE = {"size": ("-Os",), "speed": ("-O3",)}
_CONFIG = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compile, as far as the target does not say it."""

    jobs: int | None = None
    """Bazel's parallel actions; None leaves it to Bazel, or to TFBUILD_JOBS at build time."""
    memory: int | None = None
    """MiB of memory that Bazel may plan with; None leaves it to Bazel, or to TFBUILD_MEMORY."""
    vector_width: int | None = None
    """Preferred vector width in bits in place of the target's."""
    compiler: str = "release"
    """"release": the release's own; "system": the GCC that the image or host has; "gcc-12",
    "clang-17": that package of Debian, Ubuntu or the LLVM project."""
    copts: tuple[str, ...] = ()
    """More compiler flags for target code."""
    bazel_args: tuple[str, ...] = ()
    """More options for `bazel build`."""
    configs: tuple[str, ...] = ()
    """Named configurations of the release's own .bazelrc."""
    optimize: str | None = None
    """"size" or "speed" in place of the tree's own -O2."""
    lto: str | None = None
    """"thin": optimise across files while linking; Clang with lld only. Experimental."""
    instrument: bool = False
    """Compile a wheel that counts what it runs, for a profile. Experimental."""
    profile: Path | None = None
    """Counts of an instrumented wheel: .profdata (Clang), or .zip of .gcda files (GCC)."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """What the options add to a recipe."""

    flags: tuple[str, ...] = ()
    """For the compiler, target code only."""
    linkopts: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """For `bazel build`."""
    suffix: str = ""
    """What the label gets, so that the wheel is not taken for the plain one: ".o3", "" for none."""
    notices: tuple[str, ...] = ()
    """What the user is told, a sentence each."""


def words(
    options: Options, what: Release, compiler: str, target: Target, *, own_tree: bool = False
) -> Words:
    """Return what the options add.

    Args:
        options: what the user asked for.
        what: the release that is built.
        compiler: "gcc-11", "clang-17", "llvm-18" or "system".
        target: what is compiled for.
        own_tree: the tree is not the release's own; nobody knows its configurations.

    Raises:
        UsageError: an option is none, does not exist in this release or for this compiler, or
            would change which CPUs run the wheel.
    """
    family = compiler.partition("-")[0]
    optimized, lto = _optimize(options), _lto(options, compiler)
    profiled = _profile(options, family)
    given = tuple(copts.check(flag, target) for flag in options.copts)
    configs = tuple(_config(name, None if own_tree else what, target) for name in options.configs)
    arguments = tuple(bazel_args.check(word) for word in options.bazel_args)
    parts = (optimized, lto, profiled)
    return Words(
        flags=(*(flag for part in parts for flag in part.flags), *given),
        linkopts=tuple(word for part in parts for word in part.linkopts),
        arguments=(
            *(word for part in parts for word in part.arguments),
            *(f"--config={name}" for name in configs),
            *arguments,
        ),
        suffix="".join(part.suffix for part in parts) + _mark((*given, *configs, *arguments)),
        notices=(*(text for part in parts for text in part.notices), *copts.notices(given)),
    )


def profile_name(path: Path | None) -> str:
    """Return the name of a profile in the context: "profile.profdata"; "" for none."""
    return f"profile{path.suffix}" if path else ""


def _optimize(options: Options) -> Words:
    if options.optimize is None:
        return Words()
    if options.optimize not in OPTIMIZE:
        raise UsageError(
            f"--optimize: {options.optimize!r} is not known.", why=f"Known: {', '.join(OPTIMIZE)}."
        )
    flags = OPTIMIZE[options.optimize]
    return Words(flags=flags, suffix=f".{flags[0].lower().removeprefix('-')}")


def _lto(options: Options, compiler: str) -> Words:
    family, _, version = compiler.partition("-")
    if options.lto is None:
        return Words()
    if options.lto != "thin":
        raise UsageError(f"--lto: {options.lto!r} is not known.", why="Known: thin.")
    if family not in {"clang", "llvm"}:
        raise UsageError(
            "--lto thin needs Clang, and this recipe compiles with GCC.",
            why="GCC has no ThinLTO: its -flto holds the whole program in memory while linking, "
            "which no TensorFlow build is known to have survived.",
            do="Name a Clang (--compiler clang-16), or a release that is built with Clang: 2.13 "
            "and later.",
        )
    return Words(
        flags=("-flto=thin",),
        linkopts=("-flto=thin",),
        # GNU ar makes no index of what is not machine code yet. Bazel's own LLVM brings its ar.
        arguments=(f"--repo_env=AR=/usr/lib/llvm-{version}/bin/llvm-ar",)
        if family == "clang"
        else (),
        suffix=".lto",
        notices=("--lto thin is experimental: no gain for TensorFlow is known.",),
    )


def _profile(options: Options, family: str) -> Words:
    if options.instrument and options.profile:
        raise UsageError(
            "A wheel either gathers a profile or uses one.",
            why="Both were asked for.",
        )
    if options.instrument:
        return _instrument(family)
    if options.profile is None:
        return Words()
    _check_profile(options.profile, family)
    return Words(
        # build.sh adds -fprofile-use: only there the profile has a place.
        flags=(
            ("-fprofile-partial-training", "-Wno-missing-profile", "-Wno-error=coverage-mismatch")
            if family in {"gcc", "system"}
            else ("-Wno-profile-instr-unprofiled", "-Wno-profile-instr-out-of-date")
        ),
        suffix=".pgo",
        notices=("A build with a profile is experimental: what it gains has to be measured.",),
    )


def _instrument(family: str) -> Words:
    generate = f"-fprofile-generate={PROFILE_RUN}"
    # Threads count at once. Clang's counts survive that well enough.
    atomic = ("-fprofile-update=prefer-atomic",) if family in {"gcc", "system"} else ()
    return Words(
        flags=(generate, *atomic),
        linkopts=(generate,),
        suffix=".instrumented",
        notices=("An instrumented wheel is slow, and writes its counts wherever it runs.",),
    )


def _check_profile(path: Path, family: str) -> None:
    if not path.is_file():
        raise UsageError(f"There is no profile {path}.")
    whose = PROFILES.get(path.suffix)
    if whose is None:
        raise UsageError(
            f"{path} is no profile that tfbuild can use.",
            why=f"Its name must end in one of: {', '.join(PROFILES)}.",
            do="For Clang merge the counts: llvm-profdata merge -o x.profdata *.profraw; for GCC "
            "put the .gcda files into a .zip.",
        )
    if (whose == "gcc") != (family in {"gcc", "system"}):
        compiler = "GCC" if family in {"gcc", "system"} else "Clang"
        raise UsageError(
            f"{path} cannot be used by {compiler}.",
            why="A .profdata file is Clang's, a .zip of .gcda files is GCC's.",
            do="Take the compiler that made the instrumented wheel.",
        )


def _config(name: str, what: Release | None, target: Target) -> str:
    if not _CONFIG.fullmatch(name):
        raise UsageError(f"--config: {name!r} is no name of a configuration.")
    if what is not None:
        release.check_config(name, what, target.architecture)
    return name


def _mark(given: tuple[str, ...]) -> str:
    """Return a short mark for free options: the same options, the same label."""
    if not given:
        return ""
    return f".x{hashlib.sha256(' '.join(given).encode()).hexdigest()[:6]}"
