"""Memory of the machine that compiles, against the compilations that run at a time."""

import json
from collections.abc import Iterator
from pathlib import Path

from tfbuild.engine.base import Facts
from tfbuild.errors import UsageError
from tfbuild.preflight import need
from tfbuild.preflight.finding import Finding, failure, ok, warning
from tfbuild.preflight.inquiry import Inquiry

# Builds went through with half of the planning figure (8 GB and four compilations:
# FloopCZ/tensorflow_cc#255), so only less than that is refused.
_CERTAIN = 0.5


def against_jobs(inquiry: Inquiry) -> Iterator[Finding]:
    """Compare what the engine has with what as many compilations at a time take."""
    facts = inquiry.facts()
    if facts is None:
        return
    there = min(facts.memory, limit() or facts.memory) if inquiry.is_local else facts.memory
    needs = need.of(inquiry.question.recipe)
    asked = _jobs(inquiry)
    jobs = asked or facts.cpus
    wanted = needs.memory(jobs)
    told = f"{_gib(there)} for {jobs} compilations at a time"
    if there >= wanted:
        yield ok("memory", f"{told}: planned are {_gib(wanted)}")
        return
    what = f"{told} are little: {_gib(wanted)} are planned."
    why = f"{_gib(needs.per_job)} for each, {_gib(needs.base)} for Bazel and the linker."
    do = _remedy(there, needs, facts)
    if there < wanted * _CERTAIN:
        yield failure("memory", UsageError(what.replace("little", "too little"), why=why, do=do))
    else:
        yield warning("memory", what, why=why, do=do)


def limit(root: Path = Path("/")) -> int | None:
    """Return the memory that control groups let this process have, None without a limit."""
    groups = _text(root / "proc/self/cgroup").splitlines()
    base = root / "sys/fs/cgroup"
    found = []
    for line in groups:
        number, controllers, own = [*line.split(":", 2), "", ""][:3]
        if number == "0":
            folder, name = base, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = base / "memory", "memory.limit_in_bytes"
        else:
            continue
        # The limit of every group above holds, too. In a container the own one is at the top.
        path = Path(own.strip("/"))
        found += [_text(folder / each / name) for each in (path, *path.parents)]
    numbers = [int(text) for text in found if text.isdecimal()]
    # Version 1 has no word for "no limit" but a number that no machine reaches.
    return min((number for number in numbers if number < 1 << 60), default=None)


def _jobs(inquiry: Inquiry) -> int | None:
    recipe = inquiry.question.recipe
    if recipe is None:
        return inquiry.question.jobs
    decided = json.loads(recipe.files["recipe.json"])["jobs"]
    return decided if isinstance(decided, int) else None


def _remedy(there: int, needs: need.Need, facts: Facts) -> str:
    fits = (there - needs.base) // needs.per_job
    if fits >= 1:
        return f"Run fewer at a time: --jobs {fits}"
    place = "This machine" if facts.name == "local" else f"The machine of {facts.name}"
    return f"{place} needs more memory, or swap space; --jobs 1 takes least."


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _gib(size: int) -> str:
    return f"{size / need.GIB:.1f} GiB".replace(".0 ", " ")
