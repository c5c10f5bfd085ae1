"""Base images pinned by digest, against a real registry (Debian's docker-registry)."""

import io
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.conftest import need
from tests.engine.conftest import answers
from tfbuild.engine.docker import DockerClient

pytestmark = pytest.mark.engine
CONFIGURATION = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Run a registry; give its address, which docker takes without TLS on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = folder / "registry.yml"
    file.write_text(CONFIGURATION.format(folder=folder / "data", port=port))
    server = subprocess.Popen(
        ["docker-registry", "serve", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def docker(*words: str, given: bytes | None = None) -> str:
    done = subprocess.run(["docker", *words], input=given, capture_output=True, check=True)
    return done.stdout.decode().strip()


def push(name: str, content: bytes) -> tuple[str, str]:
    """Put an image of one file into the registry and forget it here; give its ID and digest."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("file")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    image = docker("import", "-", name, given=packed.getvalue())
    docker("push", "--quiet", name)
    docker("rmi", "--force", name)
    host, _, rest = name.partition("/")
    repository, _, tag = rest.rpartition(":")
    answer = requests.head(
        f"http://{host}/v2/{repository}/manifests/{tag}", headers={"Accept": MANIFEST}, timeout=30
    )
    return image, answer.headers["Docker-Content-Digest"]


def test_a_digest_names_the_same_image_when_its_tag_moves(tmp_path: Path) -> None:
    need(answers("docker"), "docker does not answer")
    need(shutil.which("docker-registry"), "docker-registry is not here")
    client = DockerClient()
    with registry(tmp_path) as address:
        tag = f"{address}/base/tiny:1"
        first, digest = push(tag, b"first")
        second, other = push(tag, b"second")
        assert digest != other
        pinned = f"{address}/base/tiny@{digest}"
        both = f"{tag}@{digest}"
        try:
            for name in (pinned, both):
                assert client.image(name) is None
                client.pull(name, lambda _: None)
                assert client.image(name) == first
                assert client.digest(name) == digest
                docker("rmi", "--force", first)
            client.pull(tag, lambda _: None)
            assert client.image(tag) == second
            assert client.digest(tag) == other
        finally:
            for image in (first, second):
                subprocess.run(["docker", "rmi", "-f", image], capture_output=True, check=False)
