"""The local engine, with a Bazel that writes down what it is told and gives a wheel made before."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tests.wheels import make_wheel
from tfbuild import build, plan, pythons, recipe, target
from tfbuild.engine import local, tools
from tfbuild.engine.local import LocalEngine
from tfbuild.errors import EngineError, UsageError
from tfbuild.recipe import Options, Recipe, Sources
from tfbuild.rehearse import bazel_for

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
TAG = f"cp{HERE.replace('.', '')}"
BAZEL = """\
#!/bin/bash
if [ "$1" = --version ]; then echo "bazel ${{USE_BAZEL_VERSION:-9.9.9}}"; exit 0; fi
printf '%s\\n' "$@" >>{told}
mkdir -p bazel-bin/tensorflow/tools/pip_package/wheel_house
cp {wheel} bazel-bin/tensorflow/tools/pip_package/wheel_house/
echo "INFO: 3 processes: 3 local."
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Bazel first on the PATH; the file that its arguments end in."""
    need(platform.machine() == "x86_64", "the recipe is for x86-64")
    need(HERE in {"3.10", "3.11", "3.12", "3.13"}, "TensorFlow 2.21 does not know this Python")
    files = {"tensorflow/__init__.py": "x = 1\n"}
    wheel = make_wheel(tmp_path, version="2.21.0", tag=f"{TAG}-{TAG}-linux_x86_64", files=files)
    told = tmp_path / "told"
    program = tmp_path / "bin/bazel"
    program.parent.mkdir()
    program.write_text(BAZEL.format(told=told, wheel=wheel))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return told


def made(tmp_path: Path, *, bazel: str = "7.4.1", jobs: int | None = None) -> Recipe:
    """Return a recipe of a tree that is one only by its folders."""
    (tmp_path / "tree/tensorflow/tools/pip_package").mkdir(parents=True, exist_ok=True)
    given = Sources(source=str(tmp_path / "tree"), bazel=bazel)
    return recipe.make("2.21.0", HERE, target.find("haswell"), given, Options(jobs=jobs))


def test_a_relative_output_folder(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build script works in the source's folder, and must not look for it there."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    built = build.build(made(tmp_path), LocalEngine(), Path("wheels"))
    assert bazel_for(made(tmp_path), LocalEngine(), "") is None, "a rehearsal takes it too"
    assert built.bazel == "7.4.1", "what the recipe wants is what Bazelisk is told"
    assert built.file == f"tensorflow-2.21.0+haswell-{TAG}-{TAG}-linux_x86_64.whl"
    assert (tmp_path / "elsewhere/wheels" / built.file).is_file()


def test_the_command_line_beats_the_environment(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFBUILD_JOBS", "8")
    build.build(made(tmp_path, jobs=3), LocalEngine(), tmp_path / "wheels")
    assert "--jobs=3" in told.read_text().splitlines()


def test_a_bazel_of_another_place_is_refused(told: Path, tmp_path: Path) -> None:
    """It would be left out without a word."""
    with pytest.raises(UsageError, match="does not fit --engine local"):
        build.build(made(tmp_path, bazel="apt"), LocalEngine(), tmp_path / "wheels")
    assert not told.exists()


def test_a_bazel_of_another_release_is_refused(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/bazel"
    program.write_text("#!/bin/sh\necho bazel 4.2.3\n")
    assert not tools.has_bazel(made(tmp_path))
    assert bazel_for(made(tmp_path), LocalEngine(), "") == "system"
    assert tools.has_bazel(made(tmp_path, bazel="system"))
    with pytest.raises(EngineError, match=r"built with Bazel 7\.4\.1; here is 4\.2\.3") as caught:
        LocalEngine().prepare(made(tmp_path), print)
    assert "--bazel system" in caught.value.do


def test_to_ask_bazelisk_fetches_nothing(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/bazel"
    program.rename(tmp_path / "bazelisk-linux-amd64")
    program.symlink_to(tmp_path / "bazelisk-linux-amd64")
    (tmp_path / "bazelisk-linux-amd64").write_text("#!/bin/sh\nexit 1\n")
    assert LocalEngine().facts().version == "Bazelisk"


def test_no_compiler(told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(EngineError, match="no-such-compiler") as caught:
        LocalEngine().prepare(made(tmp_path), print)
    assert "apt install" in caught.value.do


@pytest.mark.parametrize("kind", ["branch", "tag", "commit"])
def test_git_fetches_branches_tags_and_commits(kind: str, tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        command = ["git", "-C", str(tmp_path / "origin"), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / "origin").mkdir()
    git("init", "--quiet", "--initial-branch", "main")
    for number in ("1", "2"):
        (tmp_path / "origin/VERSION").write_text(number)
        git("add", "VERSION")
        git("commit", "--quiet", "--message", number)
    git("tag", "v1", "HEAD~1")
    ref, version = {
        "branch": ("main", "2"),
        "tag": ("v1", "1"),
        "commit": (git("rev-parse", "HEAD~1"), "1"),
    }[kind]
    local._clone(f"file://{tmp_path}/origin", ref, tmp_path / "clone", print)
    assert (tmp_path / "clone/VERSION").read_text() == version


def test_a_release_archive_tells_its_commit(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tensorflow/tools/pip_package").mkdir(parents=True)
    (tree / "tensorflow/tools/pip_package/BUILD").touch()
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(tree))
    packed = tmp_path / "v1.tar.gz"
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "x"),
        ("archive", "--prefix=tensorflow-1/", "-o", str(packed), "HEAD"),
    ):
        subprocess.run(["git", *identity, *words], check=True)
    head = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout
    (tmp_path / "work").mkdir()
    local._unpack(packed.rename(tmp_path / "work/source.tar"), tmp_path / "made")
    assert (tmp_path / "made/.tfbuild-commit").read_text() == commit
    assert (tmp_path / "made/tensorflow/tools/pip_package/BUILD").is_file()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_archive_is_told(kind: str, damage: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("".join(f"{number}\n" for number in range(100_000)))
    packed = tmp_path / "source.tar"
    words = ["tar", "--create", f"--file=x.tar.{kind}", "--auto-compress", "data"]
    subprocess.run(words, cwd=tmp_path, check=True)
    data = (tmp_path / f"x.tar.{kind}").read_bytes()
    middle = len(data) // 2
    rest = b"" if damage == "cut" else bytes(1000) + data[middle + 1000 :]
    packed.write_bytes(data[:middle] + rest)
    (tmp_path / "work").mkdir()
    with pytest.raises(EngineError, match="cannot be unpacked"):
        local._unpack(packed, tmp_path / "work/made")


def test_flags_in_the_environment_do_not_reach_bazel(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record would tell of them; CC is what `--compiler system` asks for."""
    program = tmp_path / "bin/bazel"
    program.write_text(program.read_text().replace("mkdir", f"env >{tmp_path}/seen\nmkdir"))
    for name in ("BAZEL_CXXOPTS", "BAZEL_COPTS", "ML_WHEEL_VERSION_SUFFIX"):
        monkeypatch.setenv(name, "-march=native")
    monkeypatch.setenv("MINE", "yes")
    build.build(made(tmp_path), LocalEngine(), tmp_path / "wheels")
    seen = (tmp_path / "seen").read_text().splitlines()
    assert "MINE=yes" in seen
    assert not [line for line in seen if line.endswith("=-march=native")]


def with_packages(tmp_path: Path, index: str | None = None) -> Recipe:
    """Return a recipe whose build imports packages, for the Python that runs the tests."""
    need(HERE in {"3.11", "3.12"}, "TensorFlow 2.16 does not know this Python")
    (tmp_path / "tree/tensorflow/tools/pip_package").mkdir(parents=True)
    given = Sources(source=str(tmp_path / "tree"), bazel="system", pip_index=index)
    options = Options(compiler="system")
    return recipe.make("2.16.2", HERE, target.find("haswell"), given, options)


def test_packages_that_cannot_be_had(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is compiled, and nothing half-made is left to be taken for whole."""
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    one = with_packages(tmp_path, "http://127.0.0.1:9/simple")
    with pytest.raises(EngineError, match="cannot be installed") as caught:
        LocalEngine().prepare(one, print)
    assert "--pip-index" in caught.value.do
    assert list((tmp_path / "cache/tfbuild/local/python").iterdir()) == []


@pytest.mark.network
def test_a_python_with_the_packages_of_the_build(told: Path, tmp_path: Path) -> None:
    engine, one = LocalEngine(), with_packages(tmp_path)
    engine.prepare(one, print)
    python = engine._places(one, tmp_path, tmp_path)["TFBUILD_PYTHON"]
    ask = "import setuptools, wheel, sys; print(setuptools.__version__, sys.prefix)"
    done = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True)
    version, prefix = done.stdout.split()
    assert int(version.partition(".")[0]) < 81, "as data/releases.toml says"
    assert prefix.startswith(str(tmp_path)), "and not this environment's"


def test_the_plan_names_what_is_fetched_without_a_container() -> None:
    def names(tensorflow: str, python: str) -> dict[str, str]:
        one = recipe.make(tensorflow, python, target.find("haswell"))
        return {place.what: place.where for place in plan.outside(one, is_local=True)}

    assert names("2.12.1", "3.10")["Python packages"] == "https://pypi.org/simple"
    assert "Python packages" not in names("2.21.0", "3.12"), "there Bazel brings them"
    assert names("2.21.0", "3.12")["Bazel, if Bazelisk lacks it"].endswith("7.4.1-linux-x86_64")
    assert "base image" not in names("2.12.1", "3.10")


def test_all_that_is_missing_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = next(version for version in ("3.9", "3.10") if version != HERE)
    given, options = Sources(bazel="7.4.1"), Options(compiler="gcc-13")
    one = recipe.make("2.15.1", other, target.find("haswell"), given, options)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    for name in ("HOME", "PYENV_ROOT", "UV_PYTHON_INSTALL_DIR", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "empty"))
    monkeypatch.setattr(tools, "_PROGRAMS", tmp_path / "empty")
    # What an earlier test has found counts no more, nor what this one finds for a later one.
    pythons.first.cache_clear()
    told = " ".join(str(error) for error in tools.problems(one))
    pythons.first.cache_clear()
    assert "gcc-13 is not here" in told
    assert f"no python{other}" in told


@pytest.mark.parametrize(
    ("source", "moving"),
    [
        ("https://git.example/tf.git#main", "https://git.example/tf.git#main"),
        ("https://git.example/tf.git#" + "ab" * 20, ""),
        (None, ""),
    ],
)
def test_a_source_that_may_move_on_is_told(source: str | None, moving: str) -> None:
    one = recipe.make("2.15.1", "3.11", target.find("haswell"), Sources(source=source))
    assert tools.moving(one) == moving


def test_the_path_does_not_depend_on_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bazel's actions see it: another one makes all of them run again."""
    before = tools.path(Path("/opt/python/bin"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert tools.path(Path("/opt/python/bin")) == before
    assert before.split(":")[0] == "/opt/python/bin"
    (tmp_path / "compiler").write_text("")
    (tmp_path / "compiler").chmod(0o755)
    monkeypatch.setenv("CC", "compiler")
    assert str(tmp_path) in tools.path(Path("/opt/python/bin")).split(":")
