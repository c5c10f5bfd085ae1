"""What is installed, verified: pip and uv install it, and pip says what is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries import compiled, need_tools
from tests.wheels import make_wheel
from tfbuild import target as targets
from tfbuild.verify import steps
from tfbuild.verify.context import Asked
from tfbuild.verify.installation import Installation
from tfbuild.verify.model import Check
from tfbuild.verify.verify import checked
from tfbuild.wheel.inspect import find

TAG = "cp311-cp311-manylinux_2_28_x86_64"
INSTALLERS = {
    "pip": [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "-q", "--target"],
    "uv": [sys.executable, "-m", "uv", "pip", "install", "--no-index", "--no-deps", "-q",
           "--python-version=3.11", "--python-platform=x86_64-manylinux_2_28", "--target"],
}  # fmt: skip


def install(site: Path, *wheels: Path, installer: str = "uv") -> None:
    subprocess.run([*INSTALLERS[installer], site, *wheels], check=True, capture_output=True)


def tensorflow(folder: Path, tag: str = "py3-none-any", version: str = "2.14.1") -> Path:
    files = {
        "tensorflow/__init__.py": f"__version__ = {version!r}\n",
        "tensorflow/python/__init__.py": "",
    }
    return make_wheel(folder, "tensorflow-cpu", version, tag, files=files)


def verified(site: Path, asked: Asked | None = None) -> dict[str, Check]:
    context = Installation(find(site), asked or Asked())
    names = [name for step in steps.STATIC for name in step.names]
    return {check.name: check for check in checked(context, steps.STATIC, names).checks}


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_what_an_installer_adds_is_no_fault(tmp_path: Path, installer: str) -> None:
    install(tmp_path / "site", tensorflow(tmp_path), installer=installer)
    added = {path.name for path in (tmp_path / "site").glob("*.dist-info/*")}
    assert "INSTALLER" in added
    found = verified(tmp_path / "site")
    assert found["structure"].status == "skipped"
    assert found["record"].status == "passed", found["record"]
    on_disk = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    ours = [path for path in on_disk if "__pycache__" not in path.parts]
    # What an installer adds without a hash, and its lock file, are not the wheel's.
    assert 5 <= int(found["record"].found.split()[1]) <= len(ours)


def test_changed_and_removed_files_are_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, tensorflow(tmp_path))
    (site / "tensorflow/__init__.py").write_text("import os\n")
    (site / "tensorflow/python/__init__.py").unlink()
    record = verified(site)["record"]
    assert record.status == "failed"
    told = "\n".join(record.details)
    assert "tensorflow/__init__.py does not fit its hash" in told
    assert "tensorflow/python/__init__.py is in RECORD but not there" in told
    assert "Install it again" in record.do


@pytest.mark.parametrize(("numpy", "status"), [("1.26.4", "passed"), ("2.2.0", "failed")])
def test_what_is_installed_beside_counts(tmp_path: Path, numpy: str, status: str) -> None:
    # The requirements say nothing; what is there decides.
    wheels = [tensorflow(tmp_path, version="2.14.0"), make_wheel(tmp_path, "numpy", numpy)]
    install(tmp_path / "site", *wheels)
    pins = verified(tmp_path / "site")["pins"]
    assert pins.status == status, pins
    assert ("'numpy<2'" in pins.do) == (status == "failed")
    assert (f"numpy {numpy} is installed" in pins.found) == (status == "failed")


def test_machine_code_is_checked_against_a_target(tmp_path: Path) -> None:
    need_tools()
    library = compiled(tmp_path, "-O3", "-mavx512f").read_bytes()
    files: dict[str, bytes | str] = {
        "tensorflow/__init__.py": "",
        "tensorflow/python/_kernels.so": library,
    }
    wheel = make_wheel(tmp_path, "tensorflow-cpu", "2.14.1+haswell", "py3-none-any", files=files)
    install(tmp_path / "site", wheel)
    context = Installation(find(tmp_path / "site"), Asked())
    # Its label says so, as a wheel's does.
    assert context.target == targets.find("haswell")
    found = verified(tmp_path / "site")
    assert found["instructions"].status == "failed"
    assert "avx512f" in found["instructions"].found
    assert verified(tmp_path / "site", Asked(target=targets.find("skylake")))[
        "instructions"
    ].status == "passed"  # fmt: skip


def test_the_interpreter_is_the_environments(tmp_path: Path) -> None:
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    site = next(place.glob("lib/python3*/site-packages"))
    install(site, tensorflow(tmp_path))
    context = Installation(find(place), Asked())
    told = subprocess.run(
        [context.runnable, "-c", "import tensorflow; print(tensorflow.__file__)"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert Path(told.stdout.strip()) == site / "tensorflow/__init__.py"


def test_without_an_interpreter_only_files_are_checked(tmp_path: Path) -> None:
    install(tmp_path / "site", tensorflow(tmp_path))
    context = Installation(find(tmp_path / "site"), Asked())
    (found, *_) = checked(context, steps.ALL, ["import"]).checks
    assert found.status == "skipped"
    assert "there is no interpreter" in found.found


def test_the_command_line_takes_an_environment(tmp_path: Path) -> None:
    install(tmp_path / "site", tensorflow(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "tfbuild", "verify", tmp_path / "site", "--static", "--json"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["sha256"] is None
    assert document["wheel"].endswith("tensorflow_cpu-2.14.1.dist-info")
    empty = subprocess.run(
        [sys.executable, "-m", "tfbuild", "verify", tmp_path], check=False, capture_output=True,
        text=True,
    )  # fmt: skip
    assert empty.returncode == 3
    assert "No TensorFlow is installed here" in empty.stderr
