"""Reads what a report is made of, and refuses what cannot be drawn."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

from tfbuild import artifact, compare, saved
from tfbuild.bench.suite import Suite
from tfbuild.compare import Comparison, Contrast
from tfbuild.errors import UsageError
from tfbuild.report.value import Report, Source
from tfbuild.stats import Estimate


def load(path: str | Path) -> Report:
    """Return the report on a saved session or comparison.

    Args:
        path: a `.suite.json`, or a `.comparison.json`; the files with samples that the latter
            names are looked for as named, and beside it.

    Raises:
        UsageError: the file is neither, is damaged, or names samples that are not there.
        NothingToDoError: no round is finished.
    """
    path = Path(path)
    text = _read(path)
    if not _is_comparison(text, path):
        source = _source(path)
        comparison = compare.of_suite(source.suite, samples=[path.name])
        return _checked(path, comparison, (source,), text)
    comparison = artifact.from_json(Comparison, text, source=str(path))
    sources = tuple(_source(_found(path, name)) for name in comparison.samples)
    return _checked(path, comparison, sources, text)


def _checked(
    path: Path, comparison: Comparison, sources: tuple[Source, ...], text: bytes
) -> Report:
    if wrong := next(_wrong(comparison), None):
        raise UsageError(f"{path} is damaged.", why=wrong)
    digest = hashlib.sha256(text).hexdigest()
    return Report(comparison=comparison, sources=sources, sha256=digest)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error


def _is_comparison(text: bytes, path: Path) -> bool:
    """Tell by the schema, so that a file may have any name; other kinds are told apart later."""
    kind = artifact.schema_of(text, source=str(path))
    known = {each.SCHEMA: each is Comparison for each in (Suite, Comparison)}
    if kind not in known:
        raise UsageError(
            f"{path} is neither samples nor a comparison.",
            why=f"Its schema is {kind!r}.",
            do="Name a .suite.json or .comparison.json made by tfbuild bench or compare.",
        )
    return known[kind]


def _source(path: Path) -> Source:
    suite = saved.load(path)
    return Source(name=path.name, sha256=artifact.sha256(path), suite=suite)


def _found(comparison: Path, name: str) -> Path:
    """Return the file with samples: as named from here, from beside the comparison, or beside it.

    `tfbuild compare` writes names as the user gave them, and folders move.
    """
    given = Path(name)
    for place in (comparison.parent / given.name, comparison.parent / given, given):
        if place.is_file():
            return place
    raise UsageError(
        f"{comparison} names samples that are not there: {name}.",
        why="A report shows each sample and the machine, which the comparison leaves out.",
        do=f"Put {given.name} beside it.",
    )


def _wrong(comparison: Comparison) -> Iterator[str]:
    """Yield what tfbuild never writes, and no axis could show."""
    if not 0 <= comparison.noise < math.inf:
        yield "Its noise threshold is no share."
    control = [] if comparison.control is None else [comparison.control]
    for contrast in (*comparison.contrasts, *control):
        yield from _wrong_contrast(contrast)
    for curve in comparison.curves:
        if not all(
            _is_size(each.seconds) and each.vcpus > 0 and (each.amount is None or each.amount >= 0)
            for each in curve.points
        ):
            yield "A point of a curve is no positive number."


def _wrong_contrast(contrast: Contrast) -> Iterator[str]:
    if not contrast.rows:
        yield "A contrast has no rows."
    for row in contrast.rows:
        for times in (row.baseline, row.candidate):
            then = (times.k80_2017, times.cpu_pip_2017, times.cpu_compiled_2017)
            if not all(each is None or _is_size(each) for each in (times.seconds, *then)):
                yield f"A time of {row.architecture} is no positive number."
    if not all(map(_is_estimate, [contrast.overall, *(row.speedup for row in contrast.rows)])):
        yield "A ratio is no positive number, or lies outside its interval."


def _is_estimate(value: Estimate) -> bool:
    if value.low is None or value.high is None:
        return _is_size(value.ratio) and value.low is value.high
    return (
        all(map(_is_size, (value.low, value.ratio, value.high)))
        and value.low <= value.ratio <= value.high
    )


def _is_size(value: float) -> bool:
    # Far beyond any time or ratio; so sums and logarithms stay finite.
    return 1e-12 < value < 1e12  # noqa: PLR2004
