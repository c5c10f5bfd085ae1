"""Authorities of the user's own: what is taken from a file, and what Java makes of it."""

import datetime as dt
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.conftest import need
from tfbuild.engine import certificates
from tfbuild.errors import UsageError

PEM = serialization.Encoding.PEM
NOW = dt.datetime.now(dt.UTC)


def authority(name: str, *, ended: bool = False) -> tuple[bytes, bytes]:
    """Return a certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    end = NOW + dt.timedelta(days=-1 if ended else 1)
    made = x509.CertificateBuilder().subject_name(named).issuer_name(named)
    made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
    made = made.not_valid_before(NOW - dt.timedelta(days=2)).not_valid_after(end)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    secret = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return made.sign(key, hashes.SHA256()).public_bytes(PEM), secret


def write(folder: Path, *parts: bytes) -> Path:
    path = folder / "own.pem"
    path.write_bytes(b"".join(parts))
    return path


def test_nothing_for_nothing() -> None:
    assert dict(certificates.setup([]).files) == {}


def test_certificates_are_taken_and_keys_are_not(tmp_path: Path) -> None:
    (one, key), (two, _) = authority("One"), authority("Two")
    files = certificates.setup([write(tmp_path, key, b"a remark\n", one, two)]).files
    assert files[certificates.PEM] == one + two
    assert b"PRIVATE" not in b"".join(files.values())


def test_java_reads_the_store(tmp_path: Path) -> None:
    need(shutil.which("keytool"), "there is no Java")
    one, _ = authority("One")
    store = certificates.setup([write(tmp_path, one)]).files[certificates.TRUSTSTORE]
    (tmp_path / "store").write_bytes(store)
    words = ["keytool", "-list", "-rfc", "-storepass", "changeit"]
    words += ["-keystore", str(tmp_path / "store")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    entries = done.stdout.count("Entry type: trustedCertEntry")
    assert one.decode().splitlines()[1] in done.stdout
    # The public authorities are there as well; the list has had more than a hundred for years.
    assert entries > 100


@pytest.mark.parametrize("content", [b"", b"not a certificate", b"\x30\x82\x01\x0a"])
def test_a_file_without_a_certificate(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no certificate") as caught:
        certificates.setup([write(tmp_path, content)])
    assert "openssl x509" in caught.value.do


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        certificates.setup([tmp_path / "nothing.pem"])


def test_a_certificate_that_has_ended(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="out of date") as caught:
        certificates.setup([write(tmp_path, authority("Old One", ended=True)[0])])
    assert "CN=Old One" in caught.value.why


def test_programs_of_this_machine_know_it_beside_the_others(tmp_path: Path) -> None:
    one, _ = authority("One")
    given = certificates.setup([write(tmp_path, one)])
    variables = certificates.local(given, tmp_path)
    # As curl, git, pip and requests document their variables.
    assert {"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "REQUESTS_CA_BUNDLE"} <= set(variables)
    context = ssl.create_default_context(cafile=variables["SSL_CERT_FILE"])
    names = [
        dict(pair for part in entry["subject"] for pair in part).get("commonName")  # type: ignore[misc]
        for entry in context.get_ca_certs()
    ]
    assert "One" in names
    assert certificates.local(certificates.setup([]), tmp_path) == {}


def test_a_shell_reads_the_variables_as_they_are(tmp_path: Path) -> None:
    odd = "http://a'b:$(touch x)\"\\@proxy.example:1/ c"
    (tmp_path / "environment").write_bytes(certificates.environment_file({"https_proxy": odd}))
    words = ["sh", "-c", '. ./environment; printf %s "$https_proxy"']
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == odd
    assert not (tmp_path / "x").exists()
