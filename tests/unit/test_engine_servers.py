"""What Bazel 4.2.3 said of real servers that refused, were down, or were distrusted."""

import pytest

from tfbuild.engine import servers

UNAUTHORISED = [
    "WARNING: Reading from Remote Cache:",
    "com.google.devtools.build.lib.remote.http.HttpException: 401 Unauthorized",
    "<html>",
    "WARNING: Writing to Remote Cache:",
    "com.google.devtools.build.lib.remote.BulkTransferException: 4 errors during bulk transfer",
    "\tat com.google.devtools.build.lib.remote.RemoteCache.upload(RemoteCache.java:191)",
    "\tSuppressed: com.google.devtools.build.lib.remote.http.HttpException: 403 Forbidden",
    "<html>",
    "WARNING: Reading from Remote Cache:",
    "com.google.devtools.build.lib.remote.http.HttpException: 401 Unauthorized",
]
# Without --verbose_failures, and as Bazel 6 writes it.
SHORT = ["WARNING: Remote Cache: 401 Unauthorized"]
FALLBACK = [
    "WARNING: Failed to query remote execution capabilities: Connection refused: /127.0.0.1:9"
]


def notes(lines: list[str]) -> list[str]:
    complaints = servers.Complaints()
    return [note for line in lines if (note := complaints.line(line))]


def test_each_kind_of_complaint_is_told_once() -> None:
    reading, writing = notes(UNAUTHORISED)
    assert "gives nothing" in reading
    assert "401 Unauthorized" in reading
    assert "--remote-header-file" in reading
    assert "takes nothing" in writing
    assert "403 Forbidden" in writing
    assert "--remote-read-only" in writing


@pytest.mark.parametrize("lines", [SHORT, FALLBACK])
def test_a_complaint_in_one_line(lines: list[str]) -> None:
    (note,) = notes(lines)
    assert lines[0].rpartition("e: " if "Cache" in lines[0] else "capabilities: ")[2] in note


def test_other_warnings_are_not_about_servers() -> None:
    assert notes(["WARNING: Download from https://mirror failed: 404", "INFO: 3 processes."]) == []


CAPABILITIES = "ERROR: Failed to query remote execution capabilities: "
DOWN = CAPABILITIES + "Connection refused: /127.0.0.1:9"
INSTANCE = CAPABILITIES + "INVALID_ARGUMENT: Invalid instance name: [other]"
HEADER = "ERROR: java.io.IOException: io.grpc.StatusRuntimeException: UNAUTHENTICATED: HTTP status"
VERSION = (
    "ERROR: The API version 2.0 is not supported by the server. "
    "Please switch to a supported version: 2.1 to 2.12."
)
DISTRUST = (
    "Caused by: io.netty.handler.codec.DecoderException: javax.net.ssl.SSLHandshakeException: "
    "PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: "
    "unable to find valid certification path to requested target"
)


@pytest.mark.parametrize(
    ("code", "line", "why", "do"),
    [
        (34, DOWN, "Connection refused: /127.0.0.1:9", "--remote-local-fallback"),
        (34, VERSION, "supported version: 2.1 to 2.12", "leave the server out"),
        (34, HEADER, "UNAUTHENTICATED: HTTP status", "--remote-header-file"),
        (34, INSTANCE, "Invalid instance name: [other]", "--remote-instance"),
        (37, DISTRUST, "unable to find valid certification path", "--ca-certificate"),
        (39, "ERROR: lost inputs with digests: 0123/4", "lost inputs", "the same command again"),
        (34, "ERROR: something new", "something new", "The whole output"),
        (34, "", "no reason", "The whole output"),
    ],
)
def test_what_ended_a_build(code: int, line: str, why: str, do: str) -> None:
    error = servers.error(code, ["INFO: x", line], "The whole output is in L")
    assert error is not None
    assert error.exit_code == 5
    assert why in error.why
    assert do in error.do


@pytest.mark.parametrize("code", [0, 1, 2, 37, 137])
def test_other_ends_are_not_the_servers_fault(code: int) -> None:
    assert servers.error(code, ["ERROR: UNAVAILABLE: x", "ERROR: //a failed: (Exit 1)"], "") is None
