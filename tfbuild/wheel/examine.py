"""Reads all shared libraries of a distribution, with as many processes as there are CPUs."""

from typing import Any

import msgspec

from tfbuild.code import crew, parallel
from tfbuild.errors import WheelError
from tfbuild.progress import Progress
from tfbuild.wheel import libraries
from tfbuild.wheel.contents import Contents
from tfbuild.wheel.inspection import Library
from tfbuild.wheel.libraries import Examined, Findings

_WORKER = "tfbuild.wheel.worker"
# Below this, starting processes takes longer than the work.
_FEW = 24 << 20
# From here on a library is decoded by all processes together.
_LARGE = 48 << 20
# More would unpack more libraries at a time than disks like.
_MOST_UNPACKING = 4


def examine(contents: Contents, progress: Progress, *, full: bool) -> Findings:
    """Read every shared library.

    Args:
        contents: where they are.
        progress: told the libraries done; of large ones that are decoded whole, the megabytes.
        full: decode all code; else a sample of each larger library.

    Raises:
        WheelError: the largest is damaged. Damage to another is only noted.
        SaveError: no room to unpack one.
        TfbuildError: a process that decodes was killed.
    """
    names = libraries.names_in(contents)
    workers = parallel.workers()
    size = sum(contents.sizes[name] for name in names)
    if workers == 1 or size < _FEW:
        return _alone(contents, names, progress, full=full)
    large = [name for name in names if full and contents.sizes[name] > _LARGE]
    found = {name: _shared(contents, name, progress) for name in large}
    rest = [name for name in names if name not in found]
    found |= _divided(contents, rest, progress, workers=min(workers, _MOST_UNPACKING), full=full)
    return libraries.concluded([found[name] for name in names])


def _alone(contents: Contents, names: list[str], progress: Progress, *, full: bool) -> Findings:
    progress.phase("Reading shared libraries", len(names))
    found = []
    for done, name in enumerate(names, 1):
        found.append(libraries.examined(contents, name, full=full))
        progress.step(done, len(names))
    return libraries.concluded(found)


def _divided(
    contents: Contents, names: list[str], progress: Progress, *, workers: int, full: bool
) -> dict[str, Examined]:
    """Let each process read one library after the other, the largest first."""
    found: dict[str, Examined] = {}

    def hear(said: dict[str, Any]) -> None:
        one = msgspec.convert(said["found"], Examined, str_keys=True)
        found[one.library.name] = one
        progress.step(len(found), len(names))

    progress.phase("Reading shared libraries", len(names))
    if not names:
        return found
    with crew.tickets() as tickets:
        job = {**contents.job(names), "names": names, "full": full, "tickets": tickets}
        crew.run(_WORKER, job, hear, workers=min(workers, len(names)), files=[tickets])
    crew.check_all_done(len(found), len(names))
    return found


def _shared(contents: Contents, name: str, progress: Progress) -> Examined:
    """Let all processes decode one library, each a chunk at a time."""
    progress.phase(f"Unpacking {name.rpartition('/')[2]}")
    try:
        with contents.open(name) as file:
            return libraries.with_code(
                contents, name, file, lambda one: parallel.evidence(one, file, progress)
            )
    except WheelError as error:
        nothing = Library(name=name, size=contents.sizes[name], machine=None)
        return Examined(library=nothing, damage=(error.what, error.why))
