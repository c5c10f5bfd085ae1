"""Large files to and from container engines: images, and what a fetched folder holds."""

import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tfbuild.engine.base import EXTERNAL, IMAGES, REPOSITORY, OnLine, Setup
from tfbuild.errors import EngineError

if TYPE_CHECKING:
    from tfbuild.engine.client import Client

FETCHED_FOLDER = "/tfbuild/fetched"
"""Where the build script looks for what was fetched."""
_BLOCK = 1 << 20
# Podman gives the host to names without one; Docker takes that for a registry.
_PODMANS = "localhost/"


class Mover(Protocol):
    """Operations of a container engine on large files. All raise EngineError."""

    def image(self, tag: str) -> str | None:
        """Return the ID of the image, None if there is none."""

    def tag(self, image: str, tag: str) -> None:
        """Give an image a name."""

    def save(self, tags: Sequence[str], path: Path) -> None:
        """Write images into one archive, layers that they share once.

        Raises:
            SaveError: the file cannot be written.
        """

    def load(self, path: Path, on_line: OnLine) -> None:
        """Read images from an archive."""

    def send(self, container: str, folder: str, files: Mapping[str, Path]) -> None:
        """Copy large files into a folder, made if need be, of a container that has not started."""


def load_image(client: "Client", setup: Setup, tag: str, on_line: OnLine) -> str:
    """Return the ID of an image that is not there, from a fetched folder.

    Raises:
        EngineError: the folder does not hold it.
    """
    path = setup.fetched.get(IMAGES)
    if path is not None:
        client.load(path, on_line)
        for name in (tag, f"{_PODMANS}{tag}"):
            image = client.image(name)
            if image is not None:
                client.tag(image, tag)
                return image
    raise EngineError(
        f"{client.name} has no toolchain image for this recipe, and may not fetch anything.",
        why=f"{path} does not hold {tag}." if path else "",
        do="Fetch again on a machine with a network: tfbuild fetch",
    )


def send_fetched(client: "Client", container: str, setup: Setup) -> None:
    """Copy Bazel's part of a fetched folder into a container. Raises EngineError."""
    files = {name: setup.fetched[name] for name in (EXTERNAL, REPOSITORY) if name in setup.fetched}
    if files:
        client.send(container, FETCHED_FOLDER, files)


def tar_stream(folder: str, files: Mapping[str, Path]) -> Iterator[bytes]:
    """Give a tar archive of the files in a folder, without having it anywhere as a whole.

    Raises:
        EngineError: a file changed its size meanwhile.
    """
    for name, path in files.items():
        entry = tarfile.TarInfo(f"{folder.strip('/')}/{name}")
        entry.size, entry.mode = path.stat().st_size, 0o644
        yield entry.tobuf(tarfile.GNU_FORMAT)
        sent = 0
        with path.open("rb") as file:
            while block := file.read(min(_BLOCK, entry.size - sent)):
                sent += len(block)
                yield block
        if sent != entry.size:
            raise EngineError(f"{path} became shorter while it was copied.")
        yield b"\0" * (-sent % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)
