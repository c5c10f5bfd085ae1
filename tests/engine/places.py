"""What stands around an engine in these tests: authority, servers, proxy, relay, another user."""

import base64
import datetime as dt
import functools
import grp
import http.server
import ipaddress
import os
import pwd
import selectors
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.conftest import need

USER = "tfbuild-test"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
REPOSITORY = Path(__file__).parents[2]


def outward_address() -> str:
    """Return this machine's address as containers of every engine reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        try:
            # Nothing is sent: the kernel only chooses a way.
            door.connect(("192.0.2.1", 9))
        except OSError:
            need(False, "this machine has no address beside loopback")
        return str(door.getsockname()[0])


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, signer: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
    )
    with suppress(ValueError):
        address = x509.IPAddress(ipaddress.ip_address(name))
        made = made.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    return made.sign(signer, hashes.SHA256())


def make_authority(folder: Path, host: str) -> tuple[Path, Path]:
    """Write an authority's certificate, and a server's with its key; return both paths."""
    folder.mkdir(parents=True, exist_ok=True)
    own, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = f"Authority {os.urandom(4).hex()} of a test"
    pem = serialization.Encoding.PEM
    authority, server = folder / "authority.pem", folder / "server.pem"
    authority.write_bytes(_certificate(name, own, name, own).public_bytes(pem))
    server.write_bytes(
        _certificate(host, key, name, own).public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    folder.chmod(0o755)
    authority.chmod(0o644)
    return authority, server


class _HttpServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing: who does not trust the certificate hangs up."""


@contextmanager
def https(folder: Path, host: str, certificate: Path) -> Iterator[str]:
    """Serve a folder over HTTPS; gives the address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = _HttpServer((host, 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    # The handshake is each connection's own matter: one that fails must not end the server.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    with _running(server):
        yield f"https://{host}:{server.server_address[1]}"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: connections are cut on purpose here."""


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _pump(one: socket.socket, other: socket.socket) -> None:
    """Copy both ways until one side ends."""
    with selectors.DefaultSelector() as both:
        both.register(one, selectors.EVENT_READ, other)
        both.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in both.select():
                data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)


class Proxy:
    """An HTTP proxy that wants a name and a password, and notes where it was asked to go."""

    def __init__(self, host: str) -> None:
        self.asked: list[str] = []
        self.password = "pass" + base64.b16encode(os.urandom(8)).decode()
        self._server = _Server((host, 0), self._handler())
        self.address = f"http://someone:{self.password}@{host}:{self._server.server_address[1]}"

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        proxy = self
        wanted = "Basic " + base64.b64encode(f"someone:{self.password}".encode()).decode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                self.close_connection = True
                if self.headers.get("Proxy-Authorization") != wanted:
                    self.send_response(407)
                    self.send_header("Proxy-Authenticate", 'Basic realm="test"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                proxy.asked.append(self.path)
                self._forward()

            def _forward(self) -> None:
                is_tunnel = self.command == "CONNECT"
                where = urlsplit(f"//{self.path}" if is_tunnel else self.path)
                with socket.create_connection((str(where.hostname), where.port or 80)) as far:
                    if is_tunnel:
                        self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                    else:
                        rest = "".join(
                            f"{key}: {value}\r\n"
                            for key, value in self.headers.items()
                            if key.lower() not in {"proxy-authorization", "connection"}
                        )
                        path = where._replace(scheme="", netloc="").geturl() or "/"
                        head = f"{self.command} {path} HTTP/1.1\r\n{rest}Connection: close\r\n\r\n"
                        far.sendall(head.encode("latin-1"))
                    _pump(self.connection, far)

        return Handler

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        with _running(self._server):
            yield self


class Relay:
    """A TCP port of loopback that leads to a Unix socket, and can be cut."""

    def __init__(self, path: str) -> None:
        self.connections: list[socket.socket] = []
        self.is_open = True
        relay = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                if not relay.is_open:
                    return
                relay.connections.append(self.request)
                with socket.socket(socket.AF_UNIX) as far, suppress(OSError):
                    far.connect(path)
                    _pump(self.request, far)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.address = f"tcp://127.0.0.1:{self._server.server_address[1]}"

    def cut(self) -> int:
        """End every connection and let no other in; return how many there were."""
        self.is_open = False
        cut = 0
        for one in self.connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
                cut += 1
        self.connections.clear()
        return cut

    @contextmanager
    def running(self) -> Iterator["Relay"]:
        with _running(self._server):
            yield self


@contextmanager
def sshd(folder: Path) -> Iterator[tuple[str, Path]]:
    """Run an SSH server on loopback for this user; gives "ssh://..." and a folder for the PATH.

    The `ssh` in that folder is the real one with settings of this test: its key, its known hosts.
    """
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    need(program, "sshd is not here")
    need(os.geteuid() == 0, "a server for other users needs root")
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    shutil.copy(folder / "user.pub", folder / "authorized")
    public = (folder / "host.pub").read_text().rpartition(" ")[0]
    (folder / "known").write_text(f"[127.0.0.1]:{port} {public}\n")
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\nUsePAM no\nPidFile none\n"
    )
    (folder / "ssh_config").write_text(
        f"IdentityFile {folder}/user\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known\n"
        "StrictHostKeyChecking yes\nBatchMode yes\n"
    )
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(
        f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n'
    )
    (folder / "bin/ssh").chmod(0o755)
    command = [str(program), "-D", "-e", "-f", str(folder / "sshd_config")]
    command += ["-p", str(port), "-o", "ListenAddress=127.0.0.1"]
    with (folder / "sshd.log").open("w") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            yield f"ssh://root@127.0.0.1:{port}", folder / "bin"
        finally:
            server.terminate()


@dataclass(frozen=True, kw_only=True)
class User:
    """An ordinary user, with a home and a runtime folder of its own."""

    number: int
    home: Path
    runtime: Path

    def command(self, *words: str | Path, group: str = "") -> list[str]:
        """Return what runs a program as this user with a clean environment."""
        return [
            *("runuser", "-u", USER, *(("-G", group) if group else ()), "--"),
            *("env", "-i", f"HOME={self.home}", f"XDG_RUNTIME_DIR={self.runtime}"),
            *(
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LC_ALL=C.UTF-8",
            ),
            *map(str, words),
        ]

    def run(
        self, *words: str | Path, cwd: Path | None = None, group: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*words, group=group),
            cwd=cwd or self.home,
            capture_output=True,
            text=True,
            check=False,
        )

    def tfbuild(
        self, *words: str | Path, group: str = "", **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run the command line with a Python that this user may read."""
        given = [f"{name}={value}" for name, value in variables.items()]
        return self.run(*given, *self._python(), "-m", "tfbuild", *words, group=group)

    @functools.cache  # noqa: B019 - one user lives as long as the tests
    def _python(self) -> tuple[str, ...]:
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        variables = (f"PYTHONPATH={REPOSITORY}:{packages}", "PYTHONDONTWRITEBYTECODE=1")
        for program in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
            words = (*variables, program)
            if self.run(*words, "-c", "import tfbuild, docker, msgspec").returncode == 0:
                return words
        need(False, f"another user cannot run {version} with tfbuild from {REPOSITORY}")
        raise AssertionError


def user(home: Path) -> User:
    """Make the user unless it is there, with the subordinate numbers that `useradd` gives."""
    need(os.geteuid() == 0 and shutil.which("runuser"), "another user needs root")
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(
            ["useradd", "--no-create-home", "--home-dir", "/nonexistent", USER], check=True
        )
        entry = pwd.getpwnam(USER)
    for device in ("/dev/net/tun", "/dev/fuse"):
        # As udev has them; a machine without udev may not.
        with suppress(OSError):
            Path(device).chmod(0o666)
    runtime = home / "runtime"
    for folder in (home, runtime):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    return User(number=entry.pw_uid, home=home, runtime=runtime)


def has_group(name: str) -> bool:
    with suppress(KeyError):
        return bool(grp.getgrnam(name))
    return False
