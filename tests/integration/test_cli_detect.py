"""`tfbuild detect` and `tfbuild targets` as a user runs them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tfbuild import target

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ENVIRONMENT = {"VIRTUAL_ENV": "", "CONDA_PREFIX": ""}


def row(output: str, title: str) -> str:
    (line,) = [line for line in output.splitlines() if line.startswith(title)]
    return line.removeprefix(title).strip()


def own_flags() -> list[str]:
    line = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0]
    return line.partition(":")[2].split()


def test_this_machine(tfbuild: Run) -> None:
    done = tfbuild("detect", env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "Read from") == "/proc/cpuinfo"
    flags = own_flags()
    for flag, shown in (("avx2", "AVX2"), ("fma", "FMA"), ("avx", "AVX"), ("f16c", "F16C")):
        assert (shown in row(done.stdout, "AVX ").split()) == (flag in flags)
    assert (row(done.stdout, "AVX-512") == "-") == ("avx512f" not in flags)
    name = row(done.stdout, "Compile for it").removeprefix("tfbuild wheel --target ")
    assert target.find(name).requires - {"sse3", "lzcnt"} <= {*flags}


def test_another_machine(tfbuild: Run) -> None:
    done = tfbuild("detect", "--cpuinfo", DATA / "cpuinfo" / "linux-unknown-sapphirerapids")
    assert done.returncode == 0
    assert done.stderr == ""
    assert row(done.stdout, "AMX") == "TILE INT8 BF16"
    assert row(done.stdout, "Compile for it") == "tfbuild wheel --target sapphirerapids"
    assert "TensorFlow here" not in done.stdout


def test_an_arm_machine(tfbuild: Run) -> None:
    done = tfbuild("detect", "--cpuinfo", DATA / "cpuinfo" / "linux-amazon-neoverse_v1")
    assert {"NEON", "DotProd", "BF16"} <= set(row(done.stdout, "NEON").split()) | {"NEON"}
    assert row(done.stdout, "SVE").split()[0] == "SVE"
    assert "AVX" not in done.stdout
    assert row(done.stdout, "Compiler flags") == "-mcpu=neoverse-v1"


def test_a_machine_without_target(tfbuild: Run) -> None:
    done = tfbuild("detect", "--cpuinfo", DATA / "cpuinfo" / "linux-unknown-power10")
    assert done.returncode == 0
    assert "no target runs" in row(done.stdout, "Target")


def test_warnings_go_to_stderr(tfbuild: Run) -> None:
    odd = DATA / "odd_cpus" / "xeon_e5_2620v2_guest_no_avx.txt"
    done = tfbuild("detect", "--cpuinfo", odd)
    assert "hypervisor" in done.stderr
    assert "hypervisor" not in done.stdout
    assert row(done.stdout, "Target").startswith("nehalem")


def test_json(tfbuild: Run) -> None:
    path = DATA / "cpuinfo" / "linux-rocky8.5-zen4"
    done = tfbuild("detect", "--json", "--cpuinfo", path)
    found = json.loads(done.stdout)
    assert found["schema"] == "tfbuild.detection/1"
    assert found["host"]["microarchitecture"] == "zen4"
    assert found["host"]["source"] == str(path)
    assert "avx512_bf16" in found["host"]["features"]
    assert found["recommended"]["name"] == "zen4"
    assert found["recommended"]["flags"] == ["-march=znver4", "-mprefer-vector-width=512"]
    assert found["command"] == "tfbuild wheel --target zen4"
    assert found["tensorflow"] is None
    assert found["unused"] is None


@pytest.mark.parametrize("content", [None, b"", b"\0\1\2" * 999, b"processor : 0\nflags : "])
def test_unreadable_cpuinfo(tfbuild: Run, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "cpuinfo"
    if content is not None:
        path.write_bytes(content)
    for options in ((), ("--json",)):
        done = tfbuild("detect", *options, "--cpuinfo", path)
        assert done.returncode == 4
        assert done.stdout == ""
        assert str(path) in done.stderr
        assert "Traceback" not in done.stderr


def test_folder_for_cpuinfo(tfbuild: Run, tmp_path: Path) -> None:
    assert tfbuild("detect", "--cpuinfo", tmp_path).returncode == 4


def test_wrong_option_is_a_usage_error(tfbuild: Run) -> None:
    assert tfbuild("detect", "--cpu-info", "x").returncode == 2


def test_cpuinfo_from_the_environment_and_from_a_pipe(tfbuild: Run) -> None:
    path = DATA / "cpuinfo" / "linux-rhel7-zen"
    done = tfbuild("detect", env={"TFBUILD_CPUINFO": str(path)})
    assert row(done.stdout, "Microarchitecture") == "zen"
    piped = subprocess.run(
        [sys.executable, "-m", "tfbuild", "detect", "--cpuinfo", "/dev/stdin"],
        input=path.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert row(piped.stdout, "Microarchitecture") == "zen"


def make_environment(folder: Path, name: str, version: str, **files: str) -> dict[str, str]:
    site = folder / "lib" / "python3.12" / "site-packages"
    (site / "tensorflow").mkdir(parents=True)
    (site / "tensorflow" / "__init__.py").write_text("raise SystemExit('imported!')\n")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text(files.get("installer", "pip"))
    (info / "WHEEL").write_text("Tag: cp312-cp312-manylinux_2_17_x86_64\n")
    if "record" in files:
        (info / "tfbuild.json").write_text(files["record"])
    return {"VIRTUAL_ENV": str(folder), "PYTHONPATH": str(site)}


def test_what_the_installed_tensorflow_leaves_unused(tfbuild: Run, tmp_path: Path) -> None:
    env = make_environment(tmp_path / "env", "tensorflow_cpu", "2.8.4")
    done = tfbuild("detect", env=env)
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "TensorFlow here") == "tensorflow-cpu 2.8.4"
    unused = row(done.stdout, "Leaves unused").split()
    flags = own_flags()
    assert ("AVX2" in unused) == ("avx2" in flags)
    assert "AVX" not in unused
    assert "oneDNN" in done.stdout
    found = json.loads(tfbuild("detect", "--json", env=env).stdout)
    assert found["tensorflow"]["distribution"] == "tensorflow-cpu"
    assert found["unused"] == unused


def test_a_tensorflow_that_nobody_knows(tfbuild: Run, tmp_path: Path) -> None:
    env = make_environment(tmp_path / "env", "tensorflow", "2.19.0", installer="conda")
    done = tfbuild("detect", env=env)
    assert row(done.stdout, "Leaves unused").startswith("unknown")
    assert "tfbuild inspect installed" in done.stdout


def test_a_wheel_that_leaves_nothing(tfbuild: Run, tmp_path: Path) -> None:
    flags = own_flags()
    record = json.dumps({"requires": [*flags, "sse3", "lzcnt"], "target": "mine"})
    env = make_environment(tmp_path / "env", "tensorflow", "2.21.0+mine", record=record)
    done = tfbuild("detect", env=env)
    assert row(done.stdout, "Leaves unused") == "nothing"
    assert "oneDNN" not in done.stdout


def test_a_wheel_that_cannot_run_here(tfbuild: Run, tmp_path: Path) -> None:
    record = json.dumps({"requires": ["sse2", "no_such_feature"], "target": "future"})
    env = make_environment(tmp_path / "env", "tensorflow", "2.21.0+future", record=record)
    done = tfbuild("detect", env=env)
    assert done.returncode == 0
    assert "no_such_feature" in row(done.stdout, "Cannot run here")
    assert "Leaves unused" not in done.stdout


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.argv = ['tfbuild', 'detect']\n"
        "from tfbuild.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    env = make_environment(tmp_path / "env", "tensorflow_cpu", "2.8.4")
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, **env},
    )
    assert "Leaves unused" in done.stdout
    loaded = set(done.stderr.split())
    assert {"typer", "tfbuild"} <= loaded
    for heavy in ("archspec", "cpuinfo", "msgspec", "numpy", "packaging", "platformdirs"):
        assert heavy not in loaded
    for heavy in ("docker", "jinja2", "pydantic", "rich", "tensorflow"):
        assert heavy not in loaded


def test_targets(tfbuild: Run) -> None:
    done = tfbuild("targets", env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    for one in target.all_targets():
        assert any(line.split()[:1] == [one.name] for line in done.stdout.splitlines())
        assert one.flags[0] in done.stdout
    native = row(tfbuild("detect").stdout, "Compile for it").split()[-1]
    (starred,) = [line for line in done.stdout.splitlines() if line.split()[1:2] == ["*"]]
    assert starred.split()[0] == native


def test_targets_json(tfbuild: Run) -> None:
    found = json.loads(tfbuild("targets", "--json").stdout)
    assert found["schema"] == "tfbuild.targets/1"
    rows: dict[str, dict[str, Any]] = {one["name"]: one for one in found["targets"]}
    assert rows.keys() == {one.name for one in target.all_targets()}
    host = found["host"]
    for one in rows.values():
        same = one["architecture"] == host["architecture"]
        runs = same and set(one["requires"]) <= set(host["features"])
        assert (one["builds"], one["runs"]) == (same, runs)
        assert (one["why_not_build"] is None, one["why_not_run"] is None) == (same, runs)
    assert rows["skylake"]["flags"] == ["-march=skylake-avx512", "-mprefer-vector-width=256"]
    assert rows["zen2"]["adds"] == []
    assert [one["name"] for one in rows.values() if one["recommended"]] == [
        json.loads(tfbuild("detect", "--json").stdout)["recommended"]["name"]
    ]


@pytest.mark.parametrize("command", ["detect", "targets"])
def test_help_has_an_example(tfbuild: Run, command: str) -> None:
    done = tfbuild(command, "--help")
    assert done.returncode == 0
    assert f"Example: tfbuild {command}" in done.stdout


def test_unreadable_host_does_not_hide_the_targets(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tfbuild.host import fallback, live\n"
        "live.CPUINFO = Path('absent')\n"
        "fallback.COMMAND = (sys.executable, '-c', 'raise SystemExit(1)')\n"
        "sys.argv = ['tfbuild', 'targets', *sys.argv[1:]]\n"
        "from tfbuild.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["host"] is None
    assert {one["runs"] for one in found["targets"]} == {None}
    assert "Cannot find out" in done.stderr
