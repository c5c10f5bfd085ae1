"""Beyond one machine: Bazel's remote cache and remote execution, as the setup of one run.

Nothing of it changes the wheel, so nothing of it is in a recipe. Headers and keys are secrets: they
come from files and variables, and travel in files that only Bazel reads.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from tfbuild.engine.base import Setup
from tfbuild.errors import UsageError
from tfbuild.recipe.sources import shown

CACHE_SCHEMES = ("grpc", "grpcs", "http", "https")
EXECUTOR_SCHEMES = ("grpc", "grpcs")
EXECUTES = "executes-remotely"
"""A file of this name, among a run's own, tells build.sh that others' compilers do the work."""
_FOLDER = "{setup}"
_ENCRYPTED = frozenset({"grpcs", "https"})
_PLAIN_TEXT = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$%&'*+.^_`|~-]*")
_VALUE = re.compile(r"[\t\x20-\x7e]+")
_PROPERTY = re.compile(r"[^\s=\x00-\x1f]+=[^\x00-\x1f\x7f]*")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
# bazelbuild/bazel issue 14397: until then certificates were read for gRPC only.
_FIRST_BAZEL_WITH_HTTP_CERTIFICATES = 5


@dataclass(frozen=True, kw_only=True)
class Remote:
    """Servers that share results or do the work, checked."""

    cache: str = ""
    executor: str = ""
    instance: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Name and value. Secrets."""
    ca: bytes = b""
    client_certificate: bytes = b""
    client_key: bytes = field(default=b"", repr=False)
    read_only: bool = False
    local_fallback: bool = False
    timeout: int | None = None
    """Seconds."""
    platform: tuple[str, ...] = ()
    """"KEY=VALUE", which a worker has to have."""

    @property
    def servers(self) -> dict[str, str]:
        """Return what is used -> its address."""
        named = {"remote cache": self.cache, "remote execution": self.executor}
        return {what: where for what, where in named.items() if where}

    def describe(self) -> dict[str, str]:
        """Return what is used -> its address and in which way; no secret is in it."""
        names = ", ".join(sorted({name for name, _ in self.headers}))
        ways = {
            f"instance {self.instance}": bool(self.instance),
            f"with {names}": bool(names),
            "with a client certificate": bool(self.client_certificate),
            "read only": self.read_only,
        }
        told = "; ".join(way for way, used in ways.items() if used)
        suffix = f" ({told})" if told else ""
        return {what: where + suffix for what, where in self.servers.items()}

    def setup(self) -> Setup:
        """Return what a run needs to reach the servers."""
        files = {
            "remote-ca.pem": self.ca,
            "remote-client.pem": self.client_certificate,
            "remote-client.key": self.client_key,
            EXECUTES: b"yes\n" if self.executor else b"",
        }
        return Setup(
            rc="".join(f"build {_quoted(option)}\n" for option in self._options()),
            files={name: data for name, data in files.items() if data},
            secrets=frozenset(value for _, value in self.headers),
        )

    def _options(self) -> list[str]:
        given = {
            "remote_cache": self.cache,
            "remote_executor": self.executor,
            "remote_instance_name": self.instance,
            "tls_certificate": self.ca and _FOLDER + "/remote-ca.pem",
            "tls_client_certificate": self.client_certificate and _FOLDER + "/remote-client.pem",
            "tls_client_key": self.client_key and _FOLDER + "/remote-client.key",
            "remote_timeout": f"{self.timeout}s" if self.timeout else "",
        }
        return [
            # TensorFlow's own .bazelrc has Bazel print every option of every file.
            "--noannounce_rc",
            *(f"--{name}={value!s}" for name, value in given.items() if value),
            *(f"--remote_header={name}={value}" for name, value in self.headers),
            *(f"--remote_default_exec_properties={pair}" for pair in self.platform),
            *(["--noremote_upload_local_results"] if self.read_only else []),
            *(["--remote_local_fallback"] if self.local_fallback else []),
        ]


def make(
    *,
    cache: str | None = None,
    executor: str | None = None,
    instance: str | None = None,
    ca: Path | None = None,
    client_certificate: Path | None = None,
    client_key: Path | None = None,
    header_files: Sequence[Path] = (),
    header_variables: Sequence[str] = (),
    read_only: bool = False,
    local_fallback: bool = False,
    timeout: int | None = None,
    platform: Sequence[str] = (),
) -> Remote | None:
    """Read and check what the options name; None where no server is named.

    Raises:
        UsageError: something is missing, cannot be read, or does not fit together.
    """
    others = (
        *(instance, ca, client_certificate, client_key, read_only, local_fallback),
        *(timeout, *header_files, *header_variables, *platform),
    )
    if not cache and not executor:
        if any(others):
            raise UsageError(
                "Options for a remote server are given, but no server.",
                do="Name one: --remote-cache URL or --remote-executor URL",
            )
        return None
    made = Remote(
        cache=_address(cache, "--remote-cache", CACHE_SCHEMES),
        executor=_address(executor, "--remote-executor", EXECUTOR_SCHEMES),
        instance=_plain(instance, "--remote-instance"),
        ca=_pem(ca, "--remote-ca", "CERTIFICATE"),
        client_certificate=_pem(client_certificate, "--remote-client-certificate", "CERTIFICATE"),
        client_key=_key(client_key),
        headers=(*_headers_of_files(header_files), *_headers_of_variables(header_variables)),
        read_only=read_only,
        local_fallback=local_fallback,
        timeout=_seconds(timeout),
        platform=tuple(_property(pair) for pair in platform),
    )
    _check_encryption(made)
    if made.executor and made.cache.startswith("http"):
        raise UsageError(
            "Remote execution needs a cache that speaks gRPC.",
            why="Bazel does not combine it with an HTTP cache.",
            do="Leave --remote-cache out, or give it a grpc:// or grpcs:// address.",
        )
    return made


def warnings(remote: Remote, *, bazel: str, in_container: bool) -> list[str]:
    """Return what will probably not work as it is meant, a sentence each.

    Args:
        remote: the servers.
        bazel: the recipe's Bazel.
        in_container: where it compiles.

    Raises:
        UsageError: this Bazel cannot do it.
    """
    _check_bazel(remote, bazel)
    found = []
    for what, where in remote.servers.items():
        parts = urlsplit(where)
        if in_container and parts.hostname in _LOCAL:
            found.append(
                f"{where}: in a container, {parts.hostname} is the container itself. Name this "
                "machine by an address that containers reach."
            )
        if remote.headers and parts.scheme not in _ENCRYPTED and parts.hostname not in _LOCAL:
            found.append(f"The headers go to the {what} without encryption ({parts.scheme}://).")
    return found


def _check_bazel(remote: Remote, bazel: str) -> None:
    major = bazel.partition(".")[0]
    old = bazel == "apt" or (major.isdigit() and int(major) < _FIRST_BAZEL_WITH_HTTP_CERTIFICATES)
    if old and remote.cache.startswith("https:") and (remote.ca or remote.client_certificate):
        raise UsageError(
            "This Bazel reads certificates for gRPC only, not for an HTTP cache.",
            why="That came after Bazel 4 (bazelbuild/bazel issue 14397); the recipe's is "
            + ("the distribution's, which may be 4." if bazel == "apt" else f"{bazel}."),
            do="Use the cache over grpcs://, or take TensorFlow 2.9 or later. For an authority "
            "alone: --ca-certificate in place of --remote-ca.",
        )


def _address(text: str | None, option: str, schemes: tuple[str, ...]) -> str:
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


def _plain(text: str | None, option: str) -> str:
    if text and not _PLAIN_TEXT.fullmatch(text):
        raise UsageError(f"{option}: {text!r} holds blanks or characters beyond ASCII.")
    return text or ""


def _pem(path: Path | None, option: str, kind: str) -> bytes:
    if path is None:
        return b""
    data = _read(path, option)
    if f"-----BEGIN {kind}-----".encode() not in data:
        raise UsageError(
            f"{option}: {path} holds no {kind.lower().replace('_', ' ')} in PEM form.",
            why=f"There is no line -----BEGIN {kind}-----.",
        )
    return data


def _key(path: Path | None) -> bytes:
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


def _headers_of_files(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
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


def _headers_of_variables(pairs: Iterable[str]) -> Iterable[tuple[str, str]]:
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


def _header(name: str, value: str, source: str) -> tuple[str, str]:
    name, value = name.strip(), value.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(f"{source}: {name!r} cannot be the name of a header.")
    if not _VALUE.fullmatch(value):
        raise UsageError(
            f"{source}: the value of {name} is empty or holds characters that headers cannot."
        )
    return name, value


def _property(pair: str) -> str:
    if not _PROPERTY.fullmatch(pair):
        raise UsageError(
            f"--remote-platform: {pair!r} is not KEY=VALUE.",
            do="Example: --remote-platform OSFamily=linux",
        )
    return pair


def _seconds(number: int | None) -> int | None:
    if number is not None and number < 1:
        raise UsageError(f"--remote-timeout: {number} is less than 1 second.")
    return number


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{option}: cannot read {path}.", why=error.strerror or str(error)
        ) from error


def _check_encryption(made: Remote) -> None:
    if bool(made.client_certificate) != bool(made.client_key):
        raise UsageError(
            "A client certificate and its key belong together.",
            do="Give both: --remote-client-certificate FILE --remote-client-key FILE",
        )
    schemes = {urlsplit(where).scheme for where in made.servers.values()}
    if (made.ca or made.client_certificate) and not schemes & _ENCRYPTED:
        raise UsageError(
            "Certificates are given, but no server is reached over TLS.",
            do="Write grpcs:// or https:// in place of grpc:// or http://.",
        )


def _quoted(option: str) -> str:
    """Return an option as Bazel reads it from a file: in quotes, with backslashes where needed.

    A secret that holds "{setup}" must not be taken for the folder; only paths may.
    """
    name, equals, value = option.partition("=")
    if not equals or (name.startswith("--tls_") and value.startswith(_FOLDER)):
        return option
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace(_FOLDER, "{\\setup}")
    return f'{name}="{escaped}"'
