"""What a build would do: told before anything is contacted, and shown by `--dry-run`."""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe
    from tfbuild.remote import Remote

# Measured by others, for our estimates: 62 to 114 minutes on two 20-core CPUs
# (tensorflow/tensorflow#60167), 2 GB of memory for each compilation and 6 GB for Bazel and the
# linker, 60 GB of disk. All of it is rough.
_CORE_HOURS = (40.0, 76.0)
MEMORY_PER_JOB_GB = 2
MEMORY_BASE_GB = 6
DISK_GB = 60
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


@dataclass(frozen=True, kw_only=True)
class Outside:
    """A place outside this machine that a build takes something from."""

    what: str
    """"TensorFlow source", "base image"."""
    where: str
    """Its address, or whose default it is."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What the build will need, as far as others' measurements tell."""

    hours: tuple[float, float]
    cpus: int
    """CPUs that the hours hold for: this machine's, the engine was not asked."""
    memory_gb: int
    disk_gb: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One build, before it begins."""

    SCHEMA: ClassVar[str] = "tfbuild.plan"
    VERSION: ClassVar[int] = 1

    tensorflow: str
    python: str
    target: str
    flags: tuple[str, ...]
    options: tuple[str, ...]
    """Bazel's options in the recipe, the flags among them; build.sh adds what it finds out."""
    requires: frozenset[str]
    compiler: str
    bazel: str
    base_image: str
    recipe_digest: str
    image: str
    """Tag of the toolchain image."""
    volumes: tuple[str, ...]
    outside: tuple[Outside, ...]
    output: str
    """Pattern of the wheel's path; the build decides the platform tag."""
    estimate: Estimate
    problems: tuple[str, ...]
    """Known problems of this release with this target."""
    notices: tuple[str, ...]
    """What is otherwise than a user might expect."""


def plan(
    recipe: "Recipe",
    output_dir: str,
    engine: str,
    remote: "Remote | None" = None,
    *,
    is_offline: bool = False,
    mirrors: Mapping[str, str] | None = None,
) -> Plan:
    """Return what the build of a recipe would do. Contacts nothing.

    Args:
        recipe: what is built.
        output_dir: where the wheel would go.
        engine: the word of `--engine`.
        remote: servers that share results or do the work.
        is_offline: everything comes from a fetched folder.
        mirrors: host -> address that takes its place.
    """
    from tfbuild.engine.container import CACHES, image_tag

    is_local = engine == "local"
    tag = f"cp{recipe.python.replace('.', '')}"
    file = f"tensorflow-{recipe.tensorflow}+{recipe.label}-{tag}-{tag}-*.whl"
    return Plan(
        tensorflow=recipe.tensorflow,
        python=recipe.python,
        target=recipe.target.name,
        flags=recipe.flags,
        options=recipe.bazel_options,
        requires=recipe.target.requires,
        compiler=recipe.compiler,
        bazel=recipe.bazel,
        base_image="" if is_local else recipe.base_image,
        recipe_digest=recipe.digest,
        image="" if is_local else image_tag(recipe),
        volumes=() if is_local else CACHES,
        outside=()
        if is_offline
        else outside(recipe, is_local=is_local, remote=remote, mirrors=mirrors),
        output=f"{output_dir.rstrip('/')}/{file}",
        estimate=_estimate(json.loads(recipe.files["recipe.json"])["jobs"]),
        problems=recipe.known_problems,
        notices=recipe.notices,
    )


def outside(
    recipe: "Recipe",
    *,
    is_local: bool = False,
    is_bundled: bool = False,
    remote: "Remote | None" = None,
    mirrors: Mapping[str, str] | None = None,
) -> tuple[Outside, ...]:
    """Return every place that the build would take something from, in the order of the work.

    Args:
        recipe: what is built.
        is_local: without a container.
        is_bundled: with the rehearsal's workspace as source, which names no place by itself.
        remote: servers that share results or do the work; it is also given something.
        mirrors: host -> address that takes its place.
    """
    facts: dict[str, Any] = json.loads(recipe.files["recipe.json"])
    source, bazel = facts["source"], facts["bazel"]
    found = [] if is_bundled else [("TensorFlow source", _address(source))]
    if is_local:
        found = [
            ("Python packages", _packages(facts) if recipe.python_packages else ""),
            ("Bazel, if Bazelisk lacks it", _bazel(bazel, facts["architecture"])),
            *found,
        ]
    else:
        found = [
            ("base image", facts["base_image"]),
            ("system packages", facts["apt_mirror"] or "the servers that the base image names"),
            ("Clang, if the system has none", _llvm(facts)),
            ("Python packages", _packages(facts)),
            ("Bazel", _bazel(bazel, facts["architecture"])),
            *found,
        ]
    if not is_bundled:
        found.append(("what that source names", _bazel_fetches(facts)))
    found = [(what, _led(what, where, mirrors or {})) for what, where in found]
    if remote is not None:
        found += remote.describe().items()
    return tuple(Outside(what=what, where=where) for what, where in found if where)


def _led(what: str, where: str, mirrors: Mapping[str, str]) -> str:
    """Return a place, or several with commas between, as mirrors have it."""
    from tfbuild.mirrors import image, rewrite

    if not mirrors:
        return where
    if what == "base image":
        return image(where, mirrors)
    if "://" in where:
        return rewrite(where, mirrors)
    return ", ".join(_led_host(word, mirrors) for word in where.split(", "))


def _led_host(word: str, mirrors: Mapping[str, str]) -> str:
    """Return a host as mirrors have it, and words that only describe a place as they are."""
    from tfbuild.mirrors import rewrite

    address = f"https://{word}"
    led = rewrite(address, mirrors) if _HOST.fullmatch(word) else address
    return word if led == address else led


def _packages(facts: dict[str, Any]) -> str:
    return str(facts["pip_index"]) or "https://pypi.org/simple"


def _bazel(bazel: dict[str, str], architecture: str) -> str:
    # The address of a release lacks the architecture, which the image's script adds.
    suffix = "x86_64" if architecture == "x86_64" else "arm64"
    return {"release": f"{bazel['url']}{suffix}", "url": bazel["url"]}.get(bazel["kind"], "")


def _address(source: dict[str, str]) -> str:
    if source["kind"] == "local":
        return ""
    return f"{source['url']}#{source['ref']}" if source["kind"] == "git" else source["url"]


def _llvm(facts: dict[str, Any]) -> str:
    return str(facts["llvm_mirror"]) if str(facts["compiler"]).startswith("clang") else ""


def _bazel_fetches(facts: dict[str, Any]) -> str:
    hermetic = str(facts["compiler"]).startswith("llvm")
    return "github.com, storage.googleapis.com, pypi.org" + (
        ", the LLVM project's releases" if hermetic else ""
    )


def _estimate(jobs: int | None) -> Estimate:
    cpus = os.cpu_count() or 1
    low, high = (round(hours / cpus, 1) for hours in _CORE_HOURS)
    return Estimate(
        hours=(low, high),
        cpus=cpus,
        memory_gb=math.ceil(MEMORY_PER_JOB_GB * (jobs or cpus) + MEMORY_BASE_GB),
        disk_gb=DISK_GB,
    )
