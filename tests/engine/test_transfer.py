"""Images go from one engine to the other in one archive, and stay what they are."""

import hashlib
import io
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine.conftest import answers
from tfbuild.engine import transfer
from tfbuild.engine.base import IMAGES, Setup
from tfbuild.engine.client import Client, Plan
from tfbuild.engine.docker import DockerClient
from tfbuild.engine.podman import PodmanClient
from tfbuild.errors import EngineError, SaveError

pytestmark = pytest.mark.engine
CLIENTS: dict[str, Callable[[], Client]] = {"docker": DockerClient, "podman": PodmanClient}


@pytest.fixture
def tags() -> Iterator[tuple[str, str]]:
    need(answers("docker"), "docker does not answer")
    need(answers("podman"), "podman does not answer")
    name = f"tfbuild-test/transfer-{uuid.uuid4().hex[:8]}"
    yield f"{name}:base", f"{name}:toolchain"
    for engine in CLIENTS:
        for tag in ("base", "toolchain"):
            for host in ("", "localhost/"):
                words = [engine, "rmi", "--force", f"{host}{name}:{tag}"]
                subprocess.run(words, capture_output=True, check=False)


def make(engine: str, tags: tuple[str, str], folder: Path) -> list[str]:
    """Build an image on another one, as a toolchain is on its base; return their IDs."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("file")
        info.size = 1 << 20
        archive.addfile(info, io.BytesIO(bytes(range(256)) * 4096))
    words = [engine, "import", "-", tags[0]]
    subprocess.run(words, input=packed.getvalue(), check=True, capture_output=True)
    (folder / "Dockerfile").write_text(f"FROM {tags[0]}\nCOPY Dockerfile /\n")
    form = ["--format", "docker"] if engine == "podman" else []
    build = [engine, "build", *form, "--tag", tags[1], str(folder)]
    subprocess.run(build, check=True, capture_output=True)
    return [identity(engine, tag) for tag in tags]


def identity(engine: str, tag: str) -> str:
    words = [engine, "image", "inspect", "--format", "{{.Id}}", tag]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.strip().removeprefix("sha256:")


@pytest.mark.parametrize(("here", "there"), [("docker", "podman"), ("podman", "docker")])
def test_an_image_is_the_same_in_the_other_engine(
    here: str, there: str, tags: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "context").mkdir()
    made = make(here, tags, tmp_path / "context")
    CLIENTS[here]().save(tags, tmp_path / IMAGES)
    # The layer that both have is there once.
    assert (1 << 20) < (tmp_path / IMAGES).stat().st_size < (2 << 20)
    other = CLIENTS[there]()
    assert other.image(tags[1]) is None
    setup = Setup(network=False, fetched={IMAGES: tmp_path / IMAGES})
    image = transfer.load_image(other, setup, tags[1], lambda _: None)
    assert image.removeprefix("sha256:") == made[1]
    assert identity(there, tags[1]) == made[1]


@pytest.mark.parametrize("engine", CLIENTS)
def test_archives_that_cannot_be_read_or_written(
    engine: str, tags: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "context").mkdir()
    make(engine, tags, tmp_path / "context")
    client = CLIENTS[engine]()
    (tmp_path / "file").touch()
    with pytest.raises((EngineError, SaveError)):
        client.save([tags[0]], tmp_path / "file/images.tar")
    with pytest.raises(EngineError):
        client.save([tags[0], "tfbuild-test/no-such-image:1"], tmp_path / IMAGES)
    (tmp_path / "broken.tar").write_bytes(b"no archive")
    with pytest.raises(EngineError):
        client.load(tmp_path / "broken.tar", lambda _: None)


@pytest.fixture(scope="module")
def everywhere(bare_base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Debian image that both engines have."""
    need(answers("podman"), "podman does not answer")
    name = f"tfbuild-test/everywhere-{uuid.uuid4().hex[:8]}:1"
    subprocess.run(["docker", "tag", bare_base, name], check=True)
    path = tmp_path_factory.mktemp("image") / IMAGES
    DockerClient().save([name], path)
    transfer.load_image(PodmanClient(), Setup(fetched={IMAGES: path}), name, lambda _: None)
    path.unlink()
    yield name
    for engine in CLIENTS:
        for host in ("", "localhost/"):
            words = [engine, "rmi", "--force", f"{host}{name}"]
            subprocess.run(words, capture_output=True, check=False)


@pytest.mark.parametrize("engine", CLIENTS)
def test_large_files_reach_a_container_whole(engine: str, everywhere: str, tmp_path: Path) -> None:
    files = {"odd": b"x" * 1_234_567, "empty": b"", "block": b"y" * 1024}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    client = CLIENTS[engine]()
    # No network but loopback; the kernel lists what there is.
    script = "cd /fetched && sha256sum * && ls /sys/class/net"
    plan = Plan(image=everywhere, command=("sh", "-c", script), network=False)
    container = client.create(plan)
    try:
        client.send(container, "/fetched", {name: tmp_path / name for name in files})
        lines: list[str] = []
        assert client.run(container, lines.append).code == 0
    finally:
        client.remove(container)
    hashes = {line.split()[1]: line.split()[0] for line in lines if " " in line}
    assert hashes == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert "lo" in lines
    assert not {"eth0", "tap0"} & set(lines)
