"""How processes really die: by instructions, by limits, by the kernel, by a time limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import compiled, need_tools
from tests.unit.test_bench import PLAN, Lab
from tfbuild import host, resources
from tfbuild.bench import oom
from tfbuild.errors import BenchError, HostError

# The first that is beyond this CPU is taken; spelling as in /proc/cpuinfo.
BEYOND = {
    "avx512f": "vaddps %zmm1, %zmm2, %zmm3",
    "avx512_fp16": "vaddph %zmm1, %zmm2, %zmm3",
    "amx_tile": "tilezero %tmm0",
}
GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def library(folder: Path, instruction: str) -> Path:
    need_tools()
    source = f'void f(void) {{ __asm__ volatile("{instruction}"); }}'
    return compiled(folder, name="libtensorflow_cc.so.2", source=source)


def beyond() -> tuple[str, str]:
    flags = Path("/proc/cpuinfo").read_text().split()
    lacking = [extension for extension in BEYOND if extension not in flags]
    need(lacking, "this CPU has all of them")
    return lacking[0], BEYOND[lacking[0]]


def test_the_instruction_of_which_a_process_died_is_named(lab: Lab) -> None:
    extension, instruction = beyond()
    path = library(lab.folder / "lib", instruction)
    deadly = lab.environment("b", trouble=f"call {path}", at="mnist_cnn")
    with pytest.raises(HostError, match="This CPU cannot run b") as caught:
        lab.measure(lab.environment("a"), deadly)
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True
    ).stdout
    mnemonic = instruction.split()[0]
    address = next(line for line in listing.splitlines() if mnemonic in line).split(":")[0].strip()
    why = caught.value.why
    assert f"while training mnist_cnn.\nThe instruction is {mnemonic}" in why
    assert f"at 0x{address} in {path.name}, which needs {extension}." in why
    assert host.detect().microarchitecture in why
    assert f"tfbuild inspect {deadly.python} --host" in caught.value.do


def test_a_trap_is_no_matter_of_the_cpu(lab: Lab) -> None:
    path = library(lab.folder / "lib", "ud2")
    with pytest.raises(BenchError, match="stopped itself while training mnist_mlp") as caught:
        lab.measure(lab.environment("a", trouble=f"call {path}", at="mnist_mlp"))
    assert "No CPU would run it" in caught.value.why


def test_memory_that_a_limit_refuses(lab: Lab) -> None:
    with pytest.raises(BenchError, match="a ran out of memory while training mnist_mlp") as caught:
        lab.measure(lab.environment("a", trouble="limit", at="mnist_mlp"))
    assert caught.value.why == "MemoryError:"
    assert "ulimit -v" in caught.value.do


# What TensorFlow 2.8.4 said under `ulimit -v 1500000`.
TENSOR = (
    "2026-11-30 18:00:10.365306: W tensorflow/core/framework/op_kernel.cc:1745] OP_REQUIRES failed "
    "at cwise_ops_common.h:138 : RESOURCE_EXHAUSTED: OOM when allocating tensor with "
    "shape[1200001,50] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator "
    "cpu\n"
)


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (TENSOR, "OOM when allocating tensor with shape[1200001,50]"),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", "std::bad_alloc"),
    ],
    ids=["tensor", "new"],
)
def test_memory_that_libraries_ask_for_in_vain(lab: Lab, stderr: str, said: str) -> None:
    with pytest.raises(BenchError, match="ran out of memory") as caught:
        lab.measure(lab.environment("a", trouble="SIGABRT", at="mnist_mlp", stderr=stderr))
    assert said in caught.value.why


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of 200 MB, of version 1 or 2."""
    base = GROUPS / "memory" if (GROUPS / "memory").is_dir() else GROUPS
    folder = base / f"tfbuild-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        need(None, f"no control group can be made here: {error}")
    try:
        limit = folder / "memory.limit_in_bytes"
        (limit if limit.exists() else folder / "memory.max").write_text(str(200 * 2**20))
        yield folder
    finally:
        for _ in range(50):
            try:
                folder.rmdir()
            except OSError:
                time.sleep(0.1)
            else:
                break


def test_the_kernel_kills_for_lack_of_memory(lab: Lab, group: Path) -> None:
    """A real group with a real limit; tfbuild is in it, as in a container."""
    python = lab.environment("a", trouble="eat", at="mnist_mlp").python
    code = (
        "import os, sys; from pathlib import Path\n"
        "Path(sys.argv[1], 'cgroup.procs').write_text(str(os.getpid()))\n"
        "from tests.unit.test_bench import Lab\n"
        "from tests.unit.test_bench_failure import met\n"
        "print(met(Path(sys.argv[2])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, group, python.parent],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "was killed while training mnist_mlp (SIGKILL)." in done.stdout
    assert "memory ran out in its control group, whose limit is 0.2 GiB." in done.stdout


def met(home: Path) -> str:
    """Measure an environment that is there already, and return what came of it."""
    lab = Lab(home.parent)
    stranger = replace(lab.environment("other"), python=home / "python", spec="a")
    with pytest.raises(BenchError) as caught:
        lab.measure(stranger)
    return str(caught.value)


def test_a_kill_by_somebody_else_is_not_blamed_on_memory() -> None:
    none = oom.Kills(group=3, machine=7, limit_bytes=None)
    assert "not for lack of memory" in oom.verdict(none, none)
    assert "most probably" in oom.verdict(none, replace(none, machine=8))
    unknown = oom.Kills(group=None, machine=None, limit_bytes=None)
    assert oom.verdict(unknown, unknown).startswith("Most often")


def test_counts_are_the_kernels_own() -> None:
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    found = oom.kills().machine
    assert found is not None
    assert found >= int(counts["oom_kill"])


def test_a_process_that_hangs_is_ended_with_its_children(lab: Lab) -> None:
    hanging = lab.environment("b", trouble="hang with a child", at="mnist_cnn")
    with pytest.raises(BenchError, match="took too long"):
        lab.measure(hanging, plan=replace(PLAN, timeout=2))
    last = lab.log()[-1]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(living, (last["pid"], last["child"]))):
        time.sleep(0.05)
    assert not living(last["pid"])
    assert not living(last["child"])


def test_a_training_ends_with_the_session_that_was_killed(tmp_path: Path) -> None:
    """Whoever resumes shall not measure beside it: a crash leaves no time to stop anything."""
    told = tmp_path / "pid"
    child = (
        f"import sys; sys.path.insert(0, {str(resources.folder('benchmarks'))!r})\n"
        "import os, time, pathlib; from suite.orphan import end_with_parent\n"
        f"end_with_parent(); pathlib.Path({str(told)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    code = f"import sys, subprocess; subprocess.run([sys.executable, '-c', {child!r}])"
    parent = subprocess.Popen([sys.executable, "-c", code])
    while not told.exists() or not told.read_text():
        assert parent.poll() is None
        time.sleep(0.02)
    training = int(told.read_text())
    assert living(training)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and living(training):
        time.sleep(0.02)
    assert not living(training)


def living(pid: int) -> bool:
    """Whether a process is there and no zombie: an orphan waits for init, which may not come."""
    try:
        os.kill(pid, signal.SIG_DFL)
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
