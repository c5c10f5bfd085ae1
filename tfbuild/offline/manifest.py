"""What a fetched folder holds: `offline.json`, which is written last."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Literal

from tfbuild import artifact
from tfbuild.errors import SaveError, UsageError

MANIFEST = "offline.json"
UNFINISHED = "offline.json.part"
"""The same for a folder that is not whole yet."""
_BLOCK = 1 << 20
OnBytes = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of the folder."""

    name: str
    """Its path below the folder: "images.tar", "wheels/numpy-1.24.4-....whl"."""
    sha256: str
    size: int
    """Bytes."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A fetched folder: for which builds it serves, and the files that it is made of."""

    SCHEMA: ClassVar[str] = "tfbuild.offline"
    VERSION: ClassVar[int] = 1

    kind: Literal["container", "local"]
    """Whether it serves engines with containers, or `--engine local`."""
    tensorflow: str
    python: str
    architecture: str
    compiler: str
    bazel: str
    base_image: str
    options: Mapping[str, str]
    """Command-line options that decide the toolchain, "source" and so on; "./source.tar" is a file
    of the folder."""
    toolchain_digest: str
    """Any recipe with this one can be built."""
    recipes: tuple[str, ...] = ()
    """Digests of the recipes whose external repositories were fetched."""
    image: str | None = None
    """ID of the toolchain image."""
    host: str = ""
    """For `--engine local`: the digest of what the compiler there says about itself."""
    mirrors: tuple[str, ...] = ()
    files: tuple[File, ...] = field(default_factory=tuple)
    fetched_at: datetime
    tfbuild: str

    def file(self, name: str) -> File | None:
        """Return the entry of that name, None if there is none."""
        return next((file for file in self.files if file.name == name), None)

    def below(self, folder: str) -> list[File]:
        """Return the files in a folder of the folder."""
        return [file for file in self.files if file.name.startswith(f"{folder}/")]

    def with_file(self, file: File) -> "Manifest":
        """Return a manifest that has this file too, or in place of one of the same name."""
        others = [entry for entry in self.files if entry.name != file.name]
        return replace(self, files=tuple(sorted([*others, file], key=lambda entry: entry.name)))

    def without(self, *names: str) -> "Manifest":
        """Return a manifest without these files."""
        return replace(self, files=tuple(file for file in self.files if file.name not in names))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def __str__(self) -> str:
        return (
            f"TensorFlow {self.tensorflow}, Python {self.python}, compiler {self.compiler}, "
            f"Bazel {self.bazel}, {self.architecture}"
        )


def read(folder: Path, name: str = MANIFEST) -> Manifest | None:
    """Return the folder's manifest, None if it has none. Raises UsageError for a damaged one."""
    path = folder / name
    return artifact.load(Manifest, path) if path.is_file() else None


def measured(folder: Path, name: str, on_bytes: OnBytes | None = None) -> File:
    """Return the entry for a file as it is, read block by block.

    Raises:
        UsageError: it cannot be read.
    """
    digest, size = sha256(), 0
    try:
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
                if on_bytes:
                    on_bytes(len(block))
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"Cannot read {folder / name}.", why=why) from error
    return File(name=name, sha256=digest.hexdigest(), size=size)


def is_whole(folder: Path, file: File | None, on_bytes: OnBytes | None = None) -> bool:
    """Return whether the file is there with the size and the hash of its entry."""
    if file is None:
        return False
    path = folder / file.name
    try:
        same_size = path.is_file() and path.stat().st_size == file.size
    except OSError:
        return False
    return same_size and measured(folder, file.name, on_bytes) == file


def adopt(source: Path, folder: Path, name: str) -> File:
    """Move a finished file to its place in the folder, safe against a power cut; return its entry.

    Raises:
        SaveError: it cannot be moved.
    """
    place = folder / name
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as file:
            os.fsync(file.fileno())
        entry = replace(measured(source.parent, source.name), name=name)
        source.chmod(0o644)
        source.replace(place)
    except OSError as error:
        raise SaveError(f"Cannot save {place}.", why=error.strerror or str(error)) from error
    return entry
