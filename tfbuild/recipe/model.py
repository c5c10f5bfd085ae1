"""The recipe: everything that was decided, and the files that carry it out."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tfbuild import artifact, release
from tfbuild.errors import UsageError
from tfbuild.recipe import archive, render, sources
from tfbuild.recipe.sources import Bazel, Sources, Tree
from tfbuild.release import Kind, Release
from tfbuild.target import Target

BASE_IMAGE = "python:{python}-slim-bookworm"
MARK = "recipe.json"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compile, as far as the target does not say it."""

    jobs: int | None = None
    """Bazel's parallel actions; None leaves it to Bazel or to TFBUILD_JOBS."""
    memory: int | None = None
    """MiB of memory that Bazel may plan with; None leaves it to Bazel."""
    vector_width: int | None = None
    """Preferred vector width in bits in place of the target's."""
    compiler: Literal["release", "system"] = "release"
    """The release's compiler, or the GCC that the base image has."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One build, decided in every detail."""

    tensorflow: str
    python: str
    target: Target
    """With the vector width and flags that are really used."""
    label: str
    """Local version of the wheel: "skylake", "skylake.v256"."""
    kind: Kind
    bazel: str
    """"7.4.1", "system", "apt", an address, or a file's name."""
    compiler: str
    flags: tuple[str, ...]
    """Compiler flags that reach target code."""
    base_image: str
    sources: Sources
    files: Mapping[str, bytes]
    archives: Mapping[str, Path]
    """Large parts of the context, written from this machine's files: name -> file or folder."""
    digest: str
    """SHA-256 over everything in the context."""
    toolchain_digest: str
    """SHA-256 over what the toolchain stage depends on; the same for every target."""

    def write(self, folder: Path) -> None:
        """Write the context into `folder`, which is empty, missing, or an older context.

        Raises:
            UsageError: the folder holds something else.
            SaveError: a file cannot be written.
        """
        _check_folder(folder)
        for name in ("source.tar", "bazel"):
            if name not in self.archives and (folder / name).is_file():
                (folder / name).unlink()
        for name, path in self.archives.items():
            with artifact.writing(folder / name) as file:
                archive.write(path, file)
        for name, data in self.files.items():
            artifact.write_bytes(folder / name, data)
            (folder / name).chmod(0o755 if name.endswith(".sh") else 0o644)


def make(
    tensorflow: str,
    python: str,
    target: Target,
    sources_: Sources | None = None,
    options: Options | None = None,
) -> Recipe:
    """Decide everything about one build and render its context.

    Args:
        tensorflow: "2.21.0", or "2.21" for the newest of that series.
        python: "3.12".
        target: what to compile for.
        sources_: outside sources in place of the defaults.
        options: how to compile.

    Raises:
        UsageError: unknown release, Python that the release does not support, an outside source
            that cannot be used, or a vector width that the target does not have.
    """
    given = sources_ or Sources()
    chosen = options or Options()
    what = release.find(tensorflow)
    what.check_python(python)
    aimed, label = _aim(target, chosen.vector_width)
    tree = sources.tree(given.source, default=_official(what), tag=what.tag)
    bazel = _bazel(given, what)
    base = sources.image(given.base_image or BASE_IMAGE, python)
    archives = _archives(tree, bazel)
    facts = render.Facts(
        release=what,
        python=python,
        target=aimed,
        label=label,
        compiler=what.compiler if chosen.compiler == "release" else "system",
        base_image=base,
        tree=tree,
        bazel=bazel,
        pip_index=_optional(given.pip_index, "--pip-index"),
        apt_mirror=_optional(given.apt_mirror, "--apt-mirror"),
        llvm_mirror=sources.url(given.llvm_mirror or sources.LLVM_APT, "--llvm-mirror"),
        jobs=chosen.jobs,
        memory=chosen.memory,
        archives={name: archive.digest(path) for name, path in archives.items()},
    )
    files = render.context(facts)
    return Recipe(
        tensorflow=what.version,
        python=python,
        target=aimed,
        label=label,
        kind=what.kind,
        bazel=given.bazel or what.bazel,
        compiler=facts.compiler,
        flags=aimed.flags,
        base_image=base,
        sources=given,
        files=files,
        archives=archives,
        digest=_digest(files, facts.archives),
        toolchain_digest=_digest(render.toolchain(files), facts.archives),
    )


def _aim(target: Target, width: int | None) -> tuple[Target, str]:
    """Return the target with its final flags, and the label of its wheels."""
    if width is None or width == target.vector_width:
        return target, target.label
    widest = 512 if "avx512f" in target.requires else 256 if "avx" in target.requires else 128
    if width not in {128, 256, 512} or width > widest:
        raise UsageError(
            f"Target {target.name} has no vectors of {width} bits.",
            why=f"Its widest have {widest} bits.",
        )
    others = [flag for flag in target.flags if not flag.startswith("-mprefer-vector-width=")]
    flags = (*others, f"-mprefer-vector-width={width}")
    return replace(target, vector_width=width, flags=flags), f"{target.label}.v{width}"


def _official(what: Release) -> Tree:
    return Tree(
        kind="archive" if what.source_sha256 else "git",
        url=f"https://github.com/tensorflow/tensorflow/archive/refs/tags/{what.tag}.tar.gz"
        if what.source_sha256
        else "https://github.com/tensorflow/tensorflow.git",
        ref=what.tag,
        sha256=what.source_sha256 or "",
    )


def _bazel(given: Sources, what: Release) -> Bazel:
    mirror = sources.url(given.bazel_mirror or sources.BAZEL_RELEASES, "--bazel-mirror")
    return sources.bazel(given.bazel or what.bazel, mirror=mirror, known=release.bazel_sha256())


def _archives(tree: Tree, bazel: Bazel) -> dict[str, Path]:
    found = {"source.tar": tree.path, "bazel": bazel.path}
    return {name: path for name, path in found.items() if path is not None}


def _optional(text: str | None, option: str) -> str:
    return sources.url(text, option) if text else ""


def _digest(files: Mapping[str, bytes], archives: Mapping[str, str]) -> str:
    total = hashlib.sha256()
    for name, data in sorted(files.items()):
        total.update(f"{name} {hashlib.sha256(data).hexdigest()}\n".encode())
    for name, sha256 in sorted(archives.items()):
        total.update(f"{name} {sha256}\n".encode())
    return total.hexdigest()


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", do="Name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not _is_context(folder):
        raise UsageError(
            f"{folder} is not empty and not a build context of tfbuild.",
            why=f"It has no {MARK} of ours; nothing was changed.",
            do="Name an empty or a new folder.",
        )


def _is_context(folder: Path) -> bool:
    path = folder / MARK
    return path.is_file() and render.SCHEMA.encode() in path.read_bytes()[:200]
