"""The templates' side of a recipe: facts in, files out."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfbuild import artifact, compilers, release, resources
from tfbuild.errors import UsageError
from tfbuild.recipe import platforms
from tfbuild.recipe.flags import Decision, told
from tfbuild.recipe.options import Words
from tfbuild.recipe.sources import Bazel, Tree
from tfbuild.release import Release
from tfbuild.target import Target

if TYPE_CHECKING:
    from jinja2 import Environment

SCHEMA = "tfbuild.recipe"
VERSION = 1
MARK = "recipe.json"
TEMPLATES = {
    "Dockerfile": "Dockerfile.j2",
    "README.md": "context-README.md.j2",
    "build.sh": "build.sh.j2",
    "tfbuild.bazelrc": "tfbuild.bazelrc.j2",
    "toolchain.sh": "toolchain.sh.j2",
}
_FLAG = re.compile(r"-[A-Za-z][A-Za-z0-9=+_,.:/@%-]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_END_OF_TOOLCHAIN = b"\nFROM toolchain AS compile\n"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that the templates may use."""

    release: Release
    python: str
    target: Target
    compiler: str
    base_image: str
    tree: Tree
    bazel: Bazel
    pip_index: str
    apt_mirror: str
    llvm_mirror: str
    jobs: int | None
    memory: int | None
    archives: Mapping[str, str]
    """Name in the context -> SHA-256."""
    words: Words
    """What the user's options add; the target has its flags already."""
    chosen: Decision
    """The flags that make code the target's."""

    @property
    def profile(self) -> str:
        """The name of the profile in the context, "" for none."""
        return next((name for name in self.archives if name.startswith("profile")), "")


def context(facts: Facts) -> dict[str, bytes]:
    """Return the rendered files of the context, without its archives.

    Raises:
        UsageError: the target's name or a flag cannot be part of a recipe.
    """
    _check_target(facts.target)
    environment = _environment()
    values = _values(facts)
    files = {
        name: environment.get_template(template).render(values).encode()
        for name, template in TEMPLATES.items()
    }
    files[MARK] = artifact.dict_to_json(_decided(facts)).encode()
    return dict(sorted(files.items()))


def toolchain(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the parts of the context that the toolchain stage depends on."""
    stage, found, _ = files["Dockerfile"].partition(_END_OF_TOOLCHAIN)
    if not found:
        raise AssertionError("Dockerfile.j2 has no stage compile")
    return {"Dockerfile": stage, "toolchain.sh": files["toolchain.sh"]}


def is_context(folder: Path) -> bool:
    """Return whether the folder is a build context that tfbuild wrote."""
    try:
        mark = json.loads((folder / MARK).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(mark, dict) and str(mark.get("schema")).startswith(f"{SCHEMA}/")


def _check_target(target: Target) -> None:
    for word in (target.name, target.label, target.architecture, *target.requires):
        if not _NAME.fullmatch(word):
            raise UsageError(f"{word!r} cannot be part of a target.")
    for flag in target.flags:
        _check_flag(flag)


def _check_flag(flag: str) -> None:
    if not _FLAG.fullmatch(flag):
        raise UsageError(f"{flag!r} is not a compiler flag that tfbuild passes on.")
    if flag.endswith("=native"):
        raise UsageError(
            f"{flag} cannot be part of a recipe.",
            why="The wheel could not say which CPUs run it.",
            do="Name a target; `tfbuild detect` recommends one for this CPU.",
        )


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resources.folder("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Bash has ${#array[@]}, which the usual delimiters would take for a comment.
        comment_start_string="{##",
        comment_end_string="##}",
        autoescape=False,  # noqa: S701 - shell and Dockerfile, quoted by `sh`, not HTML
    )
    environment.filters["sh"] = lambda value: shlex.quote(str(value))
    return environment


def _values(facts: Facts) -> dict[str, Any]:
    family, _, version = facts.compiler.partition("-")
    local = facts.release.hermetic_compiler and family != "llvm"
    given = {
        "distinct_host_configuration": facts.release.distinct_host_configuration,
        "local_compiler": local,
        "hermetic_compiler": family == "llvm",
    }
    return {
        **vars(facts),
        "profile": facts.profile,
        "profile_digest": facts.archives.get(facts.profile, "")[:16],
        "family": family,
        "compiler_version": version,
        "packages": facts.release.python_packages[facts.python],
        "platform": platforms.of(facts.target),
        "host_march": "x86-64" if facts.target.architecture == "x86_64" else "armv8-a",
        "local_compiler": local,
        "bazel_flags": [flag for flag in release.bazel_flags() if given[flag.when]],
        "kernels": _kernels(facts),
        "kernels_too_new": _kernels_too_new(facts),
        "fixed_flags": facts.words.flags if facts.chosen.ask else facts.target.flags,
        "cc": _cc(family, facts.compiler, version),
        "notes": [
            "" if choice.native else told(choice, facts.target) for choice in facts.chosen.ask
        ],
        "source_of": release.source,
        "pip_trusted_host": _trusted_host(facts.pip_index),
    }


def _kernels(facts: Facts) -> tuple[release.Kernels, ...]:
    """Return the kernels that an old compiler may not know: x86-64 alone has such."""
    is_x86 = facts.target.architecture == "x86_64"
    return release.xnnpack_kernels(facts.release) if is_x86 else ()


def _kernels_too_new(facts: Facts) -> list[str]:
    """Return kernels that the recipe's compiler cannot compile; build.sh asks an unknown one."""
    compiler = compilers.named(facts.compiler)
    if compiler.major is None:
        return []
    return [
        kernels.isa
        for kernels in _kernels(facts)
        if (kernels.gcc if compiler.family == "gcc" else kernels.clang) > compiler.major
    ]


def _cc(family: str, compiler: str, version: str) -> str:
    """Return the compiler as a word of a shell line."""
    if family == "clang":
        return f"/usr/lib/llvm-{version}/bin/clang"
    return compiler if family == "gcc" else '"${CC:-gcc}"'


def _trusted_host(index: str) -> str:
    """Return the host that pip has to be told to trust: one without encryption."""
    found = re.match(r"http://([^/]+)", index)
    return found.group(1) if found else ""


def _decided(facts: Facts) -> dict[str, object]:
    target, tree, bazel = facts.target, facts.tree, facts.bazel
    return {
        "schema": f"{SCHEMA}/{VERSION}",
        "tensorflow": facts.release.version,
        "python": facts.python,
        "target": target.name,
        "label": target.label,
        "architecture": target.architecture,
        "flags": list(target.flags),
        "vector_width": target.vector_width,
        "requires": sorted(target.requires),
        "kind": facts.release.kind,
        "compiler": facts.compiler,
        "base_image": facts.base_image,
        "source": {
            "kind": tree.kind,
            "url": tree.url,
            "ref": tree.ref,
            "sha256": tree.sha256 or facts.archives.get("source.tar", ""),
        },
        "bazel": {
            "kind": bazel.kind,
            "version": bazel.version,
            "url": bazel.url,
            "sha256": bazel.sha256 or facts.archives.get("bazel", ""),
        },
        "pip_index": facts.pip_index,
        "apt_mirror": facts.apt_mirror,
        "llvm_mirror": facts.llvm_mirror,
        "jobs": facts.jobs,
        "memory": facts.memory,
        "linkopts": list(facts.words.linkopts),
        "bazel_args": list(facts.words.arguments),
        "profile": facts.archives.get(facts.profile, ""),
        "flags_to_try": [list(choice.flags) for choice in facts.chosen.ask],
        "notices": [*facts.chosen.notices, *facts.words.notices],
        "known_problems": list(facts.release.known_problems(target.requires)),
    }
