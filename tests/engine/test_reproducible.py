"""The same recipe gives the same bytes, and the wheel tells what it was made of.

Oracles: sha256sum, zip's own listing, `wheel unpack` and pip for RECORD, CycloneDX's schema, git.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.conftest import need, pyenv_python
from tfbuild.rehearse import copy_workspace

pytestmark = pytest.mark.engine
ADDRESS = "https://tiny.invalid/archive/tiny-1.2.0.tar.gz"
EXTERNAL = """
load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")

http_archive(
    name = "tiny",
    sha256 = "{sha256}",
    strip_prefix = "tiny-1.2.0",
    urls = ["{address}", "file://{place}"],
)

http_archive(
    name = "never_used",
    urls = ["https://tiny.invalid/never-used-1.0.0.tar.gz"],
)
"""
DATE = "1650000000 +0000"
# date --utc --date=@1650000000
WHEN = (2022, 4, 15, 5, 20, 0)
WHICH = "{{with .RepoDigests}}{{index . 0}}{{else}}{{.Id}}{{end}}"


def sha256sum(path: Path) -> str:
    done = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


def add_dependency(tree: Path, packed: Path, place: Path) -> None:
    """Let the workspace's library use an external repository that is packed in a file.

    Args:
        tree: the workspace.
        packed: where the archive is written.
        place: the archive's path as Bazel will see it.
    """
    folder = packed.parent / "tiny-1.2.0"
    folder.mkdir(parents=True)
    (folder / "WORKSPACE").touch()
    (folder / "tiny.h").write_text("inline float TinyHalf(float x) { return x / 2; }\n")
    rule = 'cc_library(name = "tiny", hdrs = ["tiny.h"], visibility = ["//visibility:public"])\n'
    (folder / "BUILD").write_text(rule)
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(folder, folder.name)
    shutil.rmtree(folder)
    text = EXTERNAL.format(sha256=sha256sum(packed), address=ADDRESS, place=place)
    with (tree / "WORKSPACE").open("a") as file:
        file.write(text)
    build = tree / "tensorflow/python/BUILD"
    kernels = '"//tensorflow/core/kernels",'
    assert kernels in build.read_text()
    build.write_text(build.read_text().replace(kernels, f'{kernels} "@tiny",'))


def compile_wheel(folder: Path, *words: str, **environment: str) -> tuple[Path, dict[str, Any]]:
    """Run `tfbuild wheel` in a folder and with a TMPDIR of its own; give the wheel, its record."""
    (folder / "tmp").mkdir(parents=True)
    own = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tfbuild", "wheel", "--json", "--target", "haswell"),
            *("--tensorflow", "2.15.1", "--python", "3.11", "--compiler", "system", *words),
        ],
        cwd=folder,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    record = json.loads(done.stdout)
    out = words[words.index("--output-dir") + 1] if "--output-dir" in words else "wheels"
    return folder / out / record["file"], record


def inside(wheel: Path, name: str) -> Any:
    with zipfile.ZipFile(wheel) as archive:
        path = next(path for path in archive.namelist() if path.endswith(f".dist-info/{name}"))
        return json.loads(archive.read(path))


def contents(wheel: Path) -> dict[str, str]:
    """Return the text, or the hash, of each file: shows what differs."""
    with zipfile.ZipFile(wheel) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    return {
        name: text.decode() if name.endswith(".json") else hashlib.sha256(text).hexdigest()
        for name, text in data.items()
    }


def file_times(wheel: Path) -> set[tuple[int, int, int, int, int, int]]:
    with zipfile.ZipFile(wheel) as archive:
        return {one.date_time for one in archive.infolist()}


def assert_holds_none_of(wheel: Path, words: list[str]) -> None:
    """Find none of the words in any file, nor this host's name.

    A host's name may be as short as "vm", which hashes and machine code hold by chance: it counts
    where nothing joins it to a longer word, between bytes that end a string where there is no text.
    """
    host = re.escape(socket.gethostname().encode())
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            data = archive.read(member)
            assert not [word for word in words if word.encode() in data], member
            if member.endswith("/RECORD"):
                data = re.sub(rb"(?m),sha256=[^,]*,", b",,", data)
            end = rb"[\0/@: ]" if b"\0" in data else rb"[^0-9A-Za-z_-]"
            assert not re.search(rb"(?:^|%b)%b(?:%b|$)" % (end, host, end), data), member


class Twice:
    """Two builds of one recipe in containers, each from nothing, that differ in all that may."""

    def __init__(self, folder: Path, base: str) -> None:
        self.folder = folder
        tree = copy_workspace(folder / "source", "2.15.1")
        (tree / "UNIQUE").write_text(str(time.time()))
        self.archive = tree / "third_party/tiny.tar.gz"
        add_dependency(tree, self.archive, Path("/tfbuild/source/third_party/tiny.tar.gz"))
        self.commit = commit_all(tree)
        packed = folder / "source.tar.gz"
        archive = ["git", "-C", str(tree), "archive", "--prefix=top/", "-o", str(packed), "HEAD"]
        subprocess.run(archive, check=True)
        where = ("--engine", "docker", "--base-image", base)
        words = (*where, "--bazel", "apt", "--source", str(packed))
        self.first, self.record = compile_wheel(folder / "a", *words, "--jobs", "1")
        self.volume = f"tfbuild-cache-{self.record['image'].removeprefix('sha256:')[:16]}"
        self.forget()
        other = ("--jobs", "2", "--memory", "3000", "--output-dir", "else where/deep")
        self.second, self.again = compile_wheel(folder / "b", *words, *other, TZ="Asia/Tokyo")

    def forget(self) -> None:
        """Empty the cache."""
        subprocess.run(["docker", "volume", "rm", self.volume], capture_output=True, check=True)


@pytest.fixture(scope="module")
def twice(docker_base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twice]:
    built = Twice(tmp_path_factory.mktemp("twice"), docker_base)
    yield built
    image = built.record["image"]
    subprocess.run(["docker", "rmi", "-f", image], capture_output=True, check=False)
    subprocess.run(["docker", "volume", "rm", built.volume], capture_output=True, check=False)


def test_two_builds_in_containers_give_the_same_bytes(twice: Twice) -> None:
    assert twice.record["actions"]["executed"] == twice.again["actions"]["executed"] > 20
    assert contents(twice.first) == contents(twice.second)
    assert sha256sum(twice.first) == sha256sum(twice.second) == twice.record["sha256"]
    assert twice.record["built_at"] != twice.again["built_at"]
    assert twice.record["recipe_digest"] == twice.again["recipe_digest"]


def test_an_archive_that_git_made_tells_commit_and_time(twice: Twice) -> None:
    assert twice.record["source"]["commit"] == twice.commit
    assert file_times(twice.first) == {WHEN}


def test_nothing_of_the_machine_is_in_the_wheel(twice: Twice) -> None:
    words = [str(twice.folder), str(Path.home() / "."), twice.record["image"]]
    assert_holds_none_of(twice.first, words)


def test_the_record_tells_what_docker_and_the_container_have(
    twice: Twice, docker_base: str
) -> None:
    record = twice.record

    def docker(*words: str) -> str:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    # An image that was built here has no digest of a registry; its ID stands for it.
    assert record["base_digest"] in docker("image", "inspect", "--format", WHICH, docker_base)
    run = ("run", "--rm", record["image"], "sh", "-c")
    assert record["libc"] == docker(*run, "getconf GNU_LIBC_VERSION")
    assert record["compiler"] == docker(*run, "gcc --version | head -n 1")
    assert f"Python {record['python_full']}" == docker(*run, "python3.11 --version")
    assert record["python_packages"]["pip"] in docker(*run, "/tfbuild/python/bin/pip --version")
    assert {"--copt=-march=haswell", "--host_copt=-march=x86-64"} <= set(record["options"])
    assert not [word for word in record["options"] if "/cache" in word or "--jobs" in word]
    carried = inside(twice.first, "tfbuild.json")
    same = {key: value for key, value in record.items() if key in carried}
    assert carried == same
    run_only = {"sha256", "size", "engine", "image", "actions", "attempts", "seconds", "built_at"}
    run_only.add("checks")
    assert set(record) - set(carried) == run_only


def test_the_list_of_components_has_what_bazel_compiled_in(twice: Twice) -> None:
    document = inside(twice.first, "sboms/tfbuild.cdx.json")
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    assert problem is None, problem
    listed = {one["bom-ref"]: one for one in document["components"]}
    assert "repository:never_used" not in listed
    tiny = listed["repository:tiny"]
    assert tiny["hashes"] == [{"alg": "SHA-256", "content": sha256sum(twice.archive)}]
    assert [one["url"] for one in tiny["externalReferences"]] == [ADDRESS]
    assert tiny["version"] == "1.2.0"
    assert document["compositions"][0]["aggregate"] == "unknown"


def test_installers_and_twine_take_it(twice: Twice, tmp_path: Path) -> None:
    python = pyenv_python("3.11")
    need(python, "no Python 3.11 is here")
    module = (sys.executable, "-m")
    target = ("--no-deps", "--no-index", "--target")
    for words in (
        (*module, "wheel", "unpack", "--dest", tmp_path, twice.first),
        (*module, "twine", "check", "--strict", twice.first),
        (python, "-m", "pip", "install", *target, tmp_path / "pip", twice.first),
        (
            *module,
            "uv",
            "pip",
            "install",
            "--python",
            python,
            *target,
            tmp_path / "uv",
            twice.first,
        ),
    ):
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, check=False
        )
        # `twine check --strict` misses a description, which the workspace's wheel has not.
        assert done.returncode == 0 or "long_description" in done.stdout, done.stdout + done.stderr
    for name in ("pip", "uv"):
        found = list((tmp_path / name).glob("*.dist-info/sboms/tfbuild.cdx.json"))
        assert len(found) == 1


def test_the_local_engine_gives_the_same_bytes_in_other_places(tmp_path: Path) -> None:
    """From a git server: the record has the commit, the wheel's files have its date."""
    need(shutil.which("bazel"), "bazel is not here")
    need(pyenv_python("3.11"), "no Python 3.11 is here")
    tree = copy_workspace(tmp_path / "repo", "2.15.1")
    commit = commit_all(tree)
    with git_server(tree) as address:
        words = ("--engine", "local", "--bazel", "system", "--no-preflight", "--source", address)
        first, record = compile_wheel(
            tmp_path / "a", *words, "--jobs", "2", XDG_CACHE_HOME=str(tmp_path / "cache")
        )
        second, _ = compile_wheel(
            tmp_path / "b",
            *(*words, "--output-dir", "some/where else"),
            XDG_CACHE_HOME=str(tmp_path / "another-cache-with-a-longer-name"),
            TZ="America/New_York",
        )
    assert contents(first) == contents(second)
    assert sha256sum(first) == sha256sum(second)
    assert record["source"] == {
        "kind": "git",
        "url": address.partition("#")[0],
        "ref": "main",
        "commit": commit,
        "sha256": "",
    }
    assert file_times(first) == {WHEN}
    assert_holds_none_of(first, [str(tmp_path)])


def commit_all(tree: Path) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(tree))
    dated = {**os.environ, "GIT_COMMITTER_DATE": DATE, "GIT_AUTHOR_DATE": DATE}
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "x"),
    ):
        subprocess.run(["git", *who, *words], env=dated, check=True)
    head = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def git_server(tree: Path) -> Iterator[str]:
    """Serve a repository on this machine; give the address of its branch main."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--export-all", "--listen=127.0.0.1", f"--port={port}", f"--base-path={tree.parent}")
    server = subprocess.Popen(["git", "daemon", *options], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"git://127.0.0.1:{port}/{tree.name}#main"
    finally:
        server.terminate()
        server.wait()
