"""Free space of each volume that the build writes to, against what it puts there."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfbuild import settings
from tfbuild.errors import SaveError, TfbuildError
from tfbuild.preflight import need
from tfbuild.preflight.asked import existing
from tfbuild.preflight.finding import Finding, failure, ok, warning
from tfbuild.preflight.inquiry import Inquiry

# The figures for TensorFlow are for planning; with less than half of one a build cannot end well.
_CERTAIN = 0.5


@dataclass(frozen=True, kw_only=True)
class Use:
    """Something that the build writes."""

    what: str
    """"wheels", "logs"."""
    folder: Path
    size: int
    """Bytes."""
    do: str
    """How to have it elsewhere."""


def free(inquiry: Inquiry) -> Iterator[Finding]:
    """Compare the free space of each volume with the sum of what is written to it."""
    uses = list(_uses(inquiry))
    volumes: dict[int, list[Use]] = {}
    for use in uses:
        place = existing(use.folder)
        try:
            volumes.setdefault(place.stat().st_dev, []).append(use)
        except OSError:
            continue
    for on_it in volumes.values():
        yield _volume(on_it)
    facts = inquiry.facts()
    if facts is not None and not any(use.what == "images and caches" for use in uses):
        yield ok("disk", f"not seen from here: the storage of {facts.name}")


def _uses(inquiry: Inquiry) -> Iterator[Use]:
    question = inquiry.question
    needs = need.of(question.recipe)
    facts = inquiry.facts()
    if facts is not None and facts.storage and not facts.is_remote:
        folder = Path(facts.storage)
        image = 0 if inquiry.is_local or inquiry.has_toolchain() else needs.image
        # A virtual machine's folder (Docker Desktop) is not on this one.
        if inquiry.is_local or folder.exists():
            yield Use(
                what="images and caches",
                folder=folder,
                size=needs.compile + image,
                do="move the cache: XDG_CACHE_HOME"
                if inquiry.is_local
                else f"free the storage of {facts.name} ({facts.name} system df)",
            )
    yield Use(what="wheels", folder=question.output_dir, size=needs.wheel, do="--output-dir")
    try:
        logs = settings.cache_folder("logs")
    except TfbuildError as error:
        raise SaveError(error.what, why=error.why, do=error.do) from error
    yield Use(what="logs", folder=logs, size=needs.log, do="XDG_CACHE_HOME")
    yield Use(
        what="temporary files",
        folder=Path(tempfile.gettempdir()),
        size=needs.context,
        do="TMPDIR",
    )


def _volume(uses: list[Use]) -> Finding:
    place = existing(uses[0].folder)
    there = shutil.disk_usage(place).free
    wanted = sum(use.size for use in uses)
    names = ", ".join(f"{use.what} {_size(use.size)}" for use in uses)
    where = _mount_point(place)
    told = f"{where}: {_size(there)} free"
    if there >= wanted:
        return ok("disk", f"{told}; planned: {names}")
    largest = max(uses, key=lambda use: use.size)
    what = f"{told}, and {_size(wanted)} are planned."
    why = f"For {names} ({', '.join(dict.fromkeys(str(use.folder) for use in uses))})."
    do = f"Free some space there, or have it elsewhere: {largest.do}"
    if there < wanted * _CERTAIN:
        return failure("disk", SaveError(f"Too little space. {what}", why=why, do=do))
    return warning("disk", what, why=why, do=do)


def _mount_point(path: Path) -> Path:
    while not os.path.ismount(path) and path != path.parent:
        path = path.parent
    return path


def _size(size: int) -> str:
    if size < need.GIB:
        return f"{size / (1 << 20):.0f} MiB"
    return f"{size / need.GIB:.1f} GiB".replace(".0 ", " ")
