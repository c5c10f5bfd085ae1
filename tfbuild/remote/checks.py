"""Makes the servers of a run from what options say; refuses what does not fit together."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tfbuild.errors import UsageError
from tfbuild.remote import given
from tfbuild.remote.model import Remote

_ENCRYPTED = frozenset({"grpcs", "https"})
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
# bazelbuild/bazel issue 14397: until then certificates were read for gRPC only.
_FIRST_BAZEL_WITH_HTTP_CERTIFICATES = 5


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
        cache=given.address(cache, "--remote-cache", given.CACHE_SCHEMES),
        executor=given.address(executor, "--remote-executor", given.EXECUTOR_SCHEMES),
        instance=given.plain(instance, "--remote-instance"),
        ca=given.pem(ca, "--remote-ca", "CERTIFICATE"),
        client_certificate=given.pem(
            client_certificate, "--remote-client-certificate", "CERTIFICATE"
        ),
        client_key=given.key(client_key),
        headers=(
            *given.headers_of_files(header_files),
            *given.headers_of_variables(header_variables),
        ),
        read_only=read_only,
        local_fallback=local_fallback,
        timeout=given.seconds(timeout),
        platform=tuple(given.exec_property(pair) for pair in platform),
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
