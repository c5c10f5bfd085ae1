"""Reads any wheel or installed TensorFlow: what it is, what it needs, what its code uses.

Nothing of it is imported or run. The counts of a large library take a minute, so a caller may name
a folder where results are kept.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from packaging.tags import Tag, parse_tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tfbuild import __version__, artifact
from tfbuild import installed as environments
from tfbuild.code import minimum
from tfbuild.errors import NothingToDoError, SaveError, UsageError
from tfbuild.progress import Progress, Silent
from tfbuild.resources import DATA
from tfbuild.wheel import archive as archives
from tfbuild.wheel import libraries, own
from tfbuild.wheel import tags as wheel_tags
from tfbuild.wheel.contents import Contents, InstalledContents, WheelContents
from tfbuild.wheel.examine import examine
from tfbuild.wheel.inspection import Inspection, Library
from tfbuild.wheel.release import tensorflow_release

_SILENT = Silent()
_INSTALLED = "installed"
# What a result rests on beside the files.
_FACTS = ("components.toml", "dispatchers.toml", "targets.toml")


@dataclass(frozen=True, kw_only=True)
class _Identity:
    """What the names say, before any file is read."""

    source: Literal["wheel", "installed"]
    file: str
    distribution: str
    version: str
    tags: tuple[Tag, ...]
    size: int | None
    sha256: str | None


def inspect(
    path: Path,
    *,
    full: bool = False,
    progress: Progress = _SILENT,
    cache: Path | None = None,
) -> Inspection:
    """Inspect a wheel.

    Args:
        path: the wheel.
        full: decode all code; else a sample of the functions of larger libraries.
        progress: told the libraries read, then the bytes of code decoded.
        cache: folder of earlier results; None decodes anew.

    Raises:
        WheelError: no such file, not a wheel, damaged, or dangerous to unpack.
        SaveError: no room for the largest library in the temporary folder.
    """
    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        # While the archive is looked at; a plain file only, since reading a pipe never ends.
        digest = pool.submit(artifact.sha256, path) if path.is_file() else None
        wheel = stack.enter_context(archives.opened(path))
        identity = _Identity(
            source="wheel",
            file=path.name,
            distribution=wheel.file_name.name,
            version=str(wheel.file_name.version),
            tags=wheel.file_name.tags,
            size=path.stat().st_size,
            sha256=digest.result() if digest else None,
        )
        contents = WheelContents(wheel)
        return _remembered(
            cache,
            f"{path.name}\n{identity.sha256}",
            lambda: _inspection(contents, identity, progress, full=full),
            full=full,
        )


def installed(
    place: Path | None = None,
    *,
    full: bool = False,
    progress: Progress = _SILENT,
    cache: Path | None = None,
    distribution: str | None = None,
) -> Inspection:
    """Inspect what is installed, TensorFlow if nothing else is named, without importing it.

    Args:
        place: an environment's folder, its interpreter, or a site-packages folder; None is the
            current environment ($VIRTUAL_ENV, else $CONDA_PREFIX, else the one that runs tfbuild).
        full: as for `inspect`.
        progress: as for `inspect`.
        cache: as for `inspect`.
        distribution: another distribution's name: "numpy".

    Raises:
        NothingToDoError: no TensorFlow, or no such distribution, is installed there.
        WheelError: it is installed without a list of its files.
    """
    folder = find(place, distribution)
    contents = InstalledContents(folder)
    name, version = archives.parts_of(folder.name)
    identity = _Identity(
        source="installed",
        file=os.fsencode(folder).decode("utf-8", "replace"),
        distribution=canonicalize_name(name),
        version=version,
        tags=stated_tags(contents),
        size=None,
        sha256=None,
    )
    return _remembered(
        cache,
        _state(folder, contents),
        lambda: _inspection(contents, identity, progress, full=full),
        full=full,
    )


def _state(folder: Path, contents: InstalledContents) -> str:
    """Return what differs when an installed distribution has been changed."""
    listed = hashlib.sha256(contents.text("RECORD") or b"").hexdigest()
    changed = [
        f"{name} {contents.sizes[name]} {(folder.parent / name).stat().st_mtime_ns}"
        for name in libraries.names_in(contents)
    ]
    # A folder's name may be no UTF-8.
    return "\n".join([repr(str(folder)), listed, *changed])


def named_place(word: str) -> tuple[bool, Path | None]:
    """Return whether a word names an environment instead of a wheel, and its place for `find`.

    "installed" is the current environment; else it is a folder or an interpreter.
    """
    path = Path(word)
    if word == _INSTALLED and not path.is_file():
        return True, None
    is_place = path.is_dir() or (path.is_file() and path.name.startswith("python"))
    return is_place, path if is_place else None


def find(place: Path | None, distribution: str | None = None) -> Path:
    """Return the .dist-info folder of what is installed; arguments and errors as `installed`."""
    folders = environments.site_folders() if place is None else _site_folders(place)
    for folder in folders:
        if distribution is not None:
            for info in sorted(folder.glob("*.dist-info")):
                if canonicalize_name(info.name.split("-")[0]) == canonicalize_name(distribution):
                    return info
        elif found := environments.find_in(folder):
            return found.folder
    looked = "\n".join(str(folder) for folder in folders) or "no site-packages folder"
    raise NothingToDoError(
        f"No {distribution or 'TensorFlow'} is installed here.",
        why=f"Looked at: {looked}",
        do="Activate the environment that has it, or inspect a file: tfbuild inspect FILE.whl",
    )


def _site_folders(place: Path) -> list[Path]:
    # An interpreter in an environment is a link to one outside, so links are not followed.
    prefix = place.absolute().parent.parent if place.is_file() else place
    if any(prefix.glob("*.dist-info")):
        return [prefix]
    return sorted(
        folder
        for pattern in ("lib*/python3*/*-packages", "local/lib*/python3*/*-packages")
        for folder in prefix.glob(pattern)
    )


def _remembered(
    cache: Path | None, key: str, make: Callable[[], Inspection], *, full: bool
) -> Inspection:
    """Return an earlier result, or make and keep one; a full one serves who asks for less."""
    if cache is None:
        return make()
    for mode in ("full",) if full else ("full", "sample"):
        path = _kept(cache, key, mode)
        if path.exists():
            try:
                return artifact.load(Inspection, path)
            except UsageError:
                # Written by another version, or damaged: made anew below.
                pass
    result = make()
    try:
        artifact.save(result, _kept(cache, key, result.code.mode if result.code else "full"))
    except SaveError as error:
        # The result itself is there; only the next time will be slow.
        return replace(result, notes=(*result.notes, f"The result is not kept: {error.what}"))
    return result


def _kept(cache: Path, key: str, mode: str) -> Path:
    parts = [key, mode, __version__, *((DATA / name).read_text("utf-8") for name in _FACTS)]
    return cache / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()}.json"


def _inspection(
    contents: Contents, identity: _Identity, progress: Progress, *, full: bool
) -> Inspection:
    found = examine(contents, progress, full=full)
    unpacked = sum(contents.sizes.values())
    record, notes = _own_record(contents)
    return Inspection(
        source=identity.source,
        file=identity.file,
        distribution=identity.distribution,
        version=identity.version,
        label=_version(identity.version).local,
        tensorflow=tensorflow_release(contents.sizes, contents.small, identity.version),
        tags=tuple(str(tag) for tag in identity.tags),
        python=_python(identity.tags),
        abi=identity.tags[-1].abi if identity.tags else None,
        size=unpacked if identity.size is None else identity.size,
        unpacked_size=unpacked,
        files=len(contents.sizes),
        sha256=identity.sha256,
        libraries=found.libraries,
        compilers=found.compilers,
        glibc=found.newest("GLIBC"),
        glibcxx=found.newest("GLIBCXX"),
        code=found.code,
        minimum=minimum.of(found.code) if found.code else None,
        reading=found.reading,
        record=record,
        sboms=_sboms(contents),
        notes=(*found.notes, *notes, *_mismatch(identity.tags, found.libraries)),
    )


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _python(tags: tuple[Tag, ...]) -> str | None:
    """Return "3.10" for cp310, "3" for py3."""
    found = re.fullmatch(r"[a-z]+(\d)(\d*)", tags[-1].interpreter) if tags else None
    if found is None:
        return None
    return f"{found[1]}.{found[2]}" if found[2] else found[1]


def stated_tags(contents: Contents) -> tuple[Tag, ...]:
    """Return the tags that a distribution's WHEEL states."""
    text = (contents.text("WHEEL") or b"").decode("utf-8", "replace")
    stated = re.findall(r"(?m)^Tag:\s*([^\s-]+-[^\s-]+-[^\s-]+)\s*$", text)
    if wheel_tags.are_too_many(stated):
        return ()
    return tuple(sorted((tag for line in stated for tag in parse_tag(line)), key=str))


def _sboms(contents: Contents) -> tuple[str, ...]:
    """Return the paths of what PEP 770 has a folder for."""
    found = (re.search(r"\.dist-info/(sboms/.+)", name) for name in contents.sizes)
    return tuple(sorted(match[1] for match in found if match))


def _own_record(contents: Contents) -> tuple[dict[str, Any] | None, list[str]]:
    text = contents.text(own.NAME)
    if text is None:
        return None, []
    record = own.decoded(text)
    return record, [] if record is not None else [f"Its {own.NAME} is not a JSON object of ours."]


def _mismatch(tags: tuple[Tag, ...], found: tuple[Library, ...]) -> Iterator[str]:
    machine = found[0].machine if found else None
    if machine is None or not tags:
        return
    platforms = {tag.platform for tag in tags}
    if platforms == {"any"}:
        yield f"Its tag says that it runs anywhere, but it holds code for {machine}."
    elif all(
        name.startswith(("manylinux", "linux", "musllinux")) for name in platforms
    ) and not any(name.endswith(machine) for name in platforms):
        yield f"Its tag says {', '.join(sorted(platforms))}, but it holds code for {machine}."
