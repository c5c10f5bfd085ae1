"""`tfbuild verify` as it is typed: what it finds, what it says, how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.libraries import compiled, need_tools
from tests.wheels import make_wheel

Run = Callable[..., "subprocess.CompletedProcess[str]"]
FILES = ("structure", "record", "platform", "libraries", "python", "pins")
RUN = ("import", "training", "numbers", "quantised")
TAG = "cp312-cp312-manylinux_2_27_x86_64"


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NO_COLOR": "1"}


def verified(tfbuild: Run, wheel: Path, *more: str, env: dict[str, str]) -> dict[str, Any]:
    """Return check -> what the JSON document has of it; the exit code must fit."""
    done = tfbuild("verify", wheel, "--json", *more, env=env)
    document = json.loads(done.stdout)
    checks = {check["name"]: check for check in document["checks"]}
    failed = any(check["status"] == "failed" for check in checks.values())
    assert done.returncode == (7 if failed else 0), done.stderr
    return checks


def test_a_whole_wheel(tfbuild: Run, tmp_path: Path, cache: dict[str, str]) -> None:
    done = tfbuild("verify", "--static", make_wheel(tmp_path), env=cache)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"(?m)^(\w+) +(passed|warning|skipped|failed) ", done.stdout)
    assert [name for name, _ in rows][: len(FILES)] == list(FILES)
    assert "failed" not in {status for _, status in rows}
    assert "Reading every file" in done.stderr
    assert "Reading" not in done.stdout


def test_a_file_that_is_not_what_record_says(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    good = make_wheel(tmp_path / "good")
    bad = tmp_path / good.name
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            new.writestr(member, b"import os\n" if member.endswith("__init__.py") else data)
    done = tfbuild("verify", bad, env=cache)
    assert done.returncode == 7
    assert re.search(r"(?m)^record +failed ", done.stdout)
    assert "tensorflow/__init__.py" in done.stdout
    for name in RUN:
        assert re.search(rf"(?m)^{name} +skipped  Not run, because record failed", done.stdout)
    assert "1 of " in done.stderr


def test_a_wheel_that_is_cut_off(tfbuild: Run, tmp_path: Path, cache: dict[str, str]) -> None:
    wheel = make_wheel(tmp_path)
    wheel.write_bytes(wheel.read_bytes()[:-200])
    checks = verified(tfbuild, wheel, env=cache)
    assert checks["structure"]["status"] == "failed"
    assert {checks[name]["status"] for name in (*FILES[1:], *RUN)} == {"skipped"}
    assert checks["structure"]["do"]


def test_code_for_a_cpu_that_is_not_the_targets(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    need_tools()
    library = compiled(tmp_path / "c", "-march=skylake-avx512", "-mprefer-vector-width=512")
    files: dict[str, bytes | str] = {
        "tensorflow/python/__init__.py": "",
        "tensorflow/libtensorflow_cc.so.2": library.read_bytes(),
    }
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0+skylake", TAG, files=files)
    only = ("--only", "instructions", "--only", "flags")
    fit = verified(tfbuild, wheel, *only, env=cache)
    assert {name: check["status"] for name, check in fit.items()} == {
        "instructions": "passed",
        "flags": "passed",
    }
    beyond = verified(tfbuild, wheel, *only, "--target", "haswell", env=cache)
    assert (beyond["instructions"]["status"], beyond["flags"]["status"]) == ("failed", "passed")
    assert any("avx512" in line for line in beyond["instructions"]["details"])


def test_flags_that_did_not_reach_the_compiler(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    need_tools()
    library = compiled(tmp_path / "c", "-march=x86-64")
    files: dict[str, bytes | str] = {
        "tensorflow/python/__init__.py": "",
        "tensorflow/libtensorflow_cc.so.2": library.read_bytes(),
    }
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0+haswell", TAG, files=files)
    found = verified(tfbuild, wheel, "--only", "instructions", "--only", "flags", env=cache)
    assert (found["instructions"]["status"], found["flags"]["status"]) == ("passed", "failed")
    assert "flags did not reach" in found["flags"]["why"]


def test_only_skip_and_names_that_do_not_exist(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    wheel = make_wheel(tmp_path)
    assert list(verified(tfbuild, wheel, "--only", "record", env=cache)) == ["record"]
    left = verified(tfbuild, wheel, "--static", "--skip", "pins", env=cache)
    assert "pins" not in left
    for option, name in (("--skip", "instruction"), ("--only", "trainig")):
        done = tfbuild("verify", wheel, option, name, env=cache)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Did you mean" in done.stderr
    done = tfbuild("verify", wheel, "--static", "--only", "training", env=cache)
    assert done.returncode == 2
    assert "structure" in done.stderr


def test_strict_takes_nothing_for_granted(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    """A package without TensorFlow: what its pins should be is unknown, so it is skipped."""
    wheel = make_wheel(tmp_path, "other")
    only = ("--only", "record", "--only", "pins")
    assert verified(tfbuild, wheel, *only, env=cache)["pins"]["status"] == "skipped"
    strict = tfbuild("verify", wheel, *only, "--strict", env=cache)
    assert strict.returncode == 7
    assert "pins" in strict.stderr.splitlines()[-1]
    assert tfbuild("verify", wheel, "--only", "record", "--strict", env=cache).returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nothing-1.0-py3-none-any.whl",), 7, "Cannot read"),
        (("--target", "skylak", "WHEEL"), 2, "skylake"),
        (("--against", "nonsense==", "WHEEL"), 2, "nonsense"),
        (("--nonsense", "WHEEL"), 2, "No such option"),
    ],
    ids=["no file", "target", "against", "option"],
)
def test_refusals(
    words: tuple[str, ...],
    code: int,
    says: str,
    tfbuild: Run,
    tmp_path: Path,
    cache: dict[str, str],
) -> None:
    wheel = str(make_wheel(tmp_path))
    done = tfbuild("verify", *(wheel if word == "WHEEL" else word for word in words), env=cache)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_it_at_once_and_leaves_nothing_half_written(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    """Interrupted while it reads: exit code 130, no result, nothing in the cache."""
    wheel = make_wheel(tmp_path, files={"tensorflow/big.bin": bytes(300 << 20)})
    command = [sys.executable, "-m", "tfbuild", "verify", str(wheel), "--json"]
    process = subprocess.Popen(
        command,
        env={**os.environ, **cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert "Reading" in first
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert not [path for path in Path(cache["XDG_CACHE_HOME"]).rglob("*") if path.is_file()]
