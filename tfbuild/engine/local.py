"""Compiles on this machine, with its own Bazel, compiler and Python; no container."""

import gzip
import hashlib
import lzma
import os
import platform
import re
import shutil
import socket
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import artifact, mirrors, process, settings
from tfbuild.engine import certificates, tools
from tfbuild.engine.alone import alone
from tfbuild.engine.base import EXTERNAL, NO_SETUP, SOURCE, Exit, Facts, OnLine, Setup
from tfbuild.engine.client import what
from tfbuild.errors import EngineError, SaveError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_SHORT = 16
_BLOCK = 1 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CONNECT_SECONDS = 5.0
# The recipe holds what these said, or what the command line said in their place.
_DECIDED = frozenset({"TFBUILD_JOBS", "TFBUILD_MEMORY", "TFBUILD_STEP", "TFBUILD_FETCHED"})
# From these Bazel's rules take flags for every compilation (tools/cpp/unix_cc_configure.bzl), and
# TensorFlow's the end of the wheel's version: no record would have them.
_UNRECORDED = re.compile(r"BAZEL_(?:\w*OPTS|LINKLIBS|COMPILER)|ML_WHEEL_\w+")


def lock_file(folder: Path, toolchain: str) -> Path:
    """Return the lock of whoever works with the folders of a toolchain, named by its digest."""
    return folder / f".{toolchain}.lock"


class LocalEngine:
    """The host itself. Its folder below the user's cache holds sources, caches and outputs."""

    name = "local"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or settings.cache_folder("local")

    def facts(self) -> Facts:
        """Find Bazel and ask for its version. Raises EngineError."""
        return Facts(
            name=self.name,
            version=tools.bazel_version(),
            architecture=platform.machine(),
            cpus=len(os.sched_getaffinity(0)),
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            rootless=os.geteuid() != 0,
            storage=str(self._folder),
        )

    def prepare(self, recipe: "Recipe", on_line: OnLine, setup: Setup = NO_SETUP) -> None:
        """Check the tools that the recipe needs; make its Python, unpack or fetch its source."""
        tools.check(recipe)
        self._note(recipe)
        source, python = self.source(recipe), self._python(recipe)
        try:
            with _environment(setup) as environment:
                if python is not None and not (python / "bin/python").exists():
                    # It goes with the interpreter that it was made of.
                    shutil.rmtree(python, ignore_errors=True)
                    with _becoming(python) as part:
                        tools.make_python(recipe, part, on_line, environment)
                if not source.is_dir():
                    with _becoming(source) as part:
                        if setup.network:
                            self._fetch(recipe, part, on_line, environment)
                        else:
                            _unpack(_fetched(setup, SOURCE), part)
        except OSError as error:
            raise SaveError(
                f"Cannot write below {self._folder}.",
                why=error.strerror or str(error),
                do="Free some space there, or move the cache with XDG_CACHE_HOME.",
            ) from error

    def is_prepared(self, recipe: "Recipe") -> bool:
        """Return whether `prepare` would fetch nothing: source and Python are here."""
        python = self._python(recipe)
        there = python is None or (python / "bin/python").exists()
        return there and self.source(recipe).is_dir()

    def base(self, toolchain: str | None) -> str:
        """Return "": there are no images here."""
        del toolchain
        return ""

    def compile(
        self,
        recipe: "Recipe",
        toolchain: str | None,
        out: Path,
        on_line: OnLine,
        setup: Setup = NO_SETUP,
    ) -> Exit:
        """Run the build script with its places below the user's cache."""
        del toolchain
        key = recipe.toolchain_digest[:_SHORT]
        with (
            alone(lock_file(self._folder, key), f"{what(recipe)}, {recipe.label}") as started,
            tempfile.TemporaryDirectory(prefix="tfbuild-") as name,
        ):
            context = Path(name)
            for file, data in recipe.script_files().items():
                (context / file).write_bytes(data)
            own = context / "setup"
            own.mkdir(mode=0o700)
            for file, data in setup.placed(str(own)).items():
                (own / file).write_bytes(data)
            inherited = {
                key: text
                for key, text in os.environ.items()
                if key not in _DECIDED and not _UNRECORDED.fullmatch(key)
            }
            places = self._places(recipe, context, out)
            places |= {"TFBUILD_SETUP": str(own), "TFBUILD_EVENTS": "yes"}
            if EXTERNAL in setup.fetched:
                places["TFBUILD_FETCHED"] = str(setup.fetched[EXTERNAL].parent)
            environment = {**inherited, **setup.environment, **places}
            try:
                done = process.stream(
                    ["bash", context / "build.sh"],
                    on_line,
                    env=environment,
                    check=False,
                    on_start=started,
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
        key = f"{recipe.toolchain_digest[:_SHORT]}-{tools.compiler_digest(recipe)}"
        own = self._python(recipe)
        python = own / "bin/python" if own else tools.interpreter(recipe.python)
        # Not the one of an environment that happens to be active.
        folder = python.parent if own else python.resolve().parent
        places = {
            "SOURCE": self.source(recipe),
            "CACHE": self._folder / "cache" / key,
            "OUTPUT_BASE": self._folder / "output" / key,
            "OUT": out,
            "BAZELRC": context / "tfbuild.bazelrc",
            "BAZEL": tools.bazel(),
            "PYTHON": python,
        }
        return {
            **{f"TFBUILD_{name}": str(value) for name, value in places.items()},
            # Bazelisk takes the version from here.
            **({"USE_BAZEL_VERSION": wanted} if (wanted := tools.wanted_bazel(recipe)) else {}),
            # Actions see it, so what is in the cache holds for this one alone: it must be the
            # same from every shell.
            "PATH": tools.path(folder),
        }

    def _note(self, recipe: "Recipe") -> None:
        """Write down for `tfbuild cache` what the folders of this toolchain serve."""
        artifact.write_text(self._folder / "about" / recipe.toolchain_digest[:_SHORT], what(recipe))

    def source(self, recipe: "Recipe") -> Path:
        """Return where the recipe's source is, once it is prepared."""
        return self._folder / "source" / recipe.toolchain_digest[:_SHORT]

    def _python(self, recipe: "Recipe") -> Path | None:
        """Return the environment of a release whose build needs packages; None if it needs none."""
        named = self._folder / "python" / recipe.toolchain_digest[:_SHORT]
        return named if recipe.python_packages else None

    def _fetch(
        self, recipe: "Recipe", into: Path, on_line: OnLine, environment: dict[str, str]
    ) -> None:
        tree = tools.decided(recipe, "source")
        tree["url"] = mirrors.rewrite(tree["url"], mirrors.of(environment))
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".part-") as name:
            try:
                if tree["kind"] == "git":
                    _clone(tree["url"], tree["ref"], into, on_line, environment)
                else:
                    packed = _archive(recipe, tree, Path(name), on_line, environment)
                    _unpack(packed, into)
            except process.ProcessError as error:
                raise EngineError(
                    "The TensorFlow source cannot be fetched.",
                    why=str(error),
                    do="Check the network, or name a tree that is here with --source.",
                ) from error
        if not (into / "tensorflow/tools/pip_package").is_dir():
            raise EngineError(
                "The source is no TensorFlow tree.",
                why="tensorflow/tools/pip_package is missing.",
                do="Name a tree with --source.",
            )


def _fetched(setup: Setup, name: str) -> Path:
    if name in setup.fetched:
        return setup.fetched[name]
    raise EngineError(
        f"{name} is not here, and this run has no network.",
        do="Fetch on a machine with a network: tfbuild fetch --engine local",
    )


def _check_sha256(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected and found != expected:
        raise EngineError(
            "The TensorFlow source is not the one that was expected.",
            why=f"SHA-256 {found} instead of {expected}.",
        )


@contextmanager
def _environment(setup: Setup) -> Iterator[dict[str, str]]:
    """Give the whole environment of programs that fetch; the authorities that it names go after."""
    with tempfile.TemporaryDirectory(prefix="tfbuild-") as name:
        yield {**os.environ, **setup.environment, **certificates.local(setup, Path(name))}


def _clone(
    url: str, ref: str, into: Path, on_line: OnLine, environment: Mapping[str, str] | None = None
) -> None:
    """Fetch a branch, a tag or, where the server allows it, a commit."""
    process.stream(["git", "init", "--quiet", into], on_line)
    for words in (
        ("fetch", "--quiet", "--depth", "1", url, ref),
        ("checkout", "--quiet", "--detach", "FETCH_HEAD"),
    ):
        process.stream(["git", "-C", into, *words], on_line, env=environment)


def _archive(
    recipe: "Recipe",
    tree: dict[str, str],
    folder: Path,
    on_line: OnLine,
    environment: Mapping[str, str],
) -> Path:
    """Return the source archive in the folder: fetched and checked, or made of local files."""
    packed = folder / "source.tar"
    if tree["kind"] == "local":
        recipe.write(folder / "context")
        return folder / "context" / packed.name
    curl = ("curl", "--fail", "-sSL", "--retry", "3", "-o", str(packed), tree["url"])
    process.stream(curl, on_line, env=environment)
    _check_sha256(packed, tree["sha256"])
    return packed


def _unpack(packed: Path, into: Path) -> None:
    """Unpack a source archive, without the one folder that the archive of a release has."""
    unpacked = into.with_name("unpacked")
    try:
        with tarfile.open(packed) as archive:
            archive.extractall(unpacked, filter="data")
            # Checksums are compared at the end, beyond what tarfile reads.
            while archive.fileobj.read(_BLOCK):
                pass
            # Archives that git has made tell their commit there.
            commit = archive.pax_headers.get("comment", "")
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise EngineError("The source archive cannot be unpacked.", why=str(error)) from error
    entries = list(unpacked.iterdir())
    is_release = len(entries) == 1 and not (unpacked / "tensorflow").exists()
    (entries[0] if is_release else unpacked).rename(into)
    if _COMMIT.fullmatch(commit):
        # As toolchain.sh does it in an image.
        (into / ".tfbuild-commit").write_text(f"{commit}\n", encoding="utf-8")


@contextmanager
def _becoming(place: Path) -> Iterator[Path]:
    """Give a place for a folder to be made at; on success it takes the name of the other.

    Whoever comes second, of two at once, takes what the first has made.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".part-") as name:
        yield Path(name) / "made"
        try:
            (Path(name) / "made").rename(place)
        except OSError:
            if not place.is_dir():
                raise
