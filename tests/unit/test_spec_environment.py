"""Environments, made by the real uv from tiny wheels that call themselves TensorFlow."""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.unit.test_spec_choice import HOST
from tests.wheels import make_wheel
from tfbuild import constraints, environment, installer, spec
from tfbuild.choice import Choice, choose
from tfbuild.environment import Installer
from tfbuild.errors import BenchError, HostError, SaveError, TfbuildError, WheelError
from tfbuild.progress import Silent
from tfbuild.pythons import Python

OFFLINE = Installer(offline=True)
MODULE = """
__version__ = "2.21.0"
class linalg:
    @staticmethod
    def matmul(a, b):
        return a
class ones:
    def __init__(self, shape): pass
    def numpy(self): return 0
"""
GUARD = """
import os, sys
sys.stderr.write("F core/platform/cpu_feature_guard.cc:35] The TensorFlow library was compiled to "
                 "use AVX512F instructions, but these aren't available on your machine.\\n")
sys.stderr.flush()
os.abort()
"""
ILLEGAL = "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n"


@dataclass
class Told:
    phases: list[str] = field(default_factory=list)

    def phase(self, text: str, total: int | None = None) -> None:  # noqa: ARG002
        self.phases.append(text)

    def step(self, done: int, total: int | None = None, text: str = "") -> None: ...

    def note(self, text: str) -> None: ...


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))


def tensorflow(folder: Path, module: str = MODULE, version: str = "2.21.0+zen1") -> Choice:
    wheel = make_wheel(folder, "tensorflow", version, files={"tensorflow/__init__.py": module})
    at = environment.here(HOST, folder, OFFLINE)
    return choose([spec.parse(str(wheel))], at).choices[0]


def test_an_environment_is_made_once_and_then_used_again(tmp_path: Path) -> None:
    choice = tensorflow(tmp_path)
    told = Told()
    made = environment.prepare(choice, OFFLINE, HOST, told, tmp_path / "envs")
    assert (made.distribution, made.version) == ("tensorflow", "2.21.0+zen1")
    assert made.tensorflow == "2.21.0"
    assert made.packages == ("tensorflow==2.21.0+zen1",)
    done = subprocess.run(
        [made.python, "-c", "import tensorflow, sys; print(tensorflow.__file__, sys.version)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path / "envs") in done.stdout
    assert made.python_version in done.stdout
    digest = subprocess.run(
        ["sha256sum", str(choice.wheel)], capture_output=True, text=True, check=True
    )
    assert made.wheel_sha256 == digest.stdout.split()[0]
    assert any(phase.startswith("Installing tensorflow 2.21.0+zen1") for phase in told.phases)

    again = Told()
    assert environment.prepare(choice, OFFLINE, HOST, again, tmp_path / "envs") == made
    assert again.phases == []


def test_bytecode_is_kept_in_an_environment_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    made = environment.prepare(tensorflow(tmp_path), OFFLINE, HOST, Silent(), tmp_path / "envs")
    assert list(made.python.parents[1].rglob("tensorflow/__pycache__/__init__.*.pyc"))


def test_on_another_cpu_it_is_tried_again(tmp_path: Path) -> None:
    choice = tensorflow(tmp_path)
    environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")
    told = Told()
    other = replace(HOST, features=HOST.features - {"avx2"})
    environment.prepare(choice, OFFLINE, other, told, tmp_path / "envs")
    assert told.phases == ["Importing tensorflow 2.21.0+zen1"]


def test_another_wheel_of_the_same_name_gets_another_environment(tmp_path: Path) -> None:
    first = environment.prepare(tensorflow(tmp_path), OFFLINE, HOST, Silent(), tmp_path / "envs")
    changed = tensorflow(tmp_path, MODULE + "\nchanged = True\n")
    second = environment.prepare(changed, OFFLINE, HOST, Silent(), tmp_path / "envs")
    assert first.python != second.python
    assert first.wheel_sha256 != second.wheel_sha256


def test_a_half_made_environment_is_made_anew(tmp_path: Path) -> None:
    choice = tensorflow(tmp_path)
    made = environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")
    place = made.python.parents[1]
    (place / "tfbuild.json").unlink()
    (place / "installed.txt").unlink()
    library = next(place.glob("lib/python*/site-packages/tensorflow/__init__.py"))
    library.unlink()  # uv links files to its cache
    library.write_text("half of the mod")
    assert environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs") == made
    assert library.read_text() == MODULE


def test_two_at_once_make_one_environment(tmp_path: Path) -> None:
    choice = tensorflow(tmp_path)
    tellers = [Told() for _ in range(4)]
    found: list[spec.Environment] = []

    def run(told: Told) -> None:
        found.append(environment.prepare(choice, OFFLINE, HOST, told, tmp_path / "envs"))

    threads = [threading.Thread(target=run, args=(told,)) for told in tellers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert sum(bool(told.phases) for told in tellers) == 1


@pytest.mark.parametrize(
    ("module", "kind", "why"),
    [
        (GUARD, HostError, "AVX512F"),
        (ILLEGAL, HostError, "SIGILL"),
        ("import numpy_that_is_not_there", BenchError, "numpy_that_is_not_there"),
    ],
)
def test_an_import_that_fails_is_explained_and_leaves_nothing_finished(
    tmp_path: Path, module: str, kind: type[TfbuildError], why: str
) -> None:
    choice = tensorflow(tmp_path, module)
    for _ in range(2):
        with pytest.raises(kind, match=why):
            environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")
    assert list((tmp_path / "envs").glob("*/tfbuild.json")) == []
    assert list((tmp_path / "envs").glob("*/installed.txt")) == []


def test_an_environment_can_be_made_without_an_import(tmp_path: Path) -> None:
    choice, told, folder = tensorflow(tmp_path, ILLEGAL), Told(), tmp_path / "envs"
    python = environment.install(choice, OFFLINE, told, folder)
    assert len(told.phases) == 1
    again = Told()
    assert environment.install(choice, OFFLINE, again, folder) == python
    assert again.phases == []
    with pytest.raises(HostError):
        environment.prepare(choice, OFFLINE, HOST, Silent(), folder)


def test_what_is_installed_is_not_installed_again_for_its_import(tmp_path: Path) -> None:
    choice, told, folder = tensorflow(tmp_path), Told(), tmp_path / "envs"
    python = environment.install(choice, OFFLINE, Silent(), folder)
    assert environment.prepare(choice, OFFLINE, HOST, told, folder).python == python
    assert told.phases == ["Importing tensorflow 2.21.0+zen1"]


def edit(site: Path) -> None:
    file = site / "tensorflow/__init__.py"
    text = file.read_text()
    file.unlink()  # uv links files to its cache
    file.write_text(text.replace("2.21.0", "2.21.9"))


def add(site: Path) -> None:
    (site / "sitecustomize.py").write_text("import sys\n")


def remove(site: Path) -> None:
    (site / "tensorflow/__init__.py").unlink()


def leave_bytecode(site: Path) -> None:
    (site / "tensorflow/__pycache__").mkdir(exist_ok=True)
    (site / "tensorflow/__pycache__/mine.cpython-311.pyc").touch()


@pytest.mark.parametrize(
    ("change", "anew"), [(edit, True), (add, True), (remove, True), (leave_bytecode, False)]
)
def test_an_environment_that_was_changed_is_installed_anew(
    tmp_path: Path, change: Callable[[Path], None], anew: bool
) -> None:
    choice, told, folder = tensorflow(tmp_path), Told(), tmp_path / "envs"
    made = environment.prepare(choice, OFFLINE, HOST, Silent(), folder)
    site = next(made.python.parents[1].glob("lib/python*/site-packages"))
    change(site)
    environment.install(choice, OFFLINE, told, folder)
    assert bool(told.phases) == anew
    assert (site / "tensorflow/__init__.py").read_text() == MODULE
    assert not (site / "sitecustomize.py").exists()


def test_a_distribution_without_tensorflow(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "tensorflow-tools", "1.0")
    at = environment.here(HOST, tmp_path, OFFLINE)
    choice = choose([spec.parse(str(wheel))], at).choices[0]
    with pytest.raises(BenchError, match="has no TensorFlow"):
        environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")


def test_a_wheel_that_is_no_archive(tmp_path: Path) -> None:
    choice = tensorflow(tmp_path)
    assert choice.wheel is not None
    choice.wheel.write_bytes(b"PK but not really")
    with pytest.raises(WheelError, match="not a wheel"):
        environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")


def test_requirements_that_cannot_be_had_are_told_in_uvs_words(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0", requires=["no-such-thing-tfbuild==1"])
    at = environment.here(HOST, tmp_path, OFFLINE)
    choice = choose([spec.parse(str(wheel))], at).choices[0]
    with pytest.raises(BenchError) as caught:
        environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")
    assert "no-such-thing-tfbuild" in caught.value.why
    assert caught.value.exit_code == 8
    assert [path for path in (tmp_path / "envs").iterdir() if path.is_dir()] == []


def test_a_full_disk_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = tmp_path / "uv"
    full.write_text(
        "#!/bin/sh\necho 'error: failed to write: No space left on device (os error 28)' >&2\n"
        "exit 2\n"
    )
    full.chmod(0o755)
    choice = tensorflow(tmp_path)
    monkeypatch.setattr(installer, "_uv", lambda: str(full))
    with pytest.raises(SaveError, match="the disk is full"):
        environment.prepare(choice, OFFLINE, HOST, Silent(), tmp_path / "envs")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "envs").write_text("a file stands there")
    with pytest.raises(SaveError):
        environment.prepare(tensorflow(tmp_path), OFFLINE, HOST, Silent(), tmp_path / "envs")


def test_an_interpreter_without_tensorflow_is_refused(tmp_path: Path) -> None:
    at = environment.here(HOST, tmp_path, OFFLINE)
    python = Path(sys._base_executable)  # type: ignore[attr-defined]
    with pytest.raises(BenchError, match="has no TensorFlow"):
        choose([spec.parse(str(python))], at)


def test_the_same_version_from_another_index_is_another_environment(tmp_path: Path) -> None:
    choice = tensorflow(tmp_path)
    places = set()
    for index in (None, "https://one.example/simple", "https://two.example/simple"):
        at = Installer(index=index, offline=True)
        places.add(environment.prepare(choice, at, HOST, Silent(), tmp_path / "envs").python)
    assert len(places) == 3
    secret = Installer(index="https://me:hunter2@one.example/simple", offline=True)
    again = environment.prepare(choice, secret, HOST, Silent(), tmp_path / "envs").python
    assert again in places


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("tensorflow-2.21.0%2Bskylake-cp312-cp312-linux_x86_64.whl#sha256=00", "2.21.0+skylake"),
        ("tensorflow-2.21.0-cp312-cp312-linux_x86_64.whl", "2.21.0"),
        ("latest.whl", "0"),
    ],
)
def test_the_version_at_an_address_is_in_the_wheels_name(name: str, version: str) -> None:
    found = installer._version_in_url(f"tensorflow@ https://index.example/a-1.0-b/{name}")
    assert found == version


def test_a_password_in_the_index_stays_out_of_arguments_and_words() -> None:
    secret = Installer(index="https://me:hunter2@example.org/simple")
    assert secret.environment()["UV_DEFAULT_INDEX"] == "https://me:hunter2@example.org/simple"
    assert secret.place == "https://example.org/simple"


@pytest.mark.parametrize(
    ("tensorflow_version", "limits"),
    [
        ("2.8.0", ("numpy<1.24", "protobuf<3.20")),
        ("2.11.1", ("numpy<1.24", "protobuf<3.20")),
        ("2.14.0", ("numpy<2",)),
        ("2.17.1", ("numpy<2",)),
        ("2.18.0", ()),
        ("2.21.0", ()),
    ],
)
def test_limits_that_wheels_forgot(tensorflow_version: str, limits: tuple[str, ...]) -> None:
    assert constraints.of(tensorflow_version) == limits


def test_an_index_that_does_not_answer_is_asked_for_one_python_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    dead = Installer(index="http://127.0.0.1:9/simple")
    asked: list[str] = []

    def resolve(requirement: str, python: Python) -> str:
        asked.append(python.version)
        return dead.resolve(requirement, python)

    pythons = tuple(Python(path=Path(sys.executable), full=f"3.{n}.1") for n in (12, 11, 10))
    at = replace(environment.here(HOST, tmp_path, dead), pythons=pythons, resolve=resolve)
    with pytest.raises(BenchError, match="cannot be installed"):
        choose([spec.parse("my-tensorflow<3")], at)
    assert asked == ["3.12"]
