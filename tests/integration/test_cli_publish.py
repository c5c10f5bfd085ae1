"""`tfbuild publish` as a user runs it: folders, a real pypiserver with a password, failures."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import need
from tests.wheels import make_wheel

Command = Callable[..., "subprocess.CompletedProcess[str]"]
SECRET = "s3cret-of-ann"
# No desktop keyring and no netrc of whoever runs the tests.
NOBODY = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "NETRC": os.devnull}
ANN = {**NOBODY, "TFBUILD_INDEX_USERNAME": "ann", "TFBUILD_INDEX_PASSWORD": SECRET}


@dataclass
class PypiServer:
    url: str
    packages: Path

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.packages.iterdir()}


@pytest.fixture(params=["update", "update,list,download"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PypiServer]:
    """A pypiserver where ann may upload; in the second form reading wants the password too."""
    packages = tmp_path / "packages"
    packages.mkdir()
    passwords = tmp_path / "htpasswd"
    # The {SHA} form of Apache needs no library to write; passlib reads it in the server.
    import base64

    digest = base64.b64encode(hashlib.sha1(SECRET.encode()).digest()).decode()  # noqa: S324
    passwords.write_text(f"ann:{{SHA}}{digest}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    args = ["run", "-p", str(port), "-i", "127.0.0.1", "-a", request.param, "-P", passwords]
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "pypiserver", *args, packages],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(url, process)
            yield PypiServer(url, packages)
        finally:
            process.terminate()


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()  # noqa: S310 - a loopback URL
        except urllib.error.HTTPError as error:
            error.close()
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("pypiserver did not start")


def test_upload_with_a_password(tfbuild: Command, tmp_path: Path, server: PypiServer) -> None:
    wheel = make_wheel(tmp_path, version="2.21.0+skylake")
    done = tfbuild("publish", wheel, "--index", server.url, "--json", env=ANN)
    assert done.returncode == 0, done.stderr
    (receipt,) = json.loads(done.stdout)["receipts"]
    assert server.files() == {wheel.name: wheel.read_bytes()}
    assert receipt["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert receipt["action"] == "uploaded"
    assert receipt["simple_url"] == f"{server.url}/simple/"
    again = tfbuild("publish", wheel, "--index", server.url, "--json", env=ANN)
    assert json.loads(again.stdout)["receipts"][0]["action"] == "already-there"
    assert SECRET not in done.stdout + done.stderr + again.stdout + again.stderr


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({**ANN, "TFBUILD_INDEX_PASSWORD": "wrong-password"}, "refused the credentials"),
        (NOBODY, "none were found"),
    ],
)
def test_without_the_right_password_nothing_is_lost(
    tfbuild: Command, tmp_path: Path, server: PypiServer, env: dict[str, str], message: str
) -> None:
    first = make_wheel(tmp_path, version="2.20.0+skylake")
    assert tfbuild("publish", first, "--index", server.url, env=ANN).returncode == 0
    wheel = make_wheel(tmp_path, version="2.21.0+skylake")
    before = wheel.read_bytes()
    done = tfbuild("publish", wheel, "--index", server.url, env=env)
    assert done.returncode == 10
    assert message in done.stderr
    assert "wrong-password" not in done.stdout + done.stderr
    assert wheel.read_bytes() == before
    assert server.files() == {first.name: first.read_bytes()}
    assert tfbuild("publish", wheel, "--index", server.url, env=ANN).returncode == 0
    assert set(server.files()) == {first.name, wheel.name}


@pytest.mark.parametrize("server", ["update"], indirect=True)
def test_a_published_file_never_changes(
    tfbuild: Command, tmp_path: Path, server: PypiServer
) -> None:
    wheel = make_wheel(tmp_path / "a", version="2.21.0+skylake")
    assert tfbuild("publish", wheel, "--index", server.url, env=ANN).returncode == 0
    other = make_wheel(tmp_path / "b", version="2.21.0+skylake", files={"x.py": "1"})
    done = tfbuild("publish", other, "--index", server.url, env=ANN)
    assert done.returncode == 10
    assert "holds another" in done.stderr
    assert server.files() == {wheel.name: wheel.read_bytes()}


def test_a_folder(tfbuild: Command, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, version="2.21.0+skylake")
    done = tfbuild("publish", wheel, "--index", "index", env={"COLUMNS": "140"})
    assert done.returncode == 0, done.stderr
    assert wheel.name in done.stdout
    url = (tmp_path / "index/skylake/simple").as_uri()
    assert f"uv pip install --index {url}/ tensorflow==2.21.0+skylake" in done.stdout
    assert (tmp_path / "index/files" / wheel.name).read_bytes() == wheel.read_bytes()


def test_json_is_one_document_and_failures_are_in_it(tfbuild: Command, tmp_path: Path) -> None:
    bad = tmp_path / "demo-1.0-py3-none-any.whl"
    bad.write_text("no zip")
    good = make_wheel(tmp_path)
    done = tfbuild("publish", bad, good, "--index", "index", "--json")
    assert done.returncode == 7
    document = json.loads(done.stdout)
    assert [receipt["file"] for receipt in document["receipts"]] == [good.name]
    assert [failure["exit_code"] for failure in document["failures"]] == [7]
    assert "not a wheel" in done.stderr
    assert (tmp_path / "index/files" / good.name).is_file()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["gone-1.0-py3-none-any.whl", "--index", "index"], 2, "does not exist"),
        (["demo.txt", "--index", "index"], 7, "not the name of a wheel"),
        (["demo.txt"], 2, "--index"),
        (["demo.txt", "--index", "https://ann:hidden@pypi.lab/"], 2, "TFBUILD_INDEX_PASSWORD"),
        (["demo.txt", "--index", "http://pypi.lab/"], 2, "--allow-http"),
        (["demo.txt", "--index", "s3://bucket"], 2, "not to 's3'"),
        (["demo.txt", "--index", "demo.txt"], 7, "not the name of a wheel"),
    ],
)
def test_bad_input(
    tfbuild: Command, tmp_path: Path, args: list[str], code: int, message: str
) -> None:
    (tmp_path / "demo.txt").write_text("hello")
    done = tfbuild("publish", *args, env=NOBODY)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "hidden" not in done.stderr
    assert "" not in [line.strip() for line in done.stderr.splitlines()]
    assert not (tmp_path / "index").exists()


def test_a_full_disk(tfbuild: Command, tmp_path: Path) -> None:
    """A file system of one mebibyte: what was there stays whole, and the exit code says it."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True, check=False
    )
    need(mounted.returncode == 0, "cannot mount a tmpfs (not root)")
    try:
        first = make_wheel(tmp_path, version="2.20.0+skylake")
        assert tfbuild("publish", first, "--index", small / "index").returncode == 0
        before = {p: p.read_bytes() for p in small.rglob("*") if p.is_file()}
        big = make_wheel(tmp_path, version="2.21.0+skylake", files={"noise": os.urandom(2 * 2**20)})
        done = tfbuild("publish", big, "--index", small / "index")
        assert done.returncode == 11
        assert "the disk is full" in done.stderr
        assert {p: p.read_bytes() for p in small.rglob("*") if p.is_file()} == before
        assert tfbuild("publish", first, "--index", small / "index").returncode == 0
    finally:
        subprocess.run(["umount", small], check=True)


def test_help_has_an_example(tfbuild: Command) -> None:
    done = tfbuild("publish", "--help")
    assert "tfbuild publish wheels/*.whl --index ./index" in done.stdout
