"""The local engine, with a real Bazel: full disks, networks that fail, two builds at once."""

import functools
import hashlib
import http.server
import json
import os
import signal
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine.standin import (
    ALL,
    ENOUGH,
    Build,
    Onlooker,
    executed,
    fill,
    is_of_host,
    names,
    stored,
    until,
    workspace,
)

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _bazel() -> None:
    done = subprocess.run(["bazel", "--version"], capture_output=True, check=False)
    need(done.returncode == 0, "bazel is not here")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("standin")
    return workspace(folder / "source", f"{folder}/log.json")


@pytest.fixture
def log(source: Path) -> Path:
    return source.parent / "log.json"


def disk(cache: Path) -> Path:
    found = list(cache.glob("tfbuild/local/cache/*/disk"))
    return found[0] if found else cache / "none"


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small file system in memory."""
    need(os.geteuid() == 0, "only root may mount")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_second_target_runs_no_tool_again(source: Path, log: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = Build("local", source, tmp_path, cache, target="haswell").finish()
    ran_first = executed(log)
    assert len(ran_first) == ALL == first["actions"]["executed"]
    assert any(is_of_host(spawn) for spawn in ran_first)
    # From another shell, with another environment active: Bazel's actions see PATH.
    other = Build(
        *("local", source, tmp_path, cache),
        target="skylake",
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    second = other.finish()
    ran = executed(log)
    assert [spawn["listedOutputs"] for spawn in ran if is_of_host(spawn)] == []
    assert len(ran) == second["actions"]["executed"] < ALL
    assert second["attempts"] == {"count": 1, "finished": 0, "repeated": 0}


def test_a_killed_tfbuild_leaves_a_script_that_the_next_one_ends(
    source: Path, log: Path, tmp_path: Path
) -> None:
    build = Build("local", source, tmp_path, tmp_path / "cache")
    with Onlooker(build.wheels):
        running = build.start()
        until(lambda: len(stored(disk(build.cache))) >= ENOUGH, "some actions", running)
        # Another recipe of the same toolchain, at the same time.
        code, _, err = Build("local", source, tmp_path, build.cache, target="zen").run()
        assert code == 5, err
        assert f"Process {running.pid} compiles TensorFlow 2.15.1 for Python 3.11, nehalem" in err
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert list(build.wheels.glob(".tfbuild-*"))
        finished = stored(disk(build.cache))
        record = build.finish()
    assert list(build.wheels.glob(".tfbuild-*")) == []
    repeated = names(executed(log)) & finished
    # What the orphan finished before its end is stored too: at least those known here.
    assert record["attempts"]["count"] == 2
    assert record["attempts"]["repeated"] == len(repeated) == 0
    assert record["actions"]["executed"] == len(executed(log)) <= ALL - len(finished)


def test_lost_results_are_counted_as_repeated(source: Path, log: Path, tmp_path: Path) -> None:
    build = Build("local", source, tmp_path, tmp_path / "cache")
    running = build.start()
    until(lambda: len(stored(disk(build.cache))) >= ENOUGH, "some actions", running)
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130
    finished = stored(disk(build.cache))
    # A crash of the machine: all blobs are lost, and one entry is left empty.
    for path in disk(build.cache).glob("cas/*/*"):
        path.unlink()
    next(disk(build.cache).glob("ac/*/*")).write_bytes(b"")
    outputs = next(build.cache.glob("tfbuild/local/output/*"))
    subprocess.run(["bazel", f"--output_base={outputs}", "shutdown"], cwd=source, check=True)
    subprocess.run(["rm", "-rf", outputs], check=True)
    record = build.finish()
    repeated = names(executed(log)) & finished
    assert len(executed(log)) == ALL
    assert len(repeated) == len(finished)
    # The entry that was left empty is gone, so its action counts as never finished.
    assert record["attempts"]["repeated"] == len(repeated) - 1
    assert record["attempts"]["count"] == 2


def test_a_full_disk_below_the_caches(source: Path, log: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "96m") as small:
        build = Build("local", source, tmp_path, small)
        with Onlooker(build.wheels):
            running = build.start()
            until(lambda: len(stored(disk(small))) >= ENOUGH, "some actions", running)
            fill(small / "filler")
            _, err = running.communicate()
            assert running.returncode in {5, 6, 11}, err
            assert "pace" in err, "it says that it is the disk"
            assert list(build.wheels.glob("*.whl*")) == []
            finished = stored(disk(small))
            (small / "filler").unlink()
            record = build.finish()
        ran = executed(log)
        assert record["actions"]["executed"] == len(ran) < ALL
        assert record["attempts"]["repeated"] == len(names(ran) & finished)
        outputs = next(small.glob("tfbuild/local/output/*"))
        subprocess.run(["bazel", f"--output_base={outputs}", "shutdown"], cwd=source, check=False)


def test_a_full_output_folder(source: Path, tmp_path: Path) -> None:
    build = Build("local", source, tmp_path, tmp_path / "cache")
    with mounted(build.wheels, "16k"), Onlooker(build.wheels):
        code, _, err = build.run()
        # The build script itself, or what follows it, finds the disk full.
        assert code in {6, 11}, err
        assert "pace" in err
        assert list(build.wheels.iterdir()) == []
        subprocess.run(["mount", "-o", "remount,size=4m", build.wheels], check=True)
        record = build.finish()
        assert record["actions"]["executed"] == 0
        assert {path.suffix for path in build.wheels.iterdir()} == {".whl", ".json"}


class Halting(http.server.SimpleHTTPRequestHandler):
    """Serves files; of `halts` only the first half, as long as its server is `broken`."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if self.path != "/halts.tar" or not self.server.broken:  # type: ignore[attr-defined]
            super().do_GET()
            return
        data = (Path(self.directory) / "halts.tar").read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.connection.close()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    served = tmp_path / "served"
    served.mkdir()
    for name in ("whole", "halts"):
        (served / "BUILD").write_text('exports_files(["data"])\n')
        (served / "WORKSPACE").write_text("")
        (served / "data").write_bytes(name.encode() * 100_000)
        with tarfile.open(served / f"{name}.tar", "w") as archive:
            for file in ("BUILD", "WORKSPACE", "data"):
                archive.add(served / file, file)
    handler = functools.partial(Halting, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        listening.asked = []  # type: ignore[attr-defined]
        listening.broken = True  # type: ignore[attr-defined]
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def with_archives(tree: Path, server: http.server.ThreadingHTTPServer, served: Path) -> None:
    """Let the workspace need two archives of that server."""
    lines = ['load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")']
    for name in ("whole", "halts"):
        sha256 = hashlib.sha256((served / f"{name}.tar").read_bytes()).hexdigest()
        url = f"http://127.0.0.1:{server.server_port}/{name}.tar"
        lines.append(f'http_archive(name = "{name}", urls = ["{url}"], sha256 = "{sha256}")')
    with (tree / "WORKSPACE").open("a") as file:
        file.write("\n".join(lines) + "\n")
    tools = tree / "tensorflow/core/tools/BUILD"
    # In this order, one after the other: a macro of the package asks for both.
    tools.write_text(
        tools.read_text().replace(
            '    name = "coefficients",\n',
            '    name = "coefficients",\n    srcs = ["@whole//:data", "@halts//:data"],\n',
        )
    )


def test_a_network_lost_in_mid_fetch(
    server: http.server.ThreadingHTTPServer, tmp_path: Path
) -> None:
    tree = workspace(tmp_path / "source", f"{tmp_path}/log.json")
    with_archives(tree, server, tmp_path / "served")
    build = Build("local", tree, tmp_path, tmp_path / "cache")
    code, _, err = build.run()
    assert code == 5, err
    assert "halts.tar" in err
    assert not list(build.wheels.glob("*.whl*"))
    server.broken = False  # type: ignore[attr-defined]
    record = build.finish()
    asked = server.asked  # type: ignore[attr-defined]
    assert asked.count("/whole.tar") == 1, "what was fetched is not fetched again"
    assert record["actions"]["executed"] == ALL
    assert record["attempts"] == {"count": 2, "finished": 0, "repeated": 0}
    journal = next((build.cache / "tfbuild/attempts").iterdir()).read_text().splitlines()
    hows = [how for line in journal if (how := json.loads(line).get("how"))]
    assert [how.partition(":")[0] for how in hows] == ["EngineError", "wheel"]
