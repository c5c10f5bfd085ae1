"""Options of a remote server: what is refused, and what Bazel is told.

Bazel itself reads the same file in tests/engine/test_remote.py.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tfbuild import remote
from tfbuild.engine.base import RC
from tfbuild.errors import UsageError
from tfbuild.remote import Remote

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"
HEADERS = "# mine\n\nx-team: tf wheels \nauthorization: Basic a=:b#c\n"
File = Callable[[str, str], Path]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def made(**given: object) -> Remote:
    found = remote.make(**given)  # type: ignore[arg-type]
    assert found is not None
    return found


def words(line: str) -> list[str]:
    """Read a line as Bazel's client does: blanks part, quotes join, a backslash keeps the next."""
    found: list[str] = []
    word, quote, rest = "", "", iter(line)
    for char in rest:
        if char == "\\":
            word += next(rest)
        elif quote:
            quote, word = ("", word) if char == quote else (quote, word + char)
        elif char in "\"'":
            quote = char
        elif char == "#":
            break
        elif char == " ":
            found, word = [*found, word], ""
        else:
            word += char
    return [*found, word]


def told(server: Remote) -> list[str]:
    text = server.setup().placed("/tfbuild/setup")[RC].decode()
    lines = [words(line) for line in text.splitlines()]
    assert all(len(line) == 2 and line[0] == "build" for line in lines)
    return [option for _, option in lines]


def test_nothing_named_is_no_server() -> None:
    assert remote.make() is None


def test_every_option_reaches_bazel(file: File) -> None:
    server = made(
        cache="grpcs://cache.example.org:8980",
        executor="grpcs://cache.example.org",
        instance="main",
        ca=file("ca", CERTIFICATE),
        client_certificate=file("certificate", CERTIFICATE),
        client_key=file("key", KEY),
        header_files=[
            file("headers", "# mine\n\nx-team: tf wheels \nauthorization: Basic a=:b#c\n")
        ],
        read_only=True,
        local_fallback=True,
        timeout=30,
        platform=["OSFamily=linux", "container-image=docker://a b@sha256:1"],
    )
    assert set(told(server)) == {
        "--noannounce_rc",
        "--remote_cache=grpcs://cache.example.org:8980",
        "--remote_executor=grpcs://cache.example.org",
        "--remote_instance_name=main",
        "--tls_certificate=/tfbuild/setup/remote-ca.pem",
        "--tls_client_certificate=/tfbuild/setup/remote-client.pem",
        "--tls_client_key=/tfbuild/setup/remote-client.key",
        "--remote_timeout=30s",
        "--remote_header=x-team=tf wheels",
        "--remote_header=authorization=Basic a=:b#c",
        "--remote_default_exec_properties=OSFamily=linux",
        "--remote_default_exec_properties=container-image=docker://a b@sha256:1",
        "--noremote_upload_local_results",
        "--remote_local_fallback",
    }
    placed = server.setup().files
    assert placed["remote-client.key"] == KEY.encode()
    assert server.setup().secrets == {"tf wheels", "Basic a=:b#c"}


@pytest.mark.parametrize("secret", ["a b", "#x", "\"q' \\", "{setup}", "$HOME `x`", "a\tb", "%s"])
def test_a_header_arrives_as_it_is(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", f"v{secret}")
    server = made(cache="http://c", header_variables=["Authorization=SECRET"])
    assert f"--remote_header=Authorization=v{secret}" in told(server)


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hush")
    server = made(cache="http://c", header_variables=["Authorization=SECRET"], read_only=True)
    assert server.describe() == {"remote cache": "http://c (with Authorization; read only)"}
    setup = server.setup()
    assert setup.secrets == {"hush"}
    assert "hush" not in repr(server) + repr(setup)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("cache.example.org", "does not say how"),
        ("ftp://cache", "grpc://"),
        ("unix:/run/cache.sock", "socket of this machine"),
        ("http://me:secret@cache", "password"),
        ("http://me@cache", "password"),
        ("http://", "no address"),
        ("http://ca che", "no address"),
        ("http://cache?x=1", "no address"),
        ("http://cache?token=secret", "no address"),
        ("me:secret@cache", "does not say how"),
        ("http://cache:99999", "no address"),
        ("grpc://cache/main", "--remote-instance"),
        ("http://[::1", "no address"),
        ("http://cache\n--x", "no address"),
    ],
)
def test_addresses_that_are_refused(address: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        remote.make(cache=address)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_execution_is_grpc_alone() -> None:
    with pytest.raises(UsageError, match="how to speak"):
        remote.make(executor="http://workers")
    with pytest.raises(UsageError, match="speaks gRPC"):
        remote.make(executor="grpc://workers", cache="http://cache")


@pytest.mark.parametrize(
    "given",
    [
        {"instance": "main"},
        {"read_only": True},
        {"timeout": 3},
        {"platform": ["a=b"]},
        {"header_variables": ["a=B"]},
    ],
)
def test_options_without_a_server_are_a_mistake(given: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no server"):
        remote.make(**given)  # type: ignore[arg-type]


def test_files_that_are_refused(file: File, tmp_path: Path) -> None:
    refused: list[tuple[dict[str, object], str]] = [
        ({"ca": tmp_path / "none"}, "cannot read"),
        ({"ca": file("text", "hello")}, "no certificate"),
        ({"client_certificate": file("c", CERTIFICATE)}, "belong together"),
        ({"client_key": file("k1", KEY.replace("PRIVATE", "RSA PRIVATE"))}, "openssl pkcs8"),
        ({"client_key": file("k2", KEY.replace("PRIVATE", "ENCRYPTED PRIVATE"))}, "password"),
        ({"header_files": [file("h1", "")]}, "no header"),
        ({"header_files": [file("h2", "Bearer hush")]}, "without a colon"),
        ({"header_files": [file("h3", "a b: hush")]}, "name of a header"),
        ({"header_files": [file("h4", "a:\x01hush")]}, "characters"),
    ]
    for given, said in refused:
        with pytest.raises(UsageError) as caught:
            made(cache="https://c", **given)
        assert said in str(caught.value)
        assert "hush" not in str(caught.value)


def test_certificates_need_tls(file: File) -> None:
    with pytest.raises(UsageError, match="over TLS"):
        remote.make(cache="http://c", ca=file("ca", CERTIFICATE))


@pytest.mark.parametrize(
    "pair", ["authorization=Bearer hush", "authorization", "=X", "a=NOT_SET", "a=hush"]
)
def test_header_variables_that_are_refused(pair: str) -> None:
    with pytest.raises(UsageError) as caught:
        remote.make(cache="http://c", header_variables=[pair])
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("pair", ["OSFamily", "=x", "a b=c", "a=b\nbuild --x"])
def test_properties_that_are_refused(pair: str) -> None:
    with pytest.raises(UsageError, match="KEY=VALUE"):
        remote.make(executor="grpc://c", platform=[pair])


def test_a_container_has_a_localhost_of_its_own() -> None:
    server = made(cache="http://localhost:8080/c")
    (warning,) = remote.warnings(server, bazel="7.4.1", in_container=True)
    assert "container itself" in warning
    assert remote.warnings(server, bazel="7.4.1", in_container=False) == []


def test_headers_without_encryption_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hush")
    for address, count in (("http://cache", 1), ("https://cache", 0), ("http://127.0.0.1", 0)):
        server = made(cache=address, header_variables=["a=SECRET"])
        assert len(remote.warnings(server, bazel="7.4.1", in_container=False)) == count


@pytest.mark.parametrize(("bazel", "refused"), [("4.2.1", True), ("apt", True), ("5.0.0", False)])
def test_bazel_4_reads_certificates_for_grpc_alone(file: File, bazel: str, refused: bool) -> None:
    server = made(cache="https://c", ca=file("ca", CERTIFICATE))
    over_grpc = made(cache="grpcs://c", ca=file("ca", CERTIFICATE))
    assert remote.warnings(over_grpc, bazel=bazel, in_container=False) == []
    if refused:
        with pytest.raises(UsageError, match="for gRPC only"):
            remote.warnings(server, bazel=bazel, in_container=False)
    else:
        assert remote.warnings(server, bazel=bazel, in_container=False) == []


def test_workers_use_their_own_compiler() -> None:
    """build.sh gives no key of this toolchain to what others execute."""
    assert remote.EXECUTES in made(executor="grpc://workers").setup().files
    assert remote.EXECUTES not in made(cache="grpc://cache").setup().files
    script = (Path(remote.__file__).parents[2] / "templates/build.sh.j2").read_text()
    assert re.search(rf"\$TFBUILD_SETUP/{remote.EXECUTES}\b", script)


def test_a_folder_with_spaces_stays_one_word(file: File) -> None:
    server = made(cache="grpcs://x.example:1", ca=file("ca", CERTIFICATE))
    text = server.setup().placed("/tmp/a b'#\\c")[RC].decode()
    [line] = [line for line in text.splitlines() if "tls_certificate" in line]
    assert words(line) == ["build", "--tls_certificate=/tmp/a b'#\\c/remote-ca.pem"]
