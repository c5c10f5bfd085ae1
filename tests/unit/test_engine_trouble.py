"""What apt, pip, curl, git and Docker print when the world does not answer."""

import pytest

from tfbuild.engine import trouble

NO_NETWORK = {
    "apt, no DNS": "W: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease  "
    "Temporary failure resolving 'deb.debian.org'",
    "apt, refused": "   Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection "
    "refused)",
    "pip": "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError("
    "'<pip._vendor.urllib3>: Failed to establish a new connection: [Errno -3] Temporary failure in "
    "name resolution')': /simple/wheel/",
    "curl": "curl: (6) Could not resolve host: github.com",
    "git": "fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com",
    "registry": "Get https://registry-1.docker.io/v2/: dial tcp: lookup registry-1.docker.io on "
    "127.0.0.53:53: no such host",
    "time-out": "curl: (28) Failed to connect to github.com port 443 after 130000 ms: Connection "
    "timed out",
}


@pytest.mark.parametrize("name", NO_NETWORK)
def test_no_network(name: str) -> None:
    line = NO_NETWORK[name]
    lines = ["Step 4/11 : RUN sh /tfbuild/toolchain.sh packages", line, "The command failed: 1"]
    error = trouble.image_error("docker", lines, "debian:bookworm")
    assert error.exit_code == 5
    assert "cannot reach a server" in error.what
    assert line.strip() in error.why
    assert "--apt-mirror" in error.do


def test_the_line_with_an_address_is_told() -> None:
    lines = ["curl: (7) Network is unreachable", "curl: (6) Could not resolve host: pypi.org"]
    assert trouble.unreachable(lines) == "curl: (6) Could not resolve host: pypi.org"


def test_a_certificate_is_not_a_missing_network() -> None:
    line = (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'SSLError("
        "SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
        "self-signed certificate in certificate chain (_ssl.c:992)'))': /simple/wheel/"
    )
    error = trouble.image_error("docker", [line, "ERROR: No matching distribution"], "x")
    assert "not trusted" in error.what
    assert "--ca-certificate" in error.do


def test_full_disk() -> None:
    error = trouble.image_error("podman", ["dpkg: error: No space left on device"], "x")
    assert "disk space" in error.what
    assert "podman system df" in error.do


def test_unknown_base_image() -> None:
    line = (
        "pull access denied for nonsense, repository does not exist or may require 'docker login'"
    )
    error = trouble.image_error("docker", [line], "nonsense:1")
    assert "nonsense:1" in error.what
    assert "--base-image" in error.do


def test_any_other_failure_shows_its_last_lines() -> None:
    error = trouble.image_error("docker", ["first", *["x"] * 20, "tfbuild: no Python"], "x")
    assert error.why.endswith("tfbuild: no Python")
    assert "first" not in error.why
    assert "tfbuild render" in error.do
