"""What is told while a real Bazel works, and when it fails: in Docker, and on this machine.

One tree serves all: options of a run decide what breaks, so that the image is made once.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import need, pyenv_python
from tfbuild import build, recipe, target
from tfbuild.engine.base import Exit, OnLine, Setup
from tfbuild.engine.container import ContainerEngine
from tfbuild.engine.docker import DockerClient
from tfbuild.engine.local import LocalEngine
from tfbuild.errors import BuildError
from tfbuild.progress import Course
from tfbuild.recipe import Options, Recipe, Sources
from tfbuild.record import Actions
from tfbuild.rehearse import copy_workspace

pytestmark = pytest.mark.engine
PATIENCE = 300
SECRET = "very-secret-4711"
# More words than a gigabyte holds: the compiler reads the whole file before anything else.
EATS_MEMORY = """
#define A 1,1,1,1,1,1,1,1
#define B A,A,A,A,A,A,A,A
#define C B,B,B,B,B,B,B,B
#define D C,C,C,C,C,C,C,C
#define E D,D,D,D,D,D,D,D
#define F E,E,E,E,E,E,E,E
#define G F,F,F,F,F,F,F,F
#define H G,G,G,G,G,G,G,G
int eaten[] = { H,H,H,H,H,H,H,H };
"""


def done_by(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)


def servers(folder: Path) -> list[Path]:
    """Return the files in which Bazel's servers on this machine tell their process."""
    return list(folder.glob("cache/tfbuild/local/output/*/server/server.pid.txt"))


def only(file: str, macro: str) -> str:
    """Return Bazel's option that defines a macro for one file."""
    return f"build --per_file_copt={re.escape(file)}@-D{macro}\n"


class Told:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.courses: list[Course] = []

    def phase(self, text: str, total: int | None = None) -> None: ...

    def step(self, done: int, total: int | None = None, text: str = "") -> None: ...

    def course(self, course: Course) -> None:
        self.courses.append(course)

    def note(self, text: str) -> None: ...


class Docker(DockerClient):
    """Docker, which tells what it keeps of a container before that goes."""

    def __init__(self) -> None:
        self.container = ""
        self.kept = ""

    def run(self, container: str, on_line: OnLine) -> Exit:
        self.container = container
        return super().run(container, on_line)

    def remove(self, container: str) -> None:
        for word in ("logs", "inspect"):
            done = done_by("docker", word, container)
            self.kept += done.stdout + done.stderr
        super().remove(container)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A tree that can be broken, and where its caches and logs are."""

    tree: Path
    base: str

    def recipe(self, name: str = "nehalem", bazel: str = "apt") -> Recipe:
        given = Sources(source=str(self.tree), bazel=bazel, base_image=self.base)
        options = Options(compiler="system", jobs=2)
        return recipe.make("2.15.1", "3.11", target.find(name), given, options)


def breakable(folder: Path) -> Path:
    tree = copy_workspace(folder, "2.15.1")
    (tree / "UNIQUE").write_text(str(folder))
    # As TensorFlow's own tree does: Bazel prints every option that it reads in a file.
    rc = (tree / ".bazelrc").read_text()
    assert "announce_rc=false" in rc
    (tree / ".bazelrc").write_text(rc.replace("announce_rc=false", "announce_rc=true"))
    kernels = tree / "tensorflow/core/kernels"
    for name in ("dot", "sum"):
        with (kernels / f"{name}.cc").open("a") as file:
            file.write("\n#ifdef BREAKS\nint f() { return nonsense; }\n#endif\n")
    with (kernels / "relu.cc").open("a") as file:
        file.write(f"\n#ifdef EATS\n{EATS_MEMORY}\n#endif\n")
    return tree


@pytest.fixture(scope="module")
def place(docker_base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("progress")
    made = Place(tree=breakable(folder / "source"), base=docker_base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield made
    tag = f"tfbuild-toolchain:{made.recipe().toolchain_digest[:16]}"
    image = done_by("docker", "image", "inspect", "--format", "{{.Id}}", tag).stdout.strip()
    if image:
        done_by("docker", "rmi", "-f", image)
        done_by("docker", "volume", "rm", f"tfbuild-cache-{image.removeprefix('sha256:')[:16]}")


def bazels_own_count(log: Path) -> Actions:
    """Return the actions as Bazel's closing line counts them."""
    text = log.read_text()
    total, rest = re.findall(r"^INFO: (\d+) process(?:es)?: (.*)\.$", text, re.MULTILINE)[0]
    kinds = {name: int(number) for number, name in re.findall(r"(\d+) ([a-z][a-z -]*)", rest)}
    cached = sum(number for name, number in kinds.items() if name.endswith("cache hit"))
    executed = sum(kinds.values()) - cached - kinds.get("internal", 0)
    return Actions(total=int(total), cached=cached, executed=executed)


def test_phases_counts_and_hits_are_bazels_own(place: Place, tmp_path: Path) -> None:
    counts = []
    for name in ("nehalem", "haswell"):
        told, client, made = Told(), Docker(), place.recipe(name)
        setup = Setup(rc=f"build --remote_header=x-key={SECRET}\n")
        built = build.build(made, ContainerEngine(client=client), tmp_path, told, setup=setup)
        log = build.log_path(made)
        own = bazels_own_count(log)
        counts.append(own)
        assert built.actions == own
        phases = list(dict.fromkeys(course.phase for course in told.courses if course.phase))
        assert phases == ["Starting Bazel", "Loading", "Analysing", "Compiling", "Packaging"]
        last = told.courses[-1]
        assert (last.done, last.total, last.cached) == (own.total, own.total, own.cached)
        # What was told live, before Bazel counted, never promised more than it counts.
        assert max(course.cached or 0 for course in told.courses) <= own.cached
        done = [course.done for course in told.courses if course.phase == "Compiling"]
        assert done[-1] == own.total
        assert len(set(done)) > 2, "the count moves while Bazel compiles"
        assert "tfbuild-event" in client.kept
        assert "INFO: Analyzed target" in log.read_text()
        assert "tfbuild-event" not in log.read_text()
        assert SECRET not in client.kept + log.read_text()
    first, second = counts
    assert first.cached == 0
    # Tools that run during the build are the same for every target.
    assert 0 < second.cached < second.executed + second.cached == first.executed


def test_the_kernel_kills_a_compiler(place: Place, tmp_path: Path) -> None:
    """The limit comes while the container runs: the machine itself has memory enough."""
    client = Docker()

    def limited() -> bool:
        words = ("docker", "update", "--memory", "1g", "--memory-swap", "1g")
        return bool(client.container) and done_by(*words, client.container).returncode == 0

    helper = threading.Thread(target=until, args=(limited,))
    helper.start()
    setup = Setup(rc=only("relu.cc", "EATS"))
    with pytest.raises(BuildError) as caught:
        build.build(place.recipe(), ContainerEngine(client=client), tmp_path, setup=setup)
    helper.join()
    assert "ran out of memory" in caught.value.what
    assert "--jobs 1" in caught.value.do
    assert "relu.cc" in caught.value.why
    killed = "Killed signal terminated program cc1plus"
    assert killed in caught.value.why
    assert killed in build.log_path(place.recipe()).read_text()


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recipe]:
    """A recipe of a breakable tree for this machine's own Bazel; its server ends with the test."""
    need(shutil.which("bazel"), "bazel is not here")
    python = pyenv_python("3.11")
    need(python, "no Python 3.11 is here")
    assert python is not None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{python.parent}:{os.environ['PATH']}")
    tree = breakable(tmp_path / "source")
    script = tree / "tensorflow/tools/pip_package/make_wheel.py"
    breaks = "import os\nif 'BREAKS' in os.environ:\n    import no_such_module\n"
    script.write_text(breaks + script.read_text())
    yield Place(tree=tree, base="").recipe(bazel="system")
    for file in servers(tmp_path):
        with suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)


def test_failures_on_this_machine(local: Recipe, tmp_path: Path) -> None:
    log = build.log_path(local)

    def killed() -> bool:
        pids = servers(tmp_path)
        if not pids or "Loading:" not in log.read_text():
            return False
        os.kill(int(pids[0].read_text()), signal.SIGKILL)
        return True

    helper = threading.Thread(target=until, args=(killed,))
    helper.start()
    with pytest.raises(BuildError, match="Bazel's own server died") as caught:
        build.build(local, LocalEngine(), tmp_path)
    helper.join()
    assert "Server terminated abruptly" in caught.value.why
    assert "--jobs 1" in caught.value.do

    both = "build --keep_going\n" + only("dot.cc", "BREAKS") + only("sum.cc", "BREAKS")
    with pytest.raises(BuildError, match="The compile failed with 1") as caught:
        build.build(local, LocalEngine(), tmp_path, setup=Setup(rc=both))
    first, *lines = caught.value.why.splitlines()
    assert first.startswith("2 actions failed, of //tensorflow/core/kernels:")
    heads = [line for line in lines if re.match(r"ERROR: .*failed: \(Exit 1\): gcc failed$", line)]
    errors = [line for line in lines if line.endswith("'nonsense' was not declared in this scope")]
    assert len(heads) == len(errors) == 2
    assert len(lines) == 4

    with pytest.raises(BuildError, match="while packaging") as caught:
        build.build(local, LocalEngine(), tmp_path, setup=Setup(environment={"BREAKS": "1"}))
    assert caught.value.why == "ModuleNotFoundError: No module named 'no_such_module'"

    told = Told()
    built = build.build(local, LocalEngine(), tmp_path, told)
    assert built.actions == bazels_own_count(log)
    assert told.courses[-1].phase == "Packaging"
    # Nothing that was started beside Bazel is left.
    assert done_by("pgrep", "-f", re.escape(str(tmp_path)) + ".*tfbuild-events").stdout == ""
