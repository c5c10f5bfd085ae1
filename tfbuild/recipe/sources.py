"""Where the build takes things from: base image, source tree, Bazel, package indexes.

Each has a default and can be replaced. What a user writes ends up in a Dockerfile and in shell
scripts, so each word has to match a strict pattern; the templates quote it all the same.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tfbuild.errors import UsageError

BAZEL_RELEASES = "https://github.com/bazelbuild/bazel/releases/download"
LLVM_APT = "https://apt.llvm.org"

_URL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~-]*(?::\d+)?(?:/[A-Za-z0-9._~:/%+=,@-]*)?")
_GIT = re.compile(
    r"(?:https?|ssh|git)://(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._~-]*(?::\d+)?"
    r"/[A-Za-z0-9._~/%+-]+"
    r"|[A-Za-z0-9][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._~/+-]+"
)
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}")
_IMAGE = re.compile(
    r"[a-z0-9][A-Za-z0-9._-]*(?::\d+)?(?:/[a-z0-9][a-z0-9._-]*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LONGEST = 200
_ARCHIVE = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What a user puts in place of the defaults; None keeps the release's own."""

    base_image: str | None = None
    """A Debian or Ubuntu image; {python} in it stands for the Python version."""
    source: str | None = None
    """TensorFlow tree: git URL with an optional #REF, archive URL, archive file or folder."""
    bazel: str | None = None
    """Release version, "system", "apt", URL with an optional #sha256=..., or file."""
    pip_index: str | None = None
    apt_mirror: str | None = None
    bazel_mirror: str | None = None
    """Folder URL that holds VERSION/bazel-VERSION-linux-x86_64."""
    llvm_mirror: str | None = None
    """Copy of apt.llvm.org."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Where the TensorFlow source comes from."""

    kind: Literal["git", "archive", "local"]
    url: str = ""
    ref: str = ""
    sha256: str = ""
    path: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Bazel:
    """Where Bazel comes from; `version` is empty where only the build will know it."""

    kind: Literal["release", "system", "apt", "url", "file"]
    version: str = ""
    url: str = ""
    sha256: str = ""
    path: Path | None = None


def image(text: str, python: str) -> str:
    """Return the base image, checked, with {python} filled in."""
    name = text.replace("{python}", python)
    if not _IMAGE.fullmatch(name):
        raise UsageError(
            f"--base-image: {text!r} is not the name of an image.",
            why="Expected a name like debian:bookworm or registry.example:5000/python:3.12-slim.",
        )
    return name


def url(text: str, option: str) -> str:
    """Return a web address, checked, without a slash at its end. Refuses credentials."""
    _refuse_credentials(text, option)
    if not _URL.fullmatch(text):
        raise UsageError(
            f"{option}: {shown(text)} is not an address that tfbuild can use.",
            why="Expected http:// or https://, a host, and a path without spaces, quotes or query.",
        )
    return text.rstrip("/")


def tree(text: str | None, *, default: Tree, tag: str) -> Tree:
    """Return where the source comes from.

    Args:
        text: what the user wrote, or None.
        default: used for None.
        tag: git ref where a git URL names none.
    """
    if text is None:
        return default
    _refuse_credentials(text, "--source")
    path = _path(text, "--source")
    if path is not None:
        return _local_tree(path)
    if text.startswith(("http://", "https://")) and text.partition("#")[0].endswith(_ARCHIVE):
        address, sha256 = _address_and_sha256(text, "--source")
        return Tree(kind="archive", url=address, sha256=sha256)
    address, _, ref = text.removeprefix("git+").partition("#")
    ref = ref or tag
    if _GIT.fullmatch(address) and _REF.fullmatch(ref) and ".." not in ref:
        return Tree(kind="git", url=address, ref=ref)
    raise UsageError(
        f"--source: {shown(text)} is neither a folder, an archive nor a git address.",
        why="A path must exist; an address looks like https://host/tensorflow.git#v2.21.0 "
        "or https://host/tensorflow.tar.gz.",
    )


def bazel(text: str, *, mirror: str, known: Mapping[str, str]) -> Bazel:
    """Return where Bazel comes from.

    Args:
        text: what the user wrote, or the release's version.
        mirror: folder URL of Bazel's releases.
        known: release version -> SHA-256 of its program for the target's architecture.
    """
    _refuse_credentials(text, "--bazel")
    if text == "system":
        return Bazel(kind="system")
    if text == "apt":
        return Bazel(kind="apt")
    if _VERSION.fullmatch(text):
        address = f"{mirror}/{text}/bazel-{text}-linux-"
        return Bazel(kind="release", version=text, url=address, sha256=known.get(text, ""))
    if text.startswith(("http://", "https://")):
        address, sha256 = _address_and_sha256(text, "--bazel")
        return Bazel(kind="url", url=address, sha256=sha256)
    path = _path(text, "--bazel")
    if path is not None and path.is_file():
        return Bazel(kind="file", path=path.resolve())
    raise UsageError(
        f"--bazel: {shown(text)} is neither a release like 7.4.1, 'system', 'apt', an address, "
        "nor a file that exists."
    )


def _path(text: str, option: str) -> Path | None:
    """Return the path if something is there. Raises UsageError when that cannot be told."""
    try:
        path = Path(text).expanduser()
        return path if text and path.exists() else None
    except (OSError, RuntimeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        raise UsageError(f"{option}: {shown(text)} cannot be looked at.", why=why) from error


def _local_tree(path: Path) -> Tree:
    if path.is_dir() and not (path / "tensorflow/tools/pip_package").is_dir():
        raise UsageError(
            f"--source: {path} is no TensorFlow tree.",
            why="tensorflow/tools/pip_package is missing.",
        )
    if path.is_dir() or (path.is_file() and path.name.endswith(_ARCHIVE)):
        return Tree(kind="local", path=path.resolve())
    raise UsageError(
        f"--source: {path} is neither a folder nor a tar archive.",
        why=f"A file must end in one of {', '.join(_ARCHIVE)}.",
        do="Unpack it and give the folder.",
    )


def _address_and_sha256(text: str, option: str) -> tuple[str, str]:
    address, _, fragment = text.partition("#")
    sha256 = fragment.removeprefix("sha256=")
    if fragment and not (fragment.startswith("sha256=") and _SHA256.fullmatch(sha256)):
        raise UsageError(f"{option}: after '#' only sha256= and 64 hexadecimal digits may follow.")
    return url(address, option), sha256


def _refuse_credentials(text: str, option: str) -> None:
    found = re.match(r"(?:git\+)?([a-z]+)://([^/]*)@", text, re.IGNORECASE)
    # A name alone is a secret on the web (a token), and none for ssh.
    if found and (":" in found.group(2) or found.group(1).lower() != "ssh"):
        raise UsageError(
            f"{option}: the address holds a user name or a password.",
            why="They would be readable in the context, in image layers and in process lists.",
            do="Put them into a pip.conf or .netrc of a base image of your own (--base-image), or "
            "give the address of a local proxy that holds them.",
        )


def shown(text: str) -> str:
    """Return an address without what may be a secret in its query, and not too long to read."""
    plain = re.sub(r"\?.*", "?...", text, flags=re.DOTALL)
    return repr(plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}...")
