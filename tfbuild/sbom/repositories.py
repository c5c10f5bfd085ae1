"""Reads how a source tree defines its external repositories: the output of `bazel query`.

`bazel query --output=build //external:*` prints each as a call with named literals, which is
Python's syntax as well, between comments that tell where it was defined.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_BEGIN = re.compile(r"[A-Za-z_]\w*\($")
_END = ")"
_VERSION = re.compile(
    r"[-_/]v?(\d+(?:[._]\d+)+[\w.]*?|\d{6,})(?:\.tar|\.zip|\.tgz|\.txz|\.whl|\.jar|/|$)"
)
_SHORT_SSH = re.compile(r"[\w.-]+@([\w.-]+):([^/].*)")
_PINNED = re.compile(r"\s*([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)")
# Repositories whose rule unpacks another one; the name of that is in the rule's own program.
# LLVM: utils/bazel/configure.bzl of llvm-project (`llvm_configure`).
_MADE_OF = {"llvm-project": "llvm-raw"}


@dataclass(frozen=True, kw_only=True)
class Repository:
    """One of Bazel's external repositories."""

    name: str
    rule: str
    """"http_archive", "git_repository", or a rule of the tree's own."""
    urls: tuple[str, ...] = ()
    """Of an archive, or of a git repository; copies of the same thing.

    Without the machine's own files, and without what may be a secret: users, passwords, queries.
    """
    sha256: str = ""
    commit: str = ""
    """Commit or tag of a git repository."""
    version: str = ""
    """As the addresses or the requirement tell, else ""."""
    package: str = ""
    """Name of a Python package that pip fetches, else ""."""
    patches: tuple[str, ...] = ()
    """Labels of the tree's changes to it."""
    path: str = ""
    """Of a repository that lies in the tree or on the machine."""

    @property
    def is_told(self) -> bool:
        """Whether it is known where its content comes from."""
        return bool(self.urls or self.package or self.sha256)

    @property
    def is_own(self) -> bool:
        """Whether it is a part of the tree, of Bazel, or describes the machine."""
        return bool(self.path) or self.name == "bazel_tools" or self.name.startswith("local_")


def read(text: str) -> dict[str, Repository]:
    """Return all repositories by name; what is no call with literals is left out."""
    found = (_repository(call) for call in _calls(text))
    return {one.name: one for one in found if one is not None}


def used(names: tuple[str, ...], defined: dict[str, Repository]) -> list[Repository]:
    """Return the repositories that code comes from, in the order of their names.

    Args:
        names: those that a target depends on.
        defined: what `read` found.
    """
    wanted = {made if (made := _MADE_OF.get(name)) in defined else name for name in names}
    return [defined.get(name) or Repository(name=name, rule="") for name in sorted(wanted)]


def _calls(text: str) -> Iterator[ast.Call]:
    lines: list[str] = []
    for line in text.splitlines():
        if not lines and not _BEGIN.match(line):
            continue
        lines.append(line)
        if line == _END:
            call = _parsed("\n".join(lines))
            lines = []
            if call is not None:
                yield call


def _parsed(text: str) -> ast.Call | None:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Call) else None


def _repository(call: ast.Call) -> Repository | None:
    values: dict[str, object] = {}
    for word in call.keywords:
        try:
            values[word.arg or ""] = ast.literal_eval(word.value)
        except ValueError:
            continue
    name = _text(values, "name")
    if not name or not isinstance(call.func, ast.Name):
        return None
    pinned = _PINNED.match(_text(values, "requirement"))
    given = dict.fromkeys(_public(url) for url in _texts(values, "urls", "url", "remote"))
    urls = tuple(url for url in given if "://" in url and not url.startswith("file:"))
    commit = _text(values, "commit") or (_text(values, "tag") if "remote" in values else "")
    return Repository(
        name=name,
        rule=call.func.id,
        urls=urls,
        sha256=_text(values, "sha256").lower(),
        commit=commit,
        version=pinned[2] if pinned else commit or _version(given, _text(values, "strip_prefix")),
        package=pinned[1] if pinned else "",
        patches=tuple(_texts(values, "patches", "patch_file")),
        path=_text(values, "path") or _text(values, "java_home"),
    )


def _public(url: str) -> str:
    """Return an address without user, password and query, git's short form in the long one."""
    short = _SHORT_SSH.fullmatch(url)
    long = f"ssh://{short[1]}/{short[2]}" if short else url
    return re.sub(r"^([a-z+]+://)[^/@]*@", r"\1", re.sub(r"[?#].*", "", long))


def _version(urls: Iterable[str], folder: str) -> str:
    """Return the version that a file's or folder's name ends in, "" for none."""
    for text in (*urls, folder):
        found = _VERSION.findall(text)
        if found:
            return str(found[-1])
    return ""


def _text(values: dict[str, object], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _texts(values: dict[str, object], *names: str) -> Iterator[str]:
    for name in names:
        value = values.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one:
                yield one
