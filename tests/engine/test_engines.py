"""Docker and Podman, with root and without, near and far; own authorities and proxies."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine import places
from tests.wheels import make_wheel
from tfbuild import resources
from tfbuild.engine.client import Client, Plan
from tfbuild.engine.container import volumes
from tfbuild.engine.docker import DockerClient
from tfbuild.engine.podman import PodmanClient
from tfbuild.rehearse import copy_workspace

pytestmark = pytest.mark.engine
PATIENCE = 600
Run = Callable[..., "subprocess.CompletedProcess[str]"]
CLIENTS: dict[str, Callable[[], Client]] = {"docker": DockerClient, "podman": PodmanClient}


def docker(*words: str | Path, **more: object) -> str:
    done = subprocess.run(  # type: ignore[call-overload]
        ["docker", *words], check=True, capture_output=True, text=True, **more
    )
    return str(done.stdout)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A toolchain that was made with an authority of one's own, and what was used for it."""

    words: tuple[str, ...]
    """Of `tfbuild wheel`, without engine and place."""
    authority: Path
    recipe: str
    image: str
    refused: str
    """What was said when another authority was named."""
    log: str
    proxy: places.Proxy
    output: Path


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """A folder that other users may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="tfbuild-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def far(top: Path) -> Iterator[tuple[str, Path]]:
    """A server whose certificate is signed by nobody that a browser knows; its authority."""
    host = places.outward_address()
    authority, server = places.make_authority(top / "authority", host)
    served = top / "served"
    served.mkdir()
    with places.https(served, host, server) as address:
        yield address, authority


@pytest.fixture(scope="module")
def source(top: Path, far: tuple[str, Path]) -> str:
    """The bundled workspace on that server, with an external repository on it as well."""
    address, served = far[0], top / "served"
    with zipfile.ZipFile(served / "far.zip", "w") as archive:
        archive.writestr("WORKSPACE", "")
        archive.writestr("BUILD", "")
        archive.writestr("value.bzl", "VALUE = 1\n")
    digest = hashlib.sha256((served / "far.zip").read_bytes()).hexdigest()
    tree = copy_workspace(top / "tensorflow-2.15.1", "2.15.1")
    with (tree / "WORKSPACE").open("a") as file:
        file.write(
            'load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")\n'
            f'http_archive(name = "far", sha256 = "{digest}", urls = ["{address}/far.zip"])\n'
            'load("@far//:value.bzl", "VALUE")\n'
        )
    packed = served / "source.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(tree, arcname=tree.name)
    return f"{address}/{packed.name}#sha256={hashlib.sha256(packed.read_bytes()).hexdigest()}"


@pytest.fixture(scope="module")
def made(
    top: Path, far: tuple[str, Path], source: str, docker_base: str, cache_home: Path
) -> Iterator[Made]:
    """Build through a proxy: first with the wrong authority, then with the right one."""
    words = (
        *("wheel", "--json", "--target", "haswell", "--tensorflow", "2.15.1", "--python", "3.11"),
        *("--compiler", "system", "--bazel", "apt", "--jobs", "2"),
        # Space for a whole TensorFlow is planned, which this small one does not need.
        *("--source", source, "--base-image", docker_base, "--no-preflight"),
    )
    wrong, _ = places.make_authority(top / "wrong", "192.0.2.1")
    output = top / "wheels"

    def build(authority: Path, proxy: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [
                *(sys.executable, "-m", "tfbuild", *words, "--engine", "docker"),
                *("--ca-certificate", str(authority), "--output-dir", str(output)),
            ],
            env={
                **os.environ,
                "XDG_CACHE_HOME": str(cache_home),
                "HTTP_PROXY": proxy,
                "https_proxy": proxy,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    with places.Proxy(places.outward_address()).running() as proxy:
        refused = build(wrong, proxy.address)
        assert refused.returncode == 5, refused.stderr
        done = build(far[1], proxy.address)
        assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(done.stdout)
    log = next((cache_home / "tfbuild/logs").glob(f"*{document['recipe_digest'][:8]}.log"))
    yield Made(
        words=words,
        authority=far[1],
        recipe=document["recipe_digest"],
        image=document["image"],
        refused=refused.stderr,
        log=log.read_text(),
        proxy=proxy,
        output=output,
    )
    subprocess.run(["docker", "rmi", "-f", document["image"]], capture_output=True, check=False)
    cache = next(name for name in volumes(document["image"]) if "cache" in name)
    subprocess.run(["docker", "volume", "rm", cache], capture_output=True, check=False)


def test_an_own_authority_serves_the_source_and_bazel(made: Made) -> None:
    assert "not trusted" in made.refused
    assert "--ca-certificate" in made.refused
    # The first try had done all steps but the last; the second one began there.
    assert [line for line in made.log.splitlines() if line.startswith("Step: ")][-1] == (
        "Step: source"
    )
    assert "Reading package lists" not in made.log
    assert len(list(made.output.glob("*.whl"))) == 1


def test_all_went_through_the_proxy(made: Made, source: str) -> None:
    server = source.removeprefix("https://").partition("/")[0]
    assert any(path.startswith("http://") for path in made.proxy.asked), "apt"
    # The source twice, and the repository that Bazel's Java fetches.
    assert made.proxy.asked.count(server) >= 3


@pytest.fixture(scope="module")
def saved(made: Made, top: Path) -> Path:
    """The toolchain image as a file."""
    archive = top / "image.tar"
    docker("save", "-o", archive, tag_of(made))
    archive.chmod(0o644)
    return archive


def tag_of(made: Made) -> str:
    tags = json.loads(docker("inspect", made.image))[0]["RepoTags"]
    assert len(tags) == 1, "the steps' own names are gone"
    return str(tags[0])


def test_no_layer_history_or_log_has_them(made: Made, saved: Path) -> None:
    secret = made.proxy.password.encode()
    certificate = made.authority.read_bytes().splitlines()[2]
    needles = (secret, certificate)
    with saved.open("rb") as file:
        rest = b""
        # The layers of `docker save` are not compressed.
        while block := file.read(1 << 24):
            assert not [one for one in needles if one in rest + block]
            rest = block[-200:]
    told = docker("history", "--no-trunc", made.image) + docker("inspect", made.image) + made.log
    assert secret.decode() not in told
    assert "_proxy" not in docker("inspect", made.image).lower()
    config = json.loads(docker("inspect", made.image))[0]["Config"]
    assert config["Cmd"] == ["bash"]
    assert not any(config["Labels"][name] for name in ("tfbuild.owner", "tfbuild.step"))
    assert "-" not in tag_of(made).rpartition(":")[2]
    left = docker("run", "--rm", made.image, "ls", "-A", "/tfbuild/setup")
    assert left == ""


TOOLS = """
. /trust.sh
[ "$1" = without ] || trust /authority
bundle=/authority/bundle.pem
[ ! -s $bundle ] || echo "Acquire::https::CAInfo \\"$bundle\\";" >/etc/apt/apt.conf.d/own
echo "deb [trusted=yes] $ADDRESS/apt ./" >/etc/apt/sources.list
rm -f /etc/apt/sources.list.d/*
python=/tfbuild/python/bin/python
export PIP_RETRIES=0 UV_HTTP_RETRIES=0
try() {
    name=$1
    shift
    if "$@" >/log 2>&1; then echo "$name yes"; else echo "$name no"; cat /log >&2; fi
}
try curl curl -fsS "$ADDRESS/far.zip" -o /dev/null
try git git ls-remote "$ADDRESS/tree.git"
try apt apt-get update -o APT::Update::Error-Mode=any
try pip $python -m pip download --no-deps --index-url "$ADDRESS/simple" -d /tmp tiny
try uv /uv pip install --python $python --target /tmp/x --index-url "$ADDRESS/simple" tiny
try python $python -c "import urllib.request as r; r.urlopen('$ADDRESS/far.zip')"
"""


@pytest.fixture(scope="module")
def served(top: Path, far: tuple[str, Path], source: str) -> str:
    """What each tool fetches, on the server."""
    folder = top / "served"
    (folder / "apt").mkdir()
    (folder / "apt/Packages").write_text("")
    make_wheel(folder / "simple/tiny", "tiny", "1.0")
    tree = top / "repository"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(tree)]
    tree.mkdir()
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", tree, folder / "tree.git"], check=True)
    subprocess.run(["git", "-C", folder / "tree.git", "update-server-info"], check=True)
    return far[0]


@pytest.mark.parametrize("way", ["with", "without"])
def test_each_tool_trusts_it(way: str, made: Made, served: str, tmp_path: Path) -> None:
    """The very lines of toolchain.sh and build.sh, in a container of the toolchain."""
    import uv

    (tmp_path / "authority").mkdir()
    shutil.copy(made.authority, tmp_path / "authority/ca-certificates.pem")
    trust = resources.folder("templates") / "trust.sh.j2"
    shutil.copy(trust, tmp_path / "trust.sh")
    shutil.copy(uv.find_uv_bin(), tmp_path / "uv")
    words = ("-e", f"ADDRESS={served}", made.image, "sh", "-c", TOOLS, "sh", way)
    container = docker("create", *words).strip()
    try:
        for path in tmp_path.iterdir():
            docker("cp", path, f"{container}:/{path.name}")
        done = docker("start", "-a", container)
    finally:
        docker("rm", "-f", container)
    answers = dict(line.split() for line in done.splitlines())
    tools = ("curl", "git", "apt", "pip", "uv", "python")
    assert answers == dict.fromkeys(tools, "yes" if way == "with" else "no")


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_proxies_of_a_build_are_recorded_nowhere(
    name: str,
    bare_base: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine's own builder, as it is used when there is no certificate."""
    base = bare_base if name == "docker" else request.getfixturevalue("podman_bare")
    variables = {"HTTPS_PROXY": "http://someone:hush@proxy.invalid:3128", "NO_PROXY": "here"}
    (tmp_path / "Dockerfile").write_text(
        f'FROM {base} AS toolchain\nRUN echo "seen: $HTTPS_PROXY $NO_PROXY$HTTP_PROXY"\n'
    )
    # One that the command line has left out is not handed on by the engine's program either.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    tag, lines = "tfbuild-test/proxies:latest", list[str]()
    client = CLIENTS[name]()
    client.facts()
    built = client.build(
        tmp_path, stage="toolchain", tag=tag, labels={}, on_line=lines.append, proxies=variables
    )
    assert built, lines
    assert f"seen: {variables['HTTPS_PROXY']} here" in lines
    for words in (("history", "--no-trunc", tag), ("inspect", tag)):
        told = subprocess.run([name, *words], check=True, capture_output=True, text=True).stdout
        assert "hush" not in told
    subprocess.run([name, "rmi", "-f", tag], check=True, capture_output=True)


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_no_container_has_a_folder_of_this_machine(
    name: str, bare_base: str, request: pytest.FixtureRequest
) -> None:
    """So none needs a label of SELinux, and a remote engine works like a near one."""
    base = bare_base if name == "docker" else request.getfixturevalue("podman_bare")
    client = CLIENTS[name]()
    client.facts()
    plan = Plan(image=base, command=("true",), volumes={"tfbuild-test-v": "/cache"}, private="/own")
    container = client.create(plan)
    try:
        client.put(container, "/own", {"key": b"secret"}, mode=0o600)
        told = subprocess.run([name, "inspect", container], check=True, capture_output=True)
        mounts = json.loads(told.stdout)[0]["Mounts"]
        assert {mount["Type"] for mount in mounts} == {"volume"}
        assert {mount["Destination"] for mount in mounts} == {"/cache", "/own"}
        nameless = next(mount["Name"] for mount in mounts if mount["Destination"] == "/own")
    finally:
        client.remove(container)
    left = subprocess.run([name, "volume", "ls", "-q"], check=True, capture_output=True, text=True)
    assert nameless not in left.stdout.split()
    assert "tfbuild-test-v" in left.stdout.split()
    subprocess.run([name, "volume", "rm", "tfbuild-test-v"], check=True, capture_output=True)


@pytest.fixture(scope="module")
def podman_bare(bare_base: str, top: Path) -> str:
    """The bare image in Podman's store."""
    need(shutil.which("podman"), "podman is not here")
    docker("save", "-o", top / "bare.tar", bare_base)
    subprocess.run(["podman", "load", "-q", "-i", top / "bare.tar"], check=True)
    (top / "bare.tar").unlink()
    return f"localhost/{bare_base}"


def test_a_base_image_of_another_architecture(
    bare_base: str, tmp_path: Path, cache_home: Path, tfbuild: Run
) -> None:
    """The kernel refuses its programs: a header is enough, with ARM's number in it."""
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little") + b"\xb7\x00" + bytes(44)
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        for name in ("bin/sh", "bin/bash"):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(header), 0o755
            archive.addfile(entry, io.BytesIO(header))
    del bare_base
    tag = "tfbuild-test/foreign:latest"
    docker("import", tmp_path / "image.tar", tag)
    done = tfbuild(
        *("wheel", "--engine", "docker", "--target", "haswell", "--compiler", "system"),
        *("--bazel", "system", "--source", copy_workspace(tmp_path / "tree", "2.21.0")),
        *("--base-image", tag, "--no-preflight"),
        env={"XDG_CACHE_HOME": str(cache_home)},
    )
    assert done.returncode == 5, done.stderr
    assert "another architecture" in done.stderr
    assert "xec format error" in done.stderr
    docker("rmi", "-f", tag)


class Remote:
    """Builds of the toolchain's recipe on a daemon that is reached in another way."""

    def __init__(self, made: Made, folder: Path, cache_home: Path, **variables: str) -> None:
        self.command = [sys.executable, "-m", "tfbuild", *made.words, "--engine", "docker"]
        self.command += ["--ca-certificate", str(made.authority)]
        self.folder = folder
        variables |= {"XDG_CACHE_HOME": str(cache_home)}
        self.environment: Mapping[str, str] = {**os.environ, **variables}

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def build(self) -> dict[str, object]:
        out, err = self.start().communicate(timeout=PATIENCE)
        return self.check(out, err)

    def check(self, out: str, err: str) -> dict[str, object]:
        assert out, err[-3000:]
        document: dict[str, object] = json.loads(out)
        wheel = self.folder / "wheels" / str(document["file"])
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == document["sha256"]
        assert wheel.stat().st_uid == os.geteuid()
        return document


def wait_for(recipe_digest: str, done: Callable[[str], bool]) -> str:
    """Return the running container of a recipe once it is far enough."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = docker("ps", "-q", "--filter", f"label=tfbuild.recipe={recipe_digest}").split()
        if found and done(found[0]):
            return found[0]
        time.sleep(0.2)
    pytest.fail("the compile never got far enough")


def compiles(container: str) -> bool:
    words = ["docker", "logs", container]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    return "tfbuild: Bazel" in told.stdout


def test_a_context_over_tcp_whose_connection_breaks(
    made: Made, tmp_path: Path, cache_home: Path
) -> None:
    """The container goes on, and tfbuild follows it again."""
    cache = next(name for name in volumes(made.image) if "cache" in name)
    docker("volume", "rm", cache)
    config = tmp_path / "config"
    config.mkdir()
    # The SDK finds contexts beside this file only.
    (config / "config.json").write_text("{}")
    with places.Relay("/var/run/docker.sock").running() as relay:
        own = {"DOCKER_CONFIG": str(config)}
        docker(
            "context",
            "create",
            "far",
            "--docker",
            f"host={relay.address}",
            env={**os.environ, **own},
        )
        remote = Remote(made, tmp_path, cache_home, DOCKER_CONTEXT="far", **own)
        running = remote.start()
        container = wait_for(made.recipe, compiles)
        mounts = json.loads(docker("inspect", container))[0]["Mounts"]
        assert {mount["Type"] for mount in mounts} == {"volume"}
        assert relay.cut() >= 1
        # Long enough for tfbuild to find it closed, too.
        time.sleep(5)
        relay.is_open = True
        out, err = running.communicate(timeout=PATIENCE)
        document = remote.check(out, err)
    assert document["image"] == made.image, "the toolchain was there"
    assert document["actions"]["executed"] == 21  # type: ignore[index]
    log = next((cache_home / "tfbuild/logs").glob(f"*{made.recipe[:8]}.log"))
    told = log.read_text()
    assert "tfbuild: /out/" in told, "the end of the output came over a new connection"
    assert told.count("tfbuild: Bazel") == 1, "and nothing came twice"


def test_a_daemon_behind_ssh(made: Made, tmp_path: Path, cache_home: Path) -> None:
    (tmp_path / "sshd").mkdir()
    with places.sshd(tmp_path / "sshd") as (address, folder):
        path = f"{folder}:{os.environ['PATH']}"
        remote = Remote(made, tmp_path, cache_home, DOCKER_HOST=address, PATH=path)
        document = remote.build()
    assert document["image"] == made.image


def test_a_context_that_is_not_there(made: Made, tmp_path: Path, cache_home: Path) -> None:
    remote = Remote(made, tmp_path, cache_home, DOCKER_CONTEXT="lost")
    out, err = remote.start().communicate(timeout=PATIENCE)
    assert out == ""
    assert "no context 'lost'" in err


@pytest.fixture(scope="module")
def user(top: Path) -> places.User:
    """An ordinary user of this machine."""
    return places.user(top / "home")


def check_owner(wheels: Path, user: places.User) -> None:
    found = sorted(wheels.iterdir())
    assert len(found) == 2
    for path in (wheels, *found):
        told = subprocess.run(["stat", "-c", "%u", path], check=True, capture_output=True)
        assert int(told.stdout) == user.number
    for path in found:
        assert not path.stat().st_mode & 0o022


def test_a_user_in_the_group_of_docker(made: Made, user: places.User) -> None:
    need(places.has_group("docker"), "there is no group docker")
    done = user.tfbuild(
        *made.words, "--engine", "docker", "--ca-certificate", made.authority,
        "--output-dir", user.home / "group", group="docker",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    check_owner(user.home / "group", user)


def test_podman_without_root(made: Made, saved: Path, user: places.User) -> None:
    settings = user.home / ".config/containers/storage.conf"
    user.run("mkdir", "-p", settings.parent)
    user.run("sh", "-c", f"printf '[storage]\\ndriver = \"overlay\"\\n' >{settings}")
    image = lend(made, saved, user, ("podman",))
    done = user.tfbuild(
        *made.words, "--engine", "podman", "--ca-certificate", made.authority,
        "--output-dir", user.home / "podman",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["image"].removeprefix("sha256:") == image
    check_owner(user.home / "podman", user)
    user.run("podman", "system", "reset", "--force")


def test_docker_without_root(made: Made, saved: Path, user: places.User, top: Path) -> None:
    script = Path("/usr/share/docker.io/contrib/dockerd-rootless.sh")
    need(script.exists() and shutil.which("rootlesskit"), "there is no rootless Docker")
    address = f"unix://{user.runtime}/docker.sock"
    engine = ("docker", "-H", address)
    with (top / "dockerd.log").open("w") as log:
        daemon = subprocess.Popen(user.command("sh", script), stdout=log, stderr=log)
    try:
        for _ in range(60):
            if user.run(*engine, "info").returncode == 0:
                break
            time.sleep(0.5)
        else:
            pytest.fail((top / "dockerd.log").read_text()[-3000:])
        image = lend(made, saved, user, engine)
        done = user.tfbuild(
            *made.words, "--engine", "docker", "--ca-certificate", made.authority,
            "--output-dir", user.home / "docker", DOCKER_HOST=address,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads(done.stdout)["image"].removeprefix("sha256:") == image
        check_owner(user.home / "docker", user)
    finally:
        daemon.terminate()
        daemon.wait()


def lend(made: Made, saved: Path, user: places.User, engine: tuple[str, ...]) -> str:
    """Copy the toolchain image to a user's engine; return its ID there."""
    loaded = user.run(*engine, "load", "-q", "-i", saved)
    assert loaded.returncode == 0, loaded.stderr
    found = user.run(*engine, "image", "inspect", "--format", "{{.Id}}", tag_of(made))
    return found.stdout.strip().removeprefix("sha256:")
