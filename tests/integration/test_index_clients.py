"""Real pip and real uv install from the static index: by file:// and by HTTP."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from uv import find_uv_bin

from tests.wheels import make_wheel
from tfbuild.publish import publish

LABELS = ("2.21.0", "2.21.0+haswell", "2.21.0+skylake")
OTHER_PYTHON = f"=={sys.version_info.major}.{sys.version_info.minor + 1}.*"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with three labels, a newer wheel for another Python, and a dependency."""
    folder = tmp_path_factory.mktemp("wheels and more")
    wheels = [
        make_wheel(
            folder,
            version=version,
            requires=["tiny-dependency"],
            files={"tensorflow/__init__.py": f"BUILT = {version!r}\n"},
        )
        for version in LABELS
    ]
    wheels.append(make_wheel(folder, version="2.22.0+skylake", requires_python=OTHER_PYTHON))
    wheels.append(make_wheel(folder, name="tiny-dependency", version="1.0"))
    publish(wheels, folder / "index")
    return folder / "index"


@pytest.fixture(scope="module")
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """`python -m http.server`; yields its URL and its log."""
    log = tmp_path_factory.mktemp("log") / "requests"
    with log.open("w") as file:
        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
            cwd=root,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        while "Serving HTTP" not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        port = log.read_text().split(" port ")[1].split()[0]
        yield f"http://127.0.0.1:{port}", log
    finally:
        server.terminate()
        server.wait()


def clean() -> dict[str, str]:
    """Return this environment without what steers pip and uv."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_", "PYTHON"))}
    return {**own, "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}


def run(*args: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(args, env=clean(), capture_output=True, text=True, check=False)


class Environment:
    """A fresh virtual environment and one of the two installers."""

    def __init__(self, folder: Path, installer: str) -> None:
        self.python = folder / "bin/python"
        self.installer = installer
        made = run(find_uv_bin(), "venv", "--quiet", "--python", sys.executable, folder)
        assert made.returncode == 0, made.stderr

    def install(self, *args: str) -> "subprocess.CompletedProcess[str]":
        if self.installer == "uv":
            return run(
                find_uv_bin(), "pip", "install", "--no-cache", "--python", self.python, *args
            )
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python"]
        return run(*pip, self.python, "install", "--no-cache-dir", *args)

    def built(self) -> str:
        """Return what the installed module says that it is."""
        done = run(self.python, "-c", "import tensorflow; print(tensorflow.BUILT)")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(params=["pip", "uv"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv", request.param)


@pytest.mark.parametrize("version", LABELS)
def test_an_unpinned_install_from_a_label_root_gets_that_label(
    environment: Environment, root: Path, version: str
) -> None:
    label = version.partition("+")[2] or "unlabelled"
    url = (root / label / "simple").as_uri()
    done = environment.install("--no-deps", "--index-url", url, "tensorflow")
    assert done.returncode == 0, done.stderr
    assert environment.built() == version  # and not 2.22.0, which is for another Python


@pytest.mark.parametrize("version", LABELS[1:])
def test_a_pin_installs_from_the_common_root_with_dependencies(
    environment: Environment, root: Path, version: str
) -> None:
    url = (root / "all/simple").as_uri()
    done = environment.install("--index-url", url, f"tensorflow=={version}")
    assert done.returncode == 0, done.stderr
    assert environment.built() == version
    assert run(environment.python, "-c", "import tiny_dependency").returncode == 0


def test_requires_python_is_honoured(environment: Environment, root: Path) -> None:
    url = (root / "skylake/simple").as_uri()
    done = environment.install("--no-deps", "--index-url", url, "tensorflow==2.22.0+skylake")
    assert done.returncode != 0
    assert OTHER_PYTHON.strip("=.*") in done.stderr


def test_over_http_only_the_chosen_wheel_is_fetched(
    environment: Environment, served: tuple[str, Path]
) -> None:
    """Installers read dependencies from the small .metadata file, then fetch one wheel."""
    url, log = served
    before = len(log.read_text())
    done = environment.install("--index-url", f"{url}/all/simple/", "tensorflow==2.21.0+haswell")
    assert done.returncode == 0, done.stderr
    assert environment.built() == "2.21.0+haswell"
    paths = [line.split()[6] for line in log.read_text()[before:].splitlines() if "GET" in line]
    files = [unquote(path) for path in paths if path.startswith("/files/tensorflow")]
    wheel = "/files/tensorflow-2.21.0+haswell-py3-none-any.whl"
    assert files == [f"{wheel}.metadata", wheel]
    assert not [path for path in paths if "+" in path]  # quoted: some servers read "+" as a space


def test_uv_with_an_explicit_index(tmp_path: Path, served: tuple[str, Path]) -> None:
    """The project file that the front page recommends: only tensorflow comes from this index."""
    (tmp_path / "pyproject.toml").write_text(
        f"""
[project]
name = "demo"
version = "1"
requires-python = ">=3.11"
dependencies = ["tensorflow"]

[tool.uv.sources]
tensorflow = {{ index = "skylake" }}

[[tool.uv.index]]
name = "skylake"
url = "{served[0]}/skylake/simple/"
explicit = true

[[tool.uv.index]]
name = "everything-else"
url = "{served[0]}/unlabelled/simple/"
default = true
"""
    )
    env = {k: v for k, v in clean().items() if k != "UV_NO_CONFIG"}
    done = subprocess.run(
        [find_uv_bin(), "lock", "--no-cache", "--python", sys.executable],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lock = (tmp_path / "uv.lock").read_text()
    assert "2.21.0+skylake" in lock
    assert "haswell" not in lock


JSON_SERVER = """
import http.server

class Handler(http.server.SimpleHTTPRequestHandler):
    def send_head(self):
        if self.path.endswith("/"):
            self.path += "index.v1_json"
        return super().send_head()

    def guess_type(self, path):
        json = "application/vnd.pypi.simple.v1+json"
        return json if path.endswith(".v1_json") else "application/octet-stream"

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def test_the_json_page_installs_too(environment: Environment, root: Path) -> None:
    """A server that negotiates content sends `index.v1_json`; this one sends nothing else."""
    with subprocess.Popen(
        [sys.executable, "-c", JSON_SERVER],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/haswell/simple/"
            done = environment.install("--no-deps", "--index-url", url, "tensorflow")
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    assert environment.built() == "2.21.0+haswell"
