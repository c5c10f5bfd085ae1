"""Certificate authorities of the user's own: what a company's proxy or mirror signs with.

They travel as files of a run's `Setup`. build.sh and toolchain.sh put them beside the authorities
of the image, for apt, curl, git, pip, uv and whatever else reads the usual variables; Bazel's Java
reads a store of its own.
"""

import re
import shlex
import ssl
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild.engine.base import Setup
from tfbuild.errors import UsageError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

PEM = "ca-certificates.pem"
"""Name of the file, among a run's own, that holds the authorities."""
TRUSTSTORE = "truststore.p12"
"""The same for Java, together with the public authorities, which it would not see otherwise."""
BUNDLE = "bundle.pem"
"""The authorities together with those of the place that compiles; made there."""
PASSWORD = b"changeit"
"""Java's own word for a store with nothing secret in it."""
VARIABLES = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "REQUESTS_CA_BUNDLE")
"""Each names the bundle to some programs: curl, git, pip, uv, Python."""
ENVIRONMENT = "environment"
"""Name of the file, among a run's own, that a step of the toolchain reads its variables from."""
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)


def setup(files: Iterable[Path]) -> Setup:
    """Return what makes a run trust the authorities in PEM files; an empty setup for none.

    Only certificates are taken from the files: a key beside one stays where it is.

    Raises:
        UsageError: a file cannot be read, holds no certificate, or one that is out of date.
    """
    from cryptography.hazmat.primitives.serialization import Encoding

    own = [one for path in files for one in _read(path)]
    if not own:
        return Setup()
    pem = b"".join(one.public_bytes(Encoding.PEM) for one in own)
    return Setup(files={PEM: pem, TRUSTSTORE: _truststore(own)})


def local(setup: Setup, folder: Path) -> dict[str, str]:
    """Write the bundle for programs of this machine; return the variables that name it."""
    if PEM not in setup.files:
        return {}
    system = ssl.get_default_verify_paths().cafile
    public = Path(system).read_bytes() if system else b""
    (folder / BUNDLE).write_bytes(public + b"\n" + setup.files[PEM])
    return dict.fromkeys(VARIABLES, str(folder / BUNDLE))


def environment_file(environment: Mapping[str, str]) -> bytes:
    """Return a file that a POSIX shell reads to have these variables."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()]
    return "".join(lines).encode()


def _read(path: Path) -> "list[Certificate]":
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"--ca-certificate: {path} cannot be read.", why=error.strerror or str(error)
        ) from error
    except ValueError as error:
        raise UsageError(
            f"--ca-certificate: {path} is no certificate.",
            why=str(error),
            do="Name a PEM file. One in the binary form becomes PEM with: "
            f"openssl x509 -inform der -in {path.name} -out {path.stem}.pem",
        ) from error
    for one in found:
        if one.not_valid_after_utc < datetime.now(UTC):
            raise UsageError(
                f"--ca-certificate: {path} is out of date.",
                why=f"{one.subject.rfc4514_string()} ended on {one.not_valid_after_utc:%Y-%m-%d}.",
            )
    return found


def _public() -> "Iterator[Certificate]":
    """Give the authorities that browsers trust, without any that the library finds malformed."""
    import certifi
    from cryptography import x509
    from cryptography.utils import CryptographyDeprecationWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        for block in _BLOCK.findall(Path(certifi.where()).read_bytes()):
            with suppress(ValueError):
                yield x509.load_pem_x509_certificate(block)


def _truststore(own: "list[Certificate]") -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import PrivateFormat, pkcs12

    entries = [
        pkcs12.PKCS12Certificate(one, f"authority-{number}".encode())
        for number, one in enumerate([*own, *_public()])
    ]
    # Old algorithms, and no secret: Bazel 4 brings a Java 11 that does not know the newer ones.
    # Java takes no store without a password, nor one whose entries are not encrypted by it.
    locked = (
        PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(1000)
        .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
        .hmac_hash(hashes.SHA1())  # noqa: S303
        .build(PASSWORD)
    )
    return pkcs12.serialize_java_truststore(entries, locked)
