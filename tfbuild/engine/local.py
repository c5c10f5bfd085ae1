"""Compiles on this machine, with its own Bazel, compiler and Python; no container."""

import hashlib
import json
import os
import platform
import shutil
import socket
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tfbuild import process, settings
from tfbuild.engine.base import Exit, Facts, OnLine
from tfbuild.errors import EngineError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_BAZELS = ("bazel", "bazelisk")
_SHORT = 16
_CONNECT_SECONDS = 5.0


class LocalEngine:
    """The host itself. Its folder below the user's cache holds sources, caches and outputs."""

    name = "local"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or settings.cache_folder("local")

    def facts(self) -> Facts:
        """Find Bazel and ask for its version. Raises EngineError."""
        return Facts(
            name=self.name,
            version=self._bazel_version(),
            architecture=platform.machine(),
            cpus=len(os.sched_getaffinity(0)),
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        )

    def prepare(self, recipe: "Recipe", on_line: OnLine) -> None:
        """Check the tools that the recipe needs, and unpack or fetch its source."""
        self._check(recipe)
        source = self._source(recipe)
        if source.is_dir():
            return
        source.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=source.parent, prefix=".part-") as name:
            tree = self._fetch(recipe, Path(name), on_line)
            if not (tree / "tensorflow/tools/pip_package").is_dir():
                raise EngineError(
                    "The source is no TensorFlow tree.",
                    why="tensorflow/tools/pip_package is missing.",
                    do="Name a tree with --source.",
                )
            tree.rename(source)

    def compile(self, recipe: "Recipe", toolchain: str | None, out: Path, on_line: OnLine) -> Exit:
        """Run the build script with its places below the user's cache."""
        del toolchain
        with tempfile.TemporaryDirectory(prefix="tfbuild-") as name:
            context = Path(name)
            for file in ("build.sh", "tfbuild.bazelrc"):
                (context / file).write_bytes(recipe.files[file])
            environment = {**os.environ, **self._places(recipe, context, out)}
            try:
                done = process.stream(
                    ["bash", context / "build.sh"], on_line, env=environment, check=False
                )
            except process.ProcessError as error:
                raise EngineError("The build script cannot be run.", why=str(error)) from error
        return Exit(code=done.exit_code)

    def reaches(self, recipe: "Recipe", host: str, port: int) -> bool:
        """Try to connect from here."""
        del recipe
        try:
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError:
            return False
        return True

    def _places(self, recipe: "Recipe", context: Path, out: Path) -> dict[str, str]:
        # Bazel does not hash the compiler in /usr/bin: each compiler gets results of its own.
        key = f"{recipe.toolchain_digest[:_SHORT]}-{_compiler_digest()}"
        places = {
            "SOURCE": self._source(recipe),
            "CACHE": self._folder / "cache" / key,
            "OUTPUT_BASE": self._folder / "output" / key,
            "OUT": out,
            "BAZELRC": context / "tfbuild.bazelrc",
            "BAZEL": _bazel(),
            "PYTHON": _python(recipe.python),
        }
        return {
            **{f"TFBUILD_{name}": str(value) for name, value in places.items()},
            # Bazelisk takes the version from here.
            **({"USE_BAZEL_VERSION": wanted} if (wanted := _wanted_bazel(recipe)) else {}),
        }

    def _source(self, recipe: "Recipe") -> Path:
        return self._folder / "source" / recipe.toolchain_digest[:_SHORT]

    def _fetch(self, recipe: "Recipe", folder: Path, on_line: OnLine) -> Path:
        tree = _decided(recipe)["source"]
        unpacked = folder / "unpacked"
        try:
            if tree["kind"] == "git":
                words = ["git", "clone", "--quiet", "--depth", "1", "--branch", tree["ref"]]
                process.stream([*words, tree["url"], unpacked], on_line)
                return unpacked
            if tree["kind"] == "archive":
                packed = folder / "source.tar"
                process.stream(
                    ["curl", "--fail", "-sSL", "--retry", "3", "-o", packed, tree["url"]], on_line
                )
                _check_sha256(packed, tree["sha256"])
            else:
                recipe.write(folder / "context")
                packed = folder / "context" / "source.tar"
        except process.ProcessError as error:
            raise EngineError(
                "The TensorFlow source cannot be fetched.",
                why=str(error),
                do="Check the network, or name a tree that is here with --source.",
            ) from error
        return _unpack(packed, unpacked)

    def _check(self, recipe: "Recipe") -> None:
        _python(recipe.python)
        if (
            recipe.compiler.startswith(("gcc", "clang"))
            and not (Path("/usr/bin") / recipe.compiler).exists()
        ):
            raise EngineError(
                f"/usr/bin/{recipe.compiler} is not here, and this recipe names it.",
                do=f"Install {recipe.compiler}, or take this machine's GCC: --compiler system",
            )
        found, wanted = self._bazel_version(), _wanted_bazel(recipe)
        if wanted and found != wanted and Path(_bazel()).resolve().name != "bazelisk":
            raise EngineError(
                f"TensorFlow {recipe.tensorflow} is built with Bazel {wanted}; here is {found}.",
                do="Install Bazelisk, which fetches the right one, or insist on what is here: "
                "--bazel system",
            )

    def _bazel_version(self) -> str:
        done = process.run([_bazel(), "--version"], cwd=Path("/"), check=False)
        word = done.stdout.removeprefix("bazel").strip()
        # Debian's Bazel says "no_version"; its package knows.
        if done.ok and word[:1].isdigit():
            return word.split()[0].split("-")[0]
        if shutil.which("dpkg-query"):
            words = ["dpkg-query", "--show", "--showformat", "${Version}", "bazel-bootstrap"]
            package = process.run(words, check=False)
            if package.ok:
                return package.stdout.partition("+")[0]
        return word or "unknown"


def _bazel() -> str:
    for name in _BAZELS:
        path = shutil.which(name)
        if path:
            return path
    raise EngineError(
        "There is no Bazel on this machine.",
        why=f"Neither {' nor '.join(_BAZELS)} is on the PATH.",
        do="Install Bazelisk (https://github.com/bazelbuild/bazelisk) or Debian's "
        "bazel-bootstrap, or take --engine docker or --engine podman.",
    )


def _python(version: str) -> str:
    path = shutil.which(f"python{version}")
    if path is None:
        raise EngineError(
            f"There is no python{version} on this machine.",
            why="The local engine compiles for a Python that is here.",
            do=f"Install python{version} with its headers, or name another with --python.",
        )
    return path


def _wanted_bazel(recipe: "Recipe") -> str:
    decided = _decided(recipe)["bazel"]
    return str(decided["version"]) if decided["kind"] == "release" else ""


def _decided(recipe: "Recipe") -> dict[str, dict[str, str]]:
    return cast("dict[str, dict[str, str]]", json.loads(recipe.files["recipe.json"]))


def _compiler_digest() -> str:
    done = process.run([os.environ.get("CC", "gcc"), "--version"], check=False)
    return hashlib.sha256(done.stdout.encode()).hexdigest()[:8]


def _check_sha256(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected and found != expected:
        raise EngineError(
            "The TensorFlow source is not the one that was expected.",
            why=f"SHA-256 {found} instead of {expected}.",
        )


def _unpack(packed: Path, into: Path) -> Path:
    """Unpack a source archive; return the folder in it that holds the tree."""
    try:
        with tarfile.open(packed) as archive:
            archive.extractall(into, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise EngineError("The source archive cannot be unpacked.", why=str(error)) from error
    entries = list(into.iterdir())
    return entries[0] if len(entries) == 1 and not (into / "tensorflow").exists() else into
