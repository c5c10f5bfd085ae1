"""Base images for the engines, and the bundled workspace as a source."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import need

CERTIFICATES = Path("/usr/local/share/ca-certificates")
# With what toolchain.sh would install: each test's own toolchain image is then made in seconds.
# tests/engine/test_toolchain_image.py starts from the bare image.
CONTAINERFILE = """\
FROM {base}
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y \\
    --no-install-recommends ca-certificates curl git patchelf rsync unzip xxd xz-utils zip \\
    g++ gcc libc6-dev bazel-bootstrap python3.11 python3.11-dev python3.11-venv && \\
    rm -rf /var/lib/apt/lists/*
COPY . /usr/local/share/ca-certificates/
RUN update-ca-certificates
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt JDK_JAVA_OPTIONS="{java}"
"""
# Bazel's server lives for seconds here: half of its processor time went into optimising itself.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("JDK_JAVA_OPTIONS", JAVA)


def answers(engine: str) -> bool:
    """Return whether the engine's own command reaches it."""
    if shutil.which(engine) is None:
        return False
    return subprocess.run([engine, "info"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session")
def bare_base() -> str:
    """A Debian image with nothing added."""
    need(answers("docker"), "docker does not answer")
    base = os.environ.get("TFBUILD_TEST_BASE_IMAGE", "tfbuild-test/debian:bookworm")
    there = subprocess.run(["docker", "image", "inspect", base], capture_output=True, check=False)
    need(there.returncode == 0, f"docker has no image {base}")
    return base


@pytest.fixture(scope="session")
def docker_base(bare_base: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Debian image with packages, that trusts whom this machine trusts (a proxy's authority)."""
    context = tmp_path_factory.mktemp("base")
    for path in sorted(CERTIFICATES.glob("*.crt")):
        shutil.copy(path, context)
    (context / ".dockerignore").write_text("Dockerfile\n.dockerignore\n")
    (context / "Dockerfile").write_text(CONTAINERFILE.format(base=bare_base, java=JAVA))
    tag = "tfbuild-test/prepared:latest"
    words = ["docker", "build", "-q", "-t", tag, str(context)]
    # Tests may run in several processes; the second one finds the layers of the first.
    with (Path(tempfile.gettempdir()) / "tfbuild-test-prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(words, check=True, capture_output=True)
    return tag


@pytest.fixture(scope="session")
def podman_base(docker_base: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same image in podman's store."""
    need(answers("podman"), "podman does not answer")
    archive = tmp_path_factory.mktemp("podman") / "image.tar"
    subprocess.run(["docker", "save", "-o", archive, docker_base], check=True)
    subprocess.run(["podman", "load", "-q", "-i", archive], check=True, capture_output=True)
    archive.unlink()
    return docker_base


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the logs and the local engine's caches of these tests go."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The bundled workspace, unlike any other: its image and cache volume are this test's own."""
    from tfbuild.rehearse import copy_workspace

    folder = copy_workspace(tmp_path / "source", "2.15.1")
    (folder / "UNIQUE").write_text(str(tmp_path))
    return folder


@pytest.fixture
def disposed() -> Iterator[Callable[[str], None]]:
    """Takes toolchain image IDs; they and their cache volumes go when the test has ended."""
    images: list[str] = []
    yield images.append
    for image in images:
        volume = f"tfbuild-cache-{image.removeprefix('sha256:')[:16]}"
        subprocess.run(["docker", "rmi", "-f", image], capture_output=True, check=False)
        subprocess.run(["docker", "volume", "rm", volume], capture_output=True, check=False)
