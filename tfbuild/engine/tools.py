"""What the local engine takes from this machine: Bazel, a compiler, a Python with packages."""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tfbuild import mirrors, process, pythons
from tfbuild.engine.base import OnLine
from tfbuild.errors import EngineError, TfbuildError, UsageError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_BAZELS = ("bazel", "bazelisk")
_PROGRAMS = Path("/usr/bin")
_INCLUDE = "import sysconfig; print(sysconfig.get_path('include'))"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# What build scripts and rules of TensorFlow start by name.
_HELPERS = ("git", "patchelf", "xxd", "zip", "unzip", "curl", "rsync", "java")


def decided(recipe: "Recipe", part: str) -> dict[str, str]:
    """Return what the recipe decided about its "source" or its "bazel"."""
    return cast("dict[str, str]", json.loads(recipe.files["recipe.json"])[part])


def moving(recipe: "Recipe") -> str:
    """Return the branch or tag that the source is named by ("url#main"); "" for anything exact."""
    tree = decided(recipe, "source")
    exact = tree["kind"] != "git" or _COMMIT.fullmatch(tree["ref"])
    return "" if exact else f"{tree['url']}#{tree['ref']}"


def bazel() -> str:
    """Return the path of Bazel or Bazelisk. Raises EngineError."""
    for name in _BAZELS:
        path = shutil.which(name)
        if path:
            return path
    raise EngineError(
        "There is no Bazel on this machine.",
        why=f"Neither {' nor '.join(_BAZELS)} is on the PATH.",
        do="Install Bazelisk (https://github.com/bazelbuild/bazelisk) or Debian's "
        "bazel-bootstrap, or take --engine docker or --engine podman.",
    )


def wanted_bazel(recipe: "Recipe") -> str:
    """Return the release of Bazel that the recipe insists on, "" for whatever is here."""
    chosen = decided(recipe, "bazel")
    return chosen["version"] if chosen["kind"] == "release" else ""


def bazel_version(wanted: str = "") -> str:
    """Return the version of this machine's Bazel.

    Args:
        wanted: Bazelisk, under whatever name, takes this release; it may fetch it.
    """
    program = bazel()
    if not wanted and _is_bazelisk():
        # To ask it for a version would make it fetch the newest Bazel.
        return "Bazelisk"
    environment = {**os.environ, **({"USE_BAZEL_VERSION": wanted} if wanted else {})}
    done = process.run([program, "--version"], cwd=Path("/"), env=environment, check=False)
    word = done.stdout.removeprefix("bazel").strip()
    # Debian's Bazel says "no_version"; its package knows.
    if done.ok and word[:1].isdigit():
        return word.split()[0].split("-")[0]
    if shutil.which("dpkg-query"):
        words = ["dpkg-query", "--show", "--showformat", "${Version}", "bazel-bootstrap"]
        package = process.run(words, check=False)
        if package.ok:
            return package.stdout.partition("+")[0]
    return word or "unknown"


def _is_missing() -> bool:
    return not any(map(shutil.which, _BAZELS))


def _is_bazelisk() -> bool:
    return Path(bazel()).resolve().name.startswith("bazelisk")


def has_bazel(recipe: "Recipe") -> bool:
    """Return whether this machine has, or its Bazelisk fetches, the Bazel that is wanted."""
    wanted = wanted_bazel(recipe)
    return not wanted or bazel_version(wanted) == wanted


def has_compiler(recipe: "Recipe") -> bool:
    """Return whether this machine has the compiler that the recipe names, if it names one."""
    is_named = recipe.compiler.startswith(("gcc", "clang"))
    return not is_named or (_PROGRAMS / recipe.compiler).exists()


def check(recipe: "Recipe") -> None:
    """Check that this machine has what the recipe names, before anything is fetched.

    Raises:
        UsageError: the recipe names a Bazel that is not this machine's.
        EngineError: something is missing; says what to install.
    """
    for look in _LOOKS:
        look(recipe)


def problems(recipe: "Recipe") -> tuple[TfbuildError, ...]:
    """Return everything that `check` would refuse, not only the first. Downloads nothing."""
    found: dict[str, TfbuildError] = {}
    for look in _LOOKS:
        if look is _check_bazel and (_is_missing() or _is_bazelisk()):
            # The engine itself tells that there is none; to ask Bazelisk for a release's version
            # would make it fetch that release.
            continue
        try:
            look(recipe)
        except (UsageError, EngineError) as error:
            found.setdefault(str(error), error)
    return tuple(found.values())


def _check_bazel_kind(recipe: "Recipe") -> None:
    if decided(recipe, "bazel")["kind"] not in {"release", "system"}:
        raise UsageError(
            f"--bazel {recipe.bazel} does not fit --engine local.",
            why="The local engine takes the Bazel that is on the PATH.",
            do="Put that one first on the PATH, and say --bazel system.",
        )


def _check_python(recipe: "Recipe") -> None:
    interpreter(recipe.python)


def _check_compiler(recipe: "Recipe") -> None:
    if not has_compiler(recipe):
        raise EngineError(
            f"{_PROGRAMS / recipe.compiler} is not here, and this recipe names it.",
            do=f"Install {recipe.compiler}, or take this machine's GCC: --compiler system",
        )
    compiler_digest(recipe)


def _check_headers(recipe: "Recipe") -> None:
    # Later releases bring a Python of their own; those whose build needs packages do not.
    if recipe.python_packages:
        python = interpreter(recipe.python)
        done = process.run([python, "-I", "-c", _INCLUDE], check=False)
        if not (Path(done.stdout.strip()) / "Python.h").is_file():
            raise EngineError(
                f"{python} has no headers, and this build compiles against them.",
                why=f"Python.h is not in {done.stdout.strip() or 'its folder'}.",
                do=f"Install them (Debian, Ubuntu: sudo apt install python{recipe.python}-dev).",
            )


def _check_bazel(recipe: "Recipe") -> None:
    wanted = wanted_bazel(recipe)
    found = bazel_version(wanted)
    if wanted and found != wanted:
        raise EngineError(
            f"TensorFlow {recipe.tensorflow} is built with Bazel {wanted}; here is {found}.",
            do="Install Bazelisk, which fetches the right one, or insist on what is here: "
            "--bazel system",
        )


_LOOKS = (_check_bazel_kind, _check_python, _check_headers, _check_compiler, _check_bazel)


def interpreter(version: str) -> Path:
    """Return a Python of that minor version, the one on the PATH if it works.

    Raises:
        EngineError: there is none.
    """
    on_path = shutil.which(f"python{version}")
    found = pythons.ask(Path(on_path)) if on_path else None
    if found is None or found.version != version:
        found = pythons.first(version)
    if found is None:
        raise EngineError(
            f"There is no python{version} on this machine.",
            why="The local engine compiles for a Python that is here.",
            do=f"Install python{version} with its headers, or name another with --python.",
        )
    return found.path


def make_python(
    recipe: "Recipe", place: Path, on_line: OnLine, inherited: Mapping[str, str]
) -> None:
    """Make an environment with the packages that the release's build imports.

    Raises:
        EngineError: a package cannot be installed.
    """
    environment = {key: text for key, text in inherited.items() if key != "VIRTUAL_ENV"}
    if recipe.sources.pip_index:
        index = mirrors.rewrite(recipe.sources.pip_index, mirrors.of(inherited))
        environment["UV_DEFAULT_INDEX"] = index
    uv = (sys.executable, "-m", "uv", "--no-config")
    base = str(interpreter(recipe.python))
    make = ("venv", "--quiet", "--no-project", "--python", base, str(place))
    fill = ("pip", "install", "--python", str(place / "bin/python"), *recipe.python_packages)
    try:
        for words in (make, fill):
            process.stream([*uv, *words], on_line, env=environment)
    except process.ProcessError as error:
        raise EngineError(
            "The Python packages that the build needs cannot be installed.",
            why=str(error),
            do="Check the network, or give another --pip-index.",
        ) from error


def path(python: Path) -> str:
    """Return the PATH for the build, which no shell or environment of the user changes.

    The build's Python comes first, then the folders of tools that only the user's PATH leads to.
    """
    standard = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    compiler = shutil.which(os.environ.get("CC") or "gcc")
    places = [str(python), *([str(Path(compiler).parent)] if compiler else [])]
    places += [
        str(Path(found).parent)
        for program in _HELPERS
        if not shutil.which(program, path=standard) and (found := shutil.which(program))
    ]
    return ":".join(dict.fromkeys([*places, *standard.split(":")]))


def compiler_digest(recipe: "Recipe") -> str:
    """Return a short hash over what the compiler says about itself. Raises EngineError."""
    named = recipe.compiler.startswith(("gcc", "clang"))
    program = str(_PROGRAMS / recipe.compiler) if named else os.environ.get("CC") or "gcc"
    try:
        done = process.run([program, "--version"], check=False)
    except process.ProcessError as error:
        raise EngineError(
            f"There is no C compiler {program!r} on this machine.",
            why=str(error),
            do="Install it (Debian, Ubuntu: sudo apt install g++), or name another in CC.",
        ) from error
    return hashlib.sha256(done.stdout.encode()).hexdigest()[:8]
