"""The recipe: everything that was decided, and the files that carry it out."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tfbuild import artifact, release
from tfbuild.errors import UsageError
from tfbuild.recipe import archive, render, sources
from tfbuild.recipe import options as asked
from tfbuild.recipe.flags import decide
from tfbuild.recipe.options import Options
from tfbuild.recipe.sources import Bazel, Sources, Tree
from tfbuild.release import Kind, Release
from tfbuild.target import Target

# Python as the releases want it, on a Debian that gets fixes until 2028; its glibc (2.36) is
# older than that of the Debian after it, so wheels run in more places.
BASE_IMAGE = "python:{python}-slim-bookworm"
_COMPILER = re.compile(r"(?:gcc|clang)-[1-9]\d?")
_PYTHON = re.compile(r"3\.\d{1,2}")
_PROFILES = frozenset(f"profile{suffix}" for suffix in asked.PROFILES)
_ARCHIVES = frozenset({"source.tar", "bazel"}) | _PROFILES


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One build, decided in every detail."""

    tensorflow: str
    """"2.21.0"."""
    python: str
    """"3.12"."""
    target: Target
    """With the vector width and flags that are really used."""
    label: str
    """Local version of the wheel: "skylake", "skylake.w256"."""
    kind: Kind
    bazel: str
    """"7.4.1", "system", "apt", an address, or a file."""
    compiler: str
    """"gcc-11", "clang-17", "llvm-18", or "system"."""
    flags: tuple[str, ...]
    """Compiler flags that reach target code."""
    python_packages: tuple[str, ...]
    """Requirements of the Python that runs the build, as pip reads them; often none."""
    base_image: str
    sources: Sources
    known_problems: tuple[str, ...]
    """Defects of this release that this target's code may meet, one sentence each."""
    notices: tuple[str, ...]
    """What is otherwise than a user might expect, one sentence each."""
    files: Mapping[str, bytes]
    archives: Mapping[str, Path]
    """Large parts of the context, written from this machine's files: name -> file or folder."""
    digest: str
    """SHA-256 over everything in the context that the wheel may depend on: all but how many jobs
    run at once, and with how much memory."""
    toolchain_digest: str
    """SHA-256 over what the toolchain stage depends on; the same for every target."""

    @property
    def bazel_options(self) -> tuple[str, ...]:
        """What the recipe's bazelrc gives to `bazel build`, in its order."""
        lines = self.files["tfbuild.bazelrc"].decode().splitlines()
        return tuple(line.removeprefix("build ") for line in lines if line.startswith("build "))

    def write(self, folder: Path) -> None:
        """Write the context into a folder that is missing, empty, or an older context.

        Raises:
            UsageError: the folder holds something else.
            SaveError: a file cannot be written.
        """
        _check_folder(folder)
        for name in _ARCHIVES - set(self.archives):
            (folder / name).unlink(missing_ok=True)
        # The mark comes first: a folder that was left half written can be written again.
        for name in (render.MARK, *self.files):
            artifact.write_bytes(folder / name, self.files[name])
            if name.endswith(".sh"):
                (folder / name).chmod(0o755)
        for name, path in self.archives.items():
            with artifact.writing(folder / name) as file:
                archive.write(path, file)

    def script_files(self) -> dict[str, bytes]:
        """Return what the compile itself takes: the script, Bazel's options, a profile.

        Raises:
            UsageError: the profile cannot be read, or is another one by now.
        """
        named = {name: self.files[name] for name in ("build.sh", "tfbuild.bazelrc")}
        for name in _PROFILES & self.archives.keys():
            try:
                named[name] = self.archives[name].read_bytes()
            except OSError as error:
                raise UsageError(
                    f"Cannot read {self.archives[name]}.", why=error.strerror or str(error)
                ) from error
            # It is kept by the name of its hash, for other builds too.
            if hashlib.sha256(named[name]).hexdigest() != self._profile_digest():
                raise UsageError(
                    f"{self.archives[name]} has changed since the recipe was made.",
                    do="Run the same command again.",
                )
        return named

    def _profile_digest(self) -> str:
        return str(json.loads(self.files[render.MARK])["profile"])


def make(
    tensorflow: str,
    python: str,
    target: Target,
    given: Sources | None = None,
    options: Options | None = None,
) -> Recipe:
    """Decide everything about one build and render its context.

    Args:
        tensorflow: "2.21.0", or "2.21" for the newest of that series.
        python: "3.12".
        target: what to compile for.
        given: outside sources in place of the defaults.
        options: how to compile.

    Raises:
        UsageError: unknown release, Python that the release does not support, an outside source
            that cannot be used, a compiler that fails on the release or knows nothing near the
            target, an option that does not fit, or a vector width that the target does not have.
    """
    given, options = given or Sources(), options or Options()
    what = _release(tensorflow, python)
    width = options.vector_width
    aimed = target if width is None else target.with_vector_width(width)
    compiler = _compiler(what, options.compiler, target.architecture)
    chosen = decide(what, compiler, aimed)
    words = asked.words(options, what, compiler, aimed, own_tree=given.source is not None)
    aimed = replace(aimed, label=aimed.label + words.suffix, flags=(*chosen.flags, *words.flags))
    tree = sources.tree(given.source, default=_official(what), tag=what.tag)
    bazel = _bazel(given, what, target.architecture)
    archives = _archives(tree, bazel, options.profile)
    facts = render.Facts(
        release=what,
        python=python,
        target=aimed,
        compiler=compiler,
        base_image=sources.image(given.base_image or BASE_IMAGE, python),
        tree=tree,
        bazel=bazel,
        pip_index=_address(given.pip_index, "--pip-index"),
        apt_mirror=_address(given.apt_mirror, "--apt-mirror"),
        llvm_mirror=sources.url(given.llvm_mirror or sources.LLVM_APT, "--llvm-mirror"),
        jobs=_positive(options.jobs, "--jobs"),
        memory=_positive(options.memory, "--memory"),
        archives={name: _archive_digest(path) for name, path in archives.items()},
        words=words,
        chosen=chosen,
    )
    files = render.context(facts)
    return Recipe(
        tensorflow=what.version,
        python=python,
        target=aimed,
        label=aimed.label,
        kind=what.kind,
        bazel=given.bazel or what.bazel,
        compiler=compiler,
        flags=aimed.flags,
        python_packages=what.python_packages[python],
        base_image=facts.base_image,
        sources=given,
        known_problems=what.known_problems(aimed.requires),
        notices=(*chosen.notices, *words.notices),
        files=files,
        archives=archives,
        digest=_digest(render.context(replace(facts, jobs=None, memory=None)), facts.archives),
        toolchain_digest=_digest(render.toolchain(files), _toolchain_part(facts.archives)),
    )


def _release(tensorflow: str, python: str) -> Release:
    what = release.find(tensorflow)
    if not _PYTHON.fullmatch(python):
        raise UsageError(f"{python!r} is no Python version.", why="Expected two numbers, as 3.12.")
    what.check_python(python)
    return what


def _compiler(what: Release, wanted: str, architecture: str) -> str:
    if wanted == "release":
        return what.compiler_on(architecture)
    if wanted != "system" and not _COMPILER.fullmatch(wanted):
        raise UsageError(
            f"--compiler: {wanted!r} is not known.",
            why="Known are: release, system, gcc-VERSION and clang-VERSION (gcc-12, clang-17).",
        )
    return wanted


def _official(what: Release) -> Tree:
    return Tree(kind="archive", url=what.archive, ref=what.tag, sha256=what.source_sha256)


def _bazel(given: Sources, what: Release, architecture: str) -> Bazel:
    mirror = sources.url(given.bazel_mirror or sources.BAZEL_RELEASES, "--bazel-mirror")
    known = release.bazel_sha256(architecture)
    return sources.bazel(given.bazel or what.bazel, mirror=mirror, known=known)


def _archives(tree: Tree, bazel: Bazel, profile: Path | None) -> dict[str, Path]:
    found = {"source.tar": tree.path, "bazel": bazel.path}
    if profile is not None:
        found[asked.profile_name(profile)] = profile.resolve()
    return {name: path for name, path in found.items() if path is not None}


def _archive_digest(path: Path) -> str:
    try:
        return archive.digest(path)
    except OSError as error:
        where = error.filename or path
        raise UsageError(f"Cannot read {where}.", why=error.strerror or str(error)) from error


def _address(text: str | None, option: str) -> str:
    return sources.url(text, option) if text else ""


def _positive(number: int | None, option: str) -> int | None:
    if number is not None and number < 1:
        raise UsageError(f"{option}: {number} is less than 1.")
    return number


def _toolchain_part(archives: Mapping[str, str]) -> dict[str, str]:
    return {name: sha256 for name, sha256 in archives.items() if name not in _PROFILES}


def _digest(files: Mapping[str, bytes], archives: Mapping[str, str]) -> str:
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    lines = [f"{name} {sha256}\n" for name, sha256 in sorted({**hashes, **archives}.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _check_folder(folder: Path) -> None:
    try:
        is_file = folder.exists() and not folder.is_dir()
        occupied = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"Cannot read {folder}.", why=error.strerror or str(error)) from error
    if is_file:
        raise UsageError(f"{folder} is a file.", do="Name a folder.")
    if occupied and not render.is_context(folder):
        raise UsageError(
            f"{folder} is not empty, and not a build context that tfbuild wrote.",
            why=f"It has no {render.MARK} of tfbuild. Nothing was changed.",
            do="Name a new or an empty folder.",
        )
