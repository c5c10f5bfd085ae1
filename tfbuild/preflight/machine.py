"""What this machine has, for `tfbuild doctor`."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from tfbuild import host, pythons, settings, target
from tfbuild.engine import choose
from tfbuild.errors import TfbuildError
from tfbuild.preflight.engines import told
from tfbuild.preflight.finding import Finding, ok, warning
from tfbuild.preflight.inquiry import Inquiry

_ENGINES = ("docker", "podman", "local")


def engines(inquiry: Inquiry) -> Iterator[Finding]:
    """Tell which engines answer, and which one would be taken."""
    with ThreadPoolExecutor(len(_ENGINES)) as pool:
        states = dict(zip(_ENGINES, pool.map(_state, _ENGINES), strict=True))
    taken = inquiry.facts()
    for name, state in states.items():
        chosen = " - would be taken" if taken is not None and taken.name == name else ""
        yield ok("engines", f"{state}{chosen}")


def _state(name: str) -> str:
    try:
        facts = choose(name).facts()
    except TfbuildError as error:
        return f"{name}: {error.what}"
    return f"{told(facts)}{f' (Bazel {facts.version})' if name == 'local' else ''}"


def cpu(inquiry: Inquiry) -> Iterator[Finding]:
    """Tell this CPU, the target that suits it, and whether it runs what is asked for."""
    try:
        here = host.detect()
    except TfbuildError as error:
        yield warning("CPU", error.what, why=error.why, do=error.do)
        return
    suits = target.recommend(here)
    name = here.brand or here.architecture
    yield ok("CPU", f"{name}: {f'target {suits.name}' if suits else 'no target suits it'}")
    recipe = inquiry.question.recipe
    why = recipe.target.why_not(here) if recipe is not None else None
    if why:
        can = "It can compile the wheel, but not run it."
        if recipe is not None and recipe.target.architecture != here.architecture:
            can = "It can neither compile the wheel nor run it; the engine may be elsewhere."
        yield warning("CPU", why, why=can)


def pythons_here(inquiry: Inquiry) -> Iterator[Finding]:
    """Tell which Pythons environments can be made of."""
    del inquiry
    with ThreadPoolExecutor(len(pythons.SUPPORTED)) as pool:
        list(pool.map(pythons.first, pythons.SUPPORTED))
    versions = ", ".join(python.full for python in pythons.find())
    yield ok("Python", versions or "none of those that TensorFlow supports")


def uv(inquiry: Inquiry) -> Iterator[Finding]:
    """Tell the version of uv, which makes environments."""
    del inquiry
    yield ok("uv", metadata.version("uv"))


def settings_file(inquiry: Inquiry) -> Iterator[Finding]:
    """Tell the settings file in effect, and the TFBUILD_ variables, by name only."""
    del inquiry
    path = settings.find(Path.cwd()).path
    yield ok("settings", str(path) if path else "no pyproject.toml with [tool.tfbuild]")
    names = sorted(name for name in os.environ if name.startswith("TFBUILD_"))
    if names:
        yield ok("settings", f"set in the environment: {', '.join(names)}")
