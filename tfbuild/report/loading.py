"""Reads what a report is made of, and refuses what cannot be drawn."""

import hashlib
from pathlib import Path

from tfbuild import artifact, compare, saved
from tfbuild.bench.suite import Suite
from tfbuild.compare import Comparison
from tfbuild.errors import UsageError
from tfbuild.report import checks
from tfbuild.report.value import Report, Source


def load(path: str | Path) -> Report:
    """Return the report on a saved session or comparison.

    Args:
        path: a `.suite.json`, or a `.comparison.json`; the files with samples that the latter
            names are looked for beside it, then as named.

    Raises:
        UsageError: the file is neither, is damaged, or names samples that are not there.
        NothingToDoError: no round is finished.
    """
    path = Path(path)
    saved.look(path)
    text = artifact.read(path)
    if _is_comparison(text, path):
        comparison = artifact.from_json(Comparison, text, source=str(path))
        sources = tuple(_source(_found(path, name)) for name in comparison.samples)
    else:
        sources = (_source(path),)
        comparison = compare.of_suite(sources[0].suite, samples=[path.name])
    if wrong := next(checks.wrong(comparison, [each.suite for each in sources]), None):
        raise UsageError(f"{path} is damaged.", why=wrong)
    digest = hashlib.sha256(text).hexdigest()
    return Report(comparison=comparison, sources=sources, sha256=digest)


def _is_comparison(text: bytes, path: Path) -> bool:
    """Tell by the schema, so that a file may have any name."""
    kind = artifact.schema_of(text, source=str(path))
    if kind not in {Suite.SCHEMA, Comparison.SCHEMA}:
        raise UsageError(
            f"{path} is neither samples nor a comparison.",
            why=f"Its schema is {kind!r}." if kind else "It names no schema.",
            do="Name a .suite.json or .comparison.json made by tfbuild bench or compare.",
        )
    return kind == Comparison.SCHEMA


def _source(path: Path) -> Source:
    text, suite = saved.read(path)
    return Source(name=path.name, sha256=hashlib.sha256(text).hexdigest(), suite=suite)


def _found(comparison: Path, name: str) -> Path:
    """Return the file with samples: folders move, so first beside the comparison."""
    given = Path(name)
    for place in (comparison.parent / given.name, comparison.parent / given, given):
        if artifact.is_file(place):
            return place
    raise UsageError(
        f"{comparison} names samples that are not there: {name}.",
        why="A report shows each sample and the machine, which the comparison leaves out.",
        do=f"Put {given.name} beside it.",
    )
