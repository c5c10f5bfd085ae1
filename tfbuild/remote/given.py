"""What options name: addresses, certificates, headers; each is read and checked."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from tfbuild.errors import UsageError
from tfbuild.recipe.sources import shown

CACHE_SCHEMES = ("grpc", "grpcs", "http", "https")
EXECUTOR_SCHEMES = ("grpc", "grpcs")
_PLAIN_TEXT = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$%&'*+.^_`|~-]*")
_VALUE = re.compile(r"[\t\x20-\x7e]+")
_PROPERTY = re.compile(r"[^\s=\x00-\x1f]+=[^\x00-\x1f\x7f]*")


def address(text: str | None, option: str, schemes: tuple[str, ...]) -> str:
    """Return the address of a server. Raises UsageError: another form, or with a password."""
    if not text:
        return ""
    if text.startswith("unix:"):
        raise UsageError(
            f"{option}: {text} is a socket of this machine.",
            why="A container that compiles does not see it.",
            do="Let the server listen on an address: grpc://HOST:PORT",
        )
    parts = _parts(text, option)
    if "://" not in text or parts.scheme not in schemes:
        raise UsageError(
            f"{option}: {_shown(text)} does not say how to speak to the server.",
            why=f"Known are: {', '.join(f'{scheme}://' for scheme in schemes)}",
            do=f"Example: {option} grpcs://cache.example.org:443",
        )
    if not parts.hostname or not _PLAIN_TEXT.fullmatch(text) or parts.query or parts.fragment:
        raise UsageError(f"{option}: {_shown(text)} is no address of a server.")
    if parts.scheme in EXECUTOR_SCHEMES and parts.path.strip("/"):
        raise UsageError(
            f"{option}: {text!r} has a path, which gRPC does not know.",
            do="Name an instance with --remote-instance.",
        )
    return text


def plain(text: str | None, option: str) -> str:
    """Return a word of printable ASCII, "" for none. Raises UsageError."""
    if text and not _PLAIN_TEXT.fullmatch(text):
        raise UsageError(f"{option}: {text!r} holds blanks or characters beyond ASCII.")
    return text or ""


def pem(path: Path | None, option: str, kind: str) -> bytes:
    """Return the file's bytes, b"" for none. Raises UsageError: it holds no PEM of that kind."""
    if path is None:
        return b""
    data = _read(path, option)
    if f"-----BEGIN {kind}-----".encode() not in data:
        raise UsageError(
            f"{option}: {path} holds no {kind.lower().replace('_', ' ')} in PEM form.",
            why=f"There is no line -----BEGIN {kind}-----.",
        )
    return data


def key(path: Path | None) -> bytes:
    """Return a PKCS #8 key's bytes, b"" for none. Raises UsageError: Bazel reads no other."""
    option = "--remote-client-key"
    data = b"" if path is None else _read(path, option)
    if path is None or b"-----BEGIN PRIVATE KEY-----" in data:
        return data
    known = b"PRIVATE KEY-----" in data
    raise UsageError(
        f"{option}: {path} holds no key that Bazel can read.",
        why="It reads PKCS #8 without a password: -----BEGIN PRIVATE KEY-----",
        do=f"Convert it: openssl pkcs8 -topk8 -nocrypt -in {path} -out client.key" if known else "",
    )


def headers_of_files(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    """Yield name and value of each line "NAME: VALUE". Raises UsageError."""
    for path in paths:
        text = _read(path, "--remote-header-file").decode("utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        if not lines:
            raise UsageError(f"{path} holds no header.", do="Write lines NAME: VALUE")
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                # The line itself may be a secret.
                raise UsageError(f"{path} has a line without a colon.", do="Write NAME: VALUE")
            yield _header(name, value, str(path))


def headers_of_variables(pairs: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield name and value for each "NAME=VARIABLE". Raises UsageError: the variable is not set."""
    for pair in pairs:
        name, equals, variable = pair.partition("=")
        if not equals or not variable.isidentifier():
            raise UsageError(
                "--remote-header-env takes NAME=VARIABLE, the name of a variable and not a value.",
                do="Example: --remote-header-env authorization=CACHE_AUTHORIZATION",
            )
        if not os.environ.get(variable):
            raise UsageError(
                f"--remote-header-env: what {name!r} names is no variable that is set.",
                # It may be the secret itself that was given, so it is not repeated.
                why="It takes NAME=VARIABLE; that variable is missing or empty.",
                do="Set it to the header's value: export VARIABLE=...",
            )
        yield _header(name, os.environ[variable], variable)


def exec_property(pair: str) -> str:
    """Return "KEY=VALUE", checked. Raises UsageError."""
    if not _PROPERTY.fullmatch(pair):
        raise UsageError(
            f"--remote-platform: {pair!r} is not KEY=VALUE.",
            do="Example: --remote-platform OSFamily=linux",
        )
    return pair


def seconds(number: int | None) -> int | None:
    """Return a number of seconds, checked. Raises UsageError."""
    if number is not None and number < 1:
        raise UsageError(f"--remote-timeout: {number} is less than 1 second.")
    return number


def _shown(text: str) -> str:
    """Return an address without what may be a secret in it."""
    return shown(re.sub(r"[^/@]*@", "", text))


def _parts(text: str, option: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{option} is no address of a server.", why=str(error)) from error
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{option}: the address holds a user's name or password.",
            why="It would stand in logs and in the list of processes.",
            do="Put a line `Authorization: Basic ...` into a file for --remote-header-file.",
        )
    return parts


def _header(name: str, value: str, source: str) -> tuple[str, str]:
    name, value = name.strip(), value.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(f"{source}: {name!r} cannot be the name of a header.")
    if not _VALUE.fullmatch(value):
        raise UsageError(
            f"{source}: the value of {name} is empty or holds characters that headers cannot."
        )
    return name, value


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{option}: cannot read {path}.", why=error.strerror or str(error)
        ) from error
