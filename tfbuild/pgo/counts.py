"""Where counts are written while an instrumented wheel runs, and how they become a profile."""

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import artifact, process, signals
from tfbuild.engine.base import NO_SETUP, Engine, Setup
from tfbuild.engine.client import LABEL_OWNER, Plan
from tfbuild.engine.container import ContainerEngine
from tfbuild.engine.owner import owner
from tfbuild.errors import BuildError, EngineError, SaveError
from tfbuild.recipe.options import PROFILE_RUN

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_TIME = (1980, 1, 1, 0, 0, 0)
_MERGE = """\
set -eu
version=$1
find_tool() {
    command -v "llvm-profdata-$version" || command -v "/usr/lib/llvm-$version/bin/llvm-profdata"
}
if ! tool=$(find_tool); then
    apt-get update -q && apt-get install -q -y --no-install-recommends "llvm-$version" || exit 3
    tool=$(find_tool) || exit 3
fi
mkdir -p /out
"$tool" merge -o /out/profile.profdata /tfbuild/counts/*.profraw
"""
_NO_TOOL = 3
_LAST_LINES = 12


def is_gcc(recipe: "Recipe") -> bool:
    """Return whether GCC compiles the recipe."""
    return recipe.compiler.startswith(("gcc", "system"))


def suffix(recipe: "Recipe") -> str:
    """Return how the name of the recipe's profile ends."""
    return ".zip" if is_gcc(recipe) else ".profdata"


def variables(recipe: "Recipe", folder: Path) -> dict[str, str]:
    """Return what makes an instrumented wheel write its counts into the folder.

    GCC's runtime puts the folder before the path that was compiled in; Clang's takes a pattern, in
    which %m stands for the library, so that processes add to what others have counted.
    """
    if is_gcc(recipe):
        return {"GCOV_PREFIX": str(folder)}
    return {"LLVM_PROFILE_FILE": f"{folder}/counts-%m.profraw"}


def merge(
    recipe: "Recipe", engine: Engine, folder: Path, place: Path, setup: Setup = NO_SETUP
) -> Path:
    """Make the profile of the counts in the folder; return its path.

    Args:
        recipe: of the instrumented wheel.
        engine: its toolchain image merges Clang's counts where this machine cannot.
        folder: what `variables` named.
        place: the file to write, whole or not at all.
        setup: how that image reaches the world.

    Raises:
        BuildError: there are no counts, or they cannot be merged.
        SaveError: the profile cannot be written.
    """
    found = sorted(_of_gcc(folder) if is_gcc(recipe) else folder.glob("*.profraw"))
    if not found:
        raise BuildError(
            "The training left no counts.",
            why="The wheel is not instrumented, or its process was killed.",
        )
    if is_gcc(recipe):
        _pack(found, place)
        return place
    with tempfile.TemporaryDirectory(prefix="tfbuild-") as name:
        made = Path(name) / "profile.profdata"
        tool = local_tool(_version(recipe))
        if tool is not None:
            _run(tool, found, made)
        elif isinstance(engine, ContainerEngine):
            _in_container(recipe, engine, found, made.parent, setup)
        else:
            raise _no_tool(recipe)
        with artifact.writing(place) as file, made.open("rb") as source:
            shutil.copyfileobj(source, file)
    return place


def local_tool(version: str) -> Path | None:
    """Return this machine's llvm-profdata of that major version; others read other formats."""
    names = (f"/usr/lib/llvm-{version}/bin/llvm-profdata", f"llvm-profdata-{version}")
    for name in (*names, "llvm-profdata"):
        path = shutil.which(name)
        if path is not None and (name in names or _says(path) == version):
            return Path(path)
    return None


def _says(tool: str) -> str:
    done = process.run([tool, "--version"], check=False)
    found = re.search(r"LLVM version (\d+)", done.stdout)
    return found.group(1) if found else ""


def _version(recipe: "Recipe") -> str:
    return recipe.compiler.partition("-")[2]


def _of_gcc(folder: Path) -> Iterator[Path]:
    return (folder / PROFILE_RUN.lstrip("/")).glob("*.gcda")


def _pack(found: list[Path], place: Path) -> None:
    """Put the counts of each file into an archive that has the same bytes for the same counts."""
    try:
        with artifact.writing(place) as file, zipfile.ZipFile(file, "w") as archive:
            for path in found:
                info = zipfile.ZipInfo(path.name, date_time=_TIME)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
    except OSError as error:
        raise SaveError(f"Cannot save {place}.", why=error.strerror or str(error)) from error


def _run(tool: Path, found: list[Path], made: Path) -> None:
    try:
        process.run([tool, "merge", "-o", made, *found])
    except process.ProcessError as error:
        raise BuildError("The counts cannot be merged.", why=str(error)) from error


def _in_container(
    recipe: "Recipe", engine: ContainerEngine, found: list[Path], into: Path, setup: Setup
) -> None:
    client = engine.client
    lines: list[str] = []
    plan = Plan(
        image=engine.prepare(recipe, lines.append, setup),
        command=("bash", "-c", _MERGE, "merge", _version(recipe)),
        labels={LABEL_OWNER: owner()},
        environment=setup.environment,
        network=setup.network,
    )
    container = client.create(plan)
    try:
        for path in found:
            # One at a time: those of TensorFlow have hundreds of megabytes.
            client.put(container, "/tfbuild/counts", {path.name: path.read_bytes()})
        end = client.run(container, lines.append)
        if end.code == _NO_TOOL:
            raise _no_tool(recipe)
        if end.code != 0:
            raise BuildError("The counts cannot be merged.", why="\n".join(lines[-_LAST_LINES:]))
        client.get(container, "/out", into)
    finally:
        with signals.held(), suppress(EngineError):
            client.remove(container)


def _no_tool(recipe: "Recipe") -> BuildError:
    version = _version(recipe)
    return BuildError(
        f"There is no llvm-profdata {version} to merge the counts with.",
        why="Counts of one Clang are read by the tool of the same version only.",
        do=f"Install llvm-{version} on this machine (apt.llvm.org has it) and run the same "
        "command again: neither the wheel nor the training is repeated.",
    )
