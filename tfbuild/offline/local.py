"""What `--engine local` needs from outside: source, Bazel, Python packages."""

import os
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tfbuild import artifact, mirrors, process, settings
from tfbuild.engine import certificates, tools
from tfbuild.engine.base import BAZEL, OnLine, Setup
from tfbuild.engine.local import LocalEngine
from tfbuild.errors import EngineError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_SHORT = 16
_SUFFIX = {"x86_64": "x86_64", "aarch64": "arm64"}


def pack_source(engine: LocalEngine, recipe: "Recipe", place: Path) -> None:
    """Write the prepared source as a tar archive, with the times and the commit that it has.

    Raises:
        SaveError: it cannot be written.
    """
    with artifact.writing(place) as file, tarfile.open(fileobj=file, mode="w") as tar:
        tar.add(engine.source(recipe), arcname=".", filter=_without_links_of_bazel)


def _without_links_of_bazel(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if entry.issym() and entry.name.startswith("./bazel-") else entry


def needs_bazel(recipe: "Recipe") -> bool:
    """Return whether the recipe names a release of Bazel, which the folder then has."""
    return tools.decided(recipe, "bazel")["kind"] == "release"


def bazel(recipe: "Recipe", setup: Setup, on_line: OnLine, place: Path) -> None:
    """Fetch the recipe's release of Bazel, and check its hash.

    Raises:
        EngineError: it cannot be fetched, or is another file than expected.
    """
    chosen = tools.decided(recipe, "bazel")
    address = chosen["url"] + _SUFFIX[recipe.target.architecture]
    address = mirrors.rewrite(address, mirrors.of(setup.environment))
    known = chosen["sha256"]
    beside = place.with_name("bazel.sha256")
    with _environment(setup) as environment:
        _curl(address, place, on_line, environment)
        if not known:
            # No hash is on record for this release: at least nothing was cut off.
            _curl(f"{address}.sha256", beside, on_line, environment)
            known = beside.read_text(encoding="utf-8").partition(" ")[0].strip()
            beside.unlink()
    found = artifact.sha256(place)
    if found != known:
        raise EngineError(
            f"{address} is not the Bazel that was expected.",
            why=f"SHA-256 {found} instead of {known}.",
        )


def wheels(recipe: "Recipe", setup: Setup, on_line: OnLine, folder: Path) -> None:
    """Put the wheels of all packages that the build imports into a folder.

    Raises:
        EngineError: a package cannot be had.
    """
    with _environment(setup) as inherited, TemporaryDirectory(prefix="tfbuild-") as name:
        environment = {key: text for key, text in inherited.items() if key != "VIRTUAL_ENV"}
        if recipe.sources.pip_index:
            index = mirrors.rewrite(recipe.sources.pip_index, mirrors.of(setup.environment))
            environment |= {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index}
        base = str(tools.interpreter(recipe.python))
        uv = (sys.executable, "-m", "uv", "--no-config", "venv", "--quiet", "--no-project")
        pip = (f"{name}/python/bin/python", "-m", "pip", "--disable-pip-version-check", "wheel")
        make = (*uv, "--seed", "--python", base, f"{name}/python")
        fill = (*pip, "--wheel-dir", str(folder), *recipe.python_packages)
        try:
            for words in (make, fill):
                process.stream(words, on_line, env=environment)
        except process.ProcessError as error:
            raise EngineError(
                "The Python packages that the build needs cannot be fetched.",
                why=str(error),
                do="Check the network, or give another --pip-index.",
            ) from error


def put_on_path(folder: Path, sha256: str) -> None:
    """Let this process find the folder's Bazel, whose hash was checked, before any other.

    It gets a place in the user's cache: the folder may be on a disk without programs.
    """
    place = settings.cache_folder("local") / "bazel" / sha256[:_SHORT] / "bazel"
    if not place.is_file() or artifact.sha256(place) != sha256:
        with artifact.writing(place) as file, (folder / BAZEL).open("rb") as source:
            while block := source.read(1 << 20):
                file.write(block)
        place.chmod(0o755)
    os.environ["PATH"] = f"{place.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


@contextmanager
def _environment(setup: Setup) -> Iterator[dict[str, str]]:
    with TemporaryDirectory(prefix="tfbuild-") as name:
        yield {**os.environ, **setup.environment, **certificates.local(setup, Path(name))}


def _curl(address: str, place: Path, on_line: OnLine, environment: Mapping[str, str]) -> None:
    words = ("curl", "--fail", "-sSL", "--retry", "3", "-o", str(place), address)
    try:
        process.stream(words, on_line, env=environment)
    except process.ProcessError as error:
        raise EngineError(
            f"Cannot fetch {address}",
            why=str(error),
            do="Check the network, or give another --bazel-mirror.",
        ) from error
