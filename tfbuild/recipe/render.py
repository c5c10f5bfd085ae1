"""The templates' side of a recipe: facts in, files out."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfbuild import artifact, resources
from tfbuild.errors import UsageError
from tfbuild.recipe.sources import Bazel, Tree
from tfbuild.release import Release
from tfbuild.target import Target

SCHEMA = "tfbuild.recipe"
TEMPLATES = {
    "Dockerfile": "Dockerfile.j2",
    "toolchain.sh": "toolchain.sh.j2",
    "build.sh": "build.sh.j2",
    "tfbuild.bazelrc": "tfbuild.bazelrc.j2",
    "README.md": "context-README.md.j2",
}
_FLAG = re.compile(r"-[A-Za-z][A-Za-z0-9=+_,.-]*")
_STAGE = b"\nFROM toolchain AS compile\n"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that the templates may use."""

    release: Release
    python: str
    target: Target
    label: str
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


def context(facts: Facts) -> dict[str, bytes]:
    """Return the rendered files of the context, without its archives."""
    check_flags(facts.target.flags)
    environment = _environment()
    values = _values(facts)
    files = {
        name: environment.get_template(template).render(values).encode()
        for name, template in TEMPLATES.items()
    }
    files["recipe.json"] = artifact.dict_to_json(_decided(facts)).encode()
    return dict(sorted(files.items()))


def toolchain(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the parts that the toolchain stage depends on."""
    stage, found, _ = files["Dockerfile"].partition(_STAGE)
    if not found:
        raise AssertionError(_STAGE)
    return {"Dockerfile": stage, "toolchain.sh": files["toolchain.sh"]}


def check_flags(flags: tuple[str, ...]) -> None:
    """Raise UsageError for a word that is no compiler flag, or means the builder's own CPU."""
    for flag in flags:
        if not _FLAG.fullmatch(flag):
            raise UsageError(f"{flag!r} is not a compiler flag that tfbuild passes on.")
        if flag in {"-march=native", "-mtune=native", "-mcpu=native"}:
            raise UsageError(
                f"{flag} cannot be part of a recipe.",
                why="The wheel could not say which CPUs run it.",
                do="Name a target; `tfbuild detect` recommends one for this CPU.",
            )


def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resources.folder("templates")),
        undefined=StrictUndefined,
        # Bash has ${#array[@]}, which the usual delimiters would take for a comment.
        comment_start_string="{##",
        comment_end_string="##}",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - shell and Dockerfile, quoted by `sh`, not HTML
    )
    environment.filters["sh"] = lambda value: shlex.quote(str(value))
    return environment


def _values(facts: Facts) -> dict[str, Any]:
    family, _, version = facts.compiler.partition("-")
    return {
        **vars(facts),
        "compiler_family": family,
        "compiler_version": version,
        "build_packages": facts.release.build_packages.get(facts.python, ()),
        "host_march": "x86-64" if facts.target.architecture == "x86_64" else "armv8-a",
        "pip_host": re.sub(r"^https?://([^/:]+).*", r"\1", facts.pip_index),
    }


def _decided(facts: Facts) -> dict[str, Any]:
    tree, bazel = facts.tree, facts.bazel
    return {
        "schema": f"{SCHEMA}/1",
        "tensorflow": facts.release.version,
        "python": facts.python,
        "target": facts.target.name,
        "label": facts.label,
        "architecture": facts.target.architecture,
        "flags": list(facts.target.flags),
        "vector_width": facts.target.vector_width,
        "requires": sorted(facts.target.requires),
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
    }
