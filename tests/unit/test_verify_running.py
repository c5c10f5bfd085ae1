"""What the checks that run a wheel make of what its process tells, and of how it ends."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import DATA, need
from tests.unit.test_spec_choice import HOST
from tests.wheels import make_wheel
from tfbuild import environment
from tfbuild.bench.suite import ARCHITECTURES
from tfbuild.code.evidence import Evidence, Need, Tally, Witness
from tfbuild.environment import Installer
from tfbuild.progress import Silent
from tfbuild.verify import numbers, quantised, training
from tfbuild.verify.difference import differences
from tfbuild.verify.model import Check
from tfbuild.verify.running import Running, skipped

OFFLINE = Installer(offline=True)
GUARD = (
    "F core/platform/cpu_feature_guard.cc:35] The TensorFlow library was compiled to use AVX512F "
    "instructions, but these aren't available on your machine.\n"
)
Behave = Callable[..., None]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels and environments, so that few are made."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(autouse=True)
def _own_cache(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(shared / "uv-cache"))


@pytest.fixture(scope="module")
def wheel(shared: Path) -> Path:
    return make_wheel(shared, "tensorflow", "2.21.0+skylake")


@pytest.fixture(scope="module")
def reference(shared: Path) -> Path:
    return make_wheel(shared, "tensorflow-cpu", "2.21.0")


@pytest.fixture
def running(shared: Path) -> Running:
    return Running(
        here=environment.here(HOST, shared, OFFLINE),
        installer=OFFLINE,
        progress=Silent(),
        folder=shared / "environments",
        script=DATA / "fake_checker.py",
        timeout=60,
    )


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch) -> Behave:
    def set_(part: str = "", **behaviour: Any) -> None:
        known = json.loads(os.environ.get("TFBUILD_TEST_BEHAVIOUR", "{}"))
        monkeypatch.setenv("TFBUILD_TEST_BEHAVIOUR", json.dumps({**known, part: behaviour}))

    return set_


# --- import and training ------------------------------------------------------------------------


def test_a_good_wheel_imports_and_trains(wheel: Path, running: Running) -> None:
    imported, trained = training.check(wheel, running)
    assert (imported.name, imported.status) == ("import", "passed")
    assert imported.found == "TensorFlow 2.21.0 imports on Python 3.11.1."
    assert {"compiler: Clang 18.1.8", "oneDNN: off", "is_cuda_build: False"} <= set(
        imported.details
    )
    assert (trained.name, trained.status) == ("training", "passed")
    assert "2.5000" in trained.found
    assert "all 8 variables" in trained.found


def test_another_version_than_the_name_says(wheel: Path, running: Running, behave: Behave) -> None:
    behave(software={"tensorflow": "2.20.0"})
    imported, trained = training.check(wheel, running)
    assert imported.status == "failed"
    assert imported.found == "tf.__version__ is 2.20.0, and the wheel is named 2.21.0."
    assert trained.status == "passed"


def test_a_post_release_is_the_same_tensorflow(
    tmp_path: Path, running: Running, behave: Behave
) -> None:
    behave(software={"tensorflow": "2.15.0"})
    wheel = make_wheel(tmp_path, "tensorflow", "2.15.0.post1")
    assert training.check(wheel, running)[0].status == "passed"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"loss": float("nan")}, "The loss is nan."),
        ({"loss": float("inf")}, "The loss is inf."),
        ({"unchanged": ["conv2d/kernel"]}, "conv2d/kernel is unchanged after the step."),
        ({"not_finite": ["dense/bias"]}, "dense/bias is not finite after the step."),
    ],
)
def test_a_step_that_does_not_train(
    wheel: Path, running: Running, behave: Behave, result: dict[str, Any], said: str
) -> None:
    behave(results={"mnist_cnn": result})
    imported, trained = training.check(wheel, running)
    assert imported.status == "passed"
    assert (trained.status, trained.details) == ("failed", (said,))


@pytest.mark.parametrize(
    ("trouble", "found", "why"),
    [
        ("SIGSEGV", "Importing TensorFlow died of SIGSEGV.", ""),
        ("SIGKILL", "Importing TensorFlow died of SIGKILL.", "memory"),
        ("error", "Importing TensorFlow failed.", "no module named 'tensorflow'"),
        ("leave", "Importing TensorFlow ended early, with exit code 0.", ""),
    ],
)
def test_an_import_that_ends_badly(
    wheel: Path, running: Running, behave: Behave, trouble: str, found: str, why: str
) -> None:
    behave(at="", trouble=trouble, stderr="the last words\n")
    imported, trained = training.check(wheel, running)
    assert (imported.name, imported.status, imported.found) == ("import", "failed", found)
    assert why in imported.why
    assert imported.details == ("the last words",)
    assert (trained.name, trained.status) == ("training", "skipped")


def test_a_training_that_dies_leaves_the_import_good(
    wheel: Path, running: Running, behave: Behave
) -> None:
    behave(at="mnist_cnn", trouble="SIGABRT")
    imported, trained = training.check(wheel, running)
    assert imported.status == "passed"
    assert (trained.name, trained.status) == ("training", "failed")
    assert trained.found == "Training mnist_cnn died of SIGABRT."


def test_a_hang_ends_at_the_time_limit(wheel: Path, running: Running, behave: Behave) -> None:
    behave(at="mnist_cnn", trouble="hang")
    imported, trained = training.check(wheel, replace(running, timeout=5))
    assert imported.status == "passed"
    assert trained.found == "Training mnist_cnn did not end within 5 s."


def test_tensorflows_own_check_of_the_cpu(wheel: Path, running: Running, behave: Behave) -> None:
    behave(at="", trouble="SIGABRT", stderr=GUARD)
    imported, _ = training.check(wheel, running)
    assert imported.found == "TensorFlow refuses to start on this CPU."
    assert "compiled to use AVX512F" in imported.why


@pytest.mark.parametrize("said", ["no JSON", "[1]", '{"event": "result"}'])
def test_what_is_not_understood(wheel: Path, running: Running, behave: Behave, said: str) -> None:
    behave(at="mnist_cnn", trouble=said)
    _, trained = training.check(wheel, running)
    assert trained.status == "failed"
    assert said in trained.why


# --- an illegal instruction ---------------------------------------------------------------------


@pytest.fixture
def illegal(tmp_path: Path) -> Callable[[str], Path]:
    """Return a script that takes the request and runs an instruction in a thread of its own."""
    need(shutil.which("gcc"), "no gcc")

    def make(instruction: str) -> Path:
        source, library = tmp_path / "illegal.c", tmp_path / "libillegal.so"
        source.write_text(f'void run(void) {{ __asm__ volatile("{instruction}"); }}\n')
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        script = tmp_path / "illegal.py"
        script.write_text(
            "import ctypes, subprocess, sys, threading\n"
            "sys.stdin.read()\n"
            "subprocess.run(['true'])\n"
            f"thread = threading.Thread(target=ctypes.CDLL({str(library)!r}).run)\n"
            "thread.start()\nthread.join()\n"
        )
        return script

    return make


def address_of(library: Path, mnemonic: str) -> int:
    done = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if f"\t{mnemonic}" in line]
    return int(line.partition(":")[0], 16)


@pytest.mark.parametrize(
    ("code", "instruction", "extension"),
    [
        ("vaddps %zmm1, %zmm2, %zmm0", "vaddps zmm0,zmm2,zmm1", "avx512f"),
        ("vphaddbw %xmm1, %xmm0", "vphaddbw xmm0,xmm1", "xop"),
    ],
)
def test_an_illegal_instruction_is_found(
    wheel: Path,
    running: Running,
    illegal: Callable[[str], Path],
    tmp_path: Path,
    code: str,
    instruction: str,
    extension: str,
) -> None:
    """No CPU has both: AMD's XOP went before AVX-512 came."""
    need(shutil.which("objdump"), "no objdump")
    imported, _ = training.check(wheel, replace(running, script=illegal(code)))
    if extension in Path("/proc/cpuinfo").read_text().split():
        assert imported.found == "Importing TensorFlow ended early, with exit code 0."
        return
    address = address_of(tmp_path / "libillegal.so", code.split(maxsplit=1)[0])
    assert imported.found == "Importing TensorFlow died of an illegal instruction (SIGILL)."
    assert imported.details == (f"{instruction} at {address:#x} in libillegal.so",)
    lacking = extension if extension not in HOST.features else "what this CPU lacks"
    assert imported.why == f"The instruction {instruction} needs {lacking}."


def test_an_instruction_that_no_cpu_has(
    wheel: Path, running: Running, illegal: Callable[[str], Path], tmp_path: Path
) -> None:
    need(shutil.which("objdump"), "no objdump")
    imported, _ = training.check(wheel, replace(running, script=illegal("ud2")))
    address = address_of(tmp_path / "libillegal.so", "ud2")
    assert imported.details == (f"ud2 at {address:#x} in libillegal.so",)


@pytest.mark.parametrize("file", ["", "/no/such/file", "PIPE"])
def test_what_a_process_says_in_the_watchers_name(
    file: str, wheel: Path, running: Running, illegal: Callable[[str], Path], tmp_path: Path
) -> None:
    """A hostile process writes the watcher's answer, ends it, and names a pipe as a library."""
    os.mkfifo(tmp_path / "pipe")
    answer = {
        "ended": "illegal",
        "file": file.replace("PIPE", str(tmp_path / "pipe")),
        "bytes": "0f0b" if file else "no bytes",
    }
    script = illegal("ud2")
    script.write_text(
        "import os\n"
        "parent = os.getppid()\n"
        "if b'trace.py' in open(f'/proc/{parent}/cmdline', 'rb').read():\n"
        f"    open(f'/proc/{{parent}}/fd/1', 'w').write({json.dumps(answer)!r})\n"
        "    os.kill(parent, 9)\n" + script.read_text()
    )
    imported, _ = training.check(wheel, replace(running, script=script))
    assert imported.found == "Importing TensorFlow died of an illegal instruction (SIGILL)."
    assert imported.details == ((f"ud2 at 0x0 in {Path(answer['file']).name}",) if file else ())


def test_an_illegal_instruction_with_what_the_code_needs(
    wheel: Path, running: Running, behave: Behave
) -> None:
    """The signal comes from outside, so no instruction can be found; the evidence is there."""
    behave(at="mnist_cnn", trouble="SIGILL")
    _, trained = training.check(wheel, replace(running, evidence=evidence("avx512f")))
    assert trained.found == "Training mnist_cnn died of an illegal instruction (SIGILL)."
    assert trained.details[-1] == (
        "avx512f: 7 functions, first Eigen::gemm (vaddps zmm0,zmm1,zmm2) in libtensorflow.so"
    )


def evidence(*extensions: str) -> Evidence:
    from tfbuild.code.evidence import Count

    nothing = Count.exactly(0)
    tally = Tally(
        functions=0,
        bytes=0,
        decoded=0,
        instructions=nothing,
        extensions={},
        widths={},
        encodings={},
        fused=nothing,
    )
    witness = Witness(
        function="Eigen::gemm",
        symbol="_ZN5Eigen4gemmEv",
        address=4096,
        library="libtensorflow.so",
        component="eigen",
        instruction="vaddps zmm0,zmm1,zmm2",
    )
    return Evidence(
        machine="x86_64",
        mode="full",
        seed=None,
        symbols="full",
        total=tally,
        parts=(),
        needs=tuple(Need(extension=name, functions=7, first=(witness,)) for name in extensions),
        generators=(),
        undecodable=0,
        data=0,
    )


# --- what cannot be run -------------------------------------------------------------------------


def both(wheel: Path, running: Running) -> list[Check]:
    return [*training.check(wheel, running), quantised.check(wheel, running)]


def test_a_python_that_is_not_here_skips(tmp_path: Path, running: Running) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0", tag="cp310-cp310-linux_x86_64")
    nowhere = replace(running, here=replace(running.here, pythons=(), fetch_pythons=False))
    for check in [*both(wheel, nowhere), numbers.check(wheel, nowhere)]:
        assert check.status == "skipped"
        assert check.found == "No Python here can install tensorflow 2.21.0."


def test_an_index_that_does_not_answer_skips(
    tmp_path: Path, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0", requires=["no-such-thing-tfbuild"])
    dead = replace(running, installer=Installer(index="http://127.0.0.1:9/simple"))
    for check in both(wheel, dead):
        assert check.status == "skipped"
        assert "127.0.0.1:9" in "\n".join(check.details)


def test_requirements_that_cannot_be_had_fail(tmp_path: Path, running: Running) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0", requires=["no-such-thing-tfbuild==1"])
    for check in both(wheel, running):
        assert check.status == "failed"
        assert "no-such-thing-tfbuild" in check.why


def test_a_wheel_without_tensorflow_skips(tmp_path: Path, running: Running) -> None:
    wheel = make_wheel(tmp_path, "numpy", "2.1.0")
    for check in [*both(wheel, running), numbers.check(wheel, running)]:
        assert check.status == "skipped"
        assert "holds no TensorFlow" in check.found


def test_a_file_that_is_no_wheel_fails(tmp_path: Path, running: Running) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0")
    wheel.write_bytes(b"PK but not really")
    for check in [*both(wheel, running), numbers.check(wheel, running)]:
        assert check.status == "failed"
        assert "cannot be opened" in check.found


def test_all_are_skipped_for_one_reason() -> None:
    checks = skipped("This CPU lacks AVX-512.")
    assert [check.name for check in checks] == ["import", "training", "numbers", "quantised"]
    assert {(check.status, check.found) for check in checks} == {
        ("skipped", "This CPU lacks AVX-512.")
    }


def test_all_checks_share_one_environment(wheel: Path, running: Running, tmp_path: Path) -> None:
    both(wheel, replace(running, folder=tmp_path / "environments"))
    made = [path for path in (tmp_path / "environments").iterdir() if path.is_dir()]
    assert len(made) == 1


# --- quantised ops ------------------------------------------------------------------------------


def test_exact_results_pass(wheel: Path, running: Running) -> None:
    check = quantised.check(wheel, running)
    assert (check.name, check.status) == ("quantised", "passed")
    assert check.found == "All 200 results of 2 quantised ops and casts are exact."


@pytest.mark.parametrize("shuffled", [True, False])
def test_wrong_results_fail(wheel: Path, running: Running, behave: Behave, shuffled: bool) -> None:
    wrong = {"wrong": 64, "first": "value 0 of 64 is 4, not 0", "shuffled": shuffled}
    behave(results={"quantize": wrong})
    check = quantised.check(wheel, running)
    assert check.status == "failed"
    assert check.found == "1 of 2 quantised ops and casts compute wrong numbers."
    assert check.details[0].startswith("quantize: 64 of 100 wrong")
    assert check.details[0].endswith("; value 0 of 64 is 4, not 0")
    assert ("49944" in check.why) == shuffled


def test_no_results_fail(wheel: Path, running: Running, behave: Behave) -> None:
    behave(results={"quantize": {"values": 0}, "cast": {"values": 0}})
    assert quantised.check(wheel, running).status == "failed"


def test_a_death_names_the_op(wheel: Path, running: Running, behave: Behave) -> None:
    behave(at="cast", trouble="SIGFPE")
    assert quantised.check(wheel, running).found == "Computing cast died of SIGFPE."


# --- numbers ------------------------------------------------------------------------------------


def save(path: Path, found: dict[str, Any]) -> None:
    np.savez(path, **found)


def arrays(folder: Path, **changes: Any) -> Path:
    """Write what a step of each architecture computes, with changed tensors of mnist_cnn."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ARCHITECTURES:
        found: dict[str, Any] = {
            "loss": np.array(2.5, dtype=np.float32),
            "weights/0/dense/kernel": rng.normal(size=(40, 30)).astype(np.float32),
            "weights/1/dense/bias": np.zeros(30, dtype=np.float32),
            "gradients/0/dense/kernel": rng.normal(size=(40, 30)).astype(np.float32),
        }
        found |= {
            key: rng.normal(size=(8, 10)).astype(np.float32)
            for key in ("predictions", "updates/0/dense/kernel", "answers")
        }
        if name == "mnist_cnn":
            for start, change in changes.items():
                (key,) = [known for known in found if known.startswith(start.replace("__", "/"))]
                found[key] = change(found.pop(key).copy())
        save(folder / f"{name}.npz", {key: x for key, x in found.items() if x.size})
    return folder


def compare(
    tmp_path: Path, wheel: Path, reference: Path, running: Running, behave: Behave, **changes: Any
) -> Check:
    behave("tensorflow-2.21", arrays=str(arrays(tmp_path / "ours", **changes)))
    behave("tensorflow-cpu-2.21", arrays=str(arrays(tmp_path / "its")))
    return numbers.check(wheel, running, str(reference))


def flipped(bit: int) -> Callable[[Any], Any]:
    """Return what turns one bit of the seventh element."""

    def flip(array: Any) -> Any:
        array.view(np.uint32).reshape(-1)[7] ^= np.uint32(1 << bit)
        return array

    return flip


def test_equal_numbers_pass(
    tmp_path: Path, wheel: Path, reference: Path, running: Running, behave: Behave
) -> None:
    check = compare(tmp_path, wheel, reference, running, behave)
    assert (check.name, check.status) == ("numbers", "passed")
    assert "tensorflow-cpu 2.21.0" in check.found
    assert len(check.details) == 6


ROUNDED = {
    "loss": lambda x: x * np.float32(1 + 1e-6),
    "predictions": lambda x: x * np.float32(1 + 1e-6),
    "gradients": lambda x: x * np.float32(1 + 1e-4),
    "answers": lambda x: x + np.float32(1e-5),
}


def test_rounding_passes(
    tmp_path: Path, wheel: Path, reference: Path, running: Running, behave: Behave
) -> None:
    assert compare(tmp_path, wheel, reference, running, behave, **ROUNDED).status == "passed"


@pytest.mark.parametrize(
    ("tensor", "change", "said"),
    [
        pytest.param("loss", lambda x: x * np.float32(1.001), "loss", id="loss"),
        pytest.param("weights__0", flipped(23), "weights of dense/kernel", id="exponent"),
        pytest.param("weights__0", flipped(12), "weights of dense/kernel", id="mantissa"),
        pytest.param("weights__1", flipped(30), "weights of dense/bias", id="zero"),
        pytest.param("gradients", flipped(31), "gradients of dense/kernel", id="sign"),
        pytest.param("gradients", lambda x: x * 1.02, "gradients of dense/kernel", id="scaled"),
        pytest.param("gradients", lambda x: x.T, "gradients of dense/kernel", id="shape"),
        pytest.param("updates", lambda x: x[::-1], "updates of dense/kernel", id="order"),
        pytest.param("predictions", lambda x: x * np.nan, "predictions", id="nan"),
        pytest.param("answers", lambda x: x[:0], "answers", id="absent"),
    ],
)
def test_other_numbers_fail(
    tmp_path: Path,
    wheel: Path,
    reference: Path,
    running: Running,
    behave: Behave,
    tensor: str,
    change: Callable[[Any], Any],
    said: str,
) -> None:
    check = compare(tmp_path, wheel, reference, running, behave, **{tensor: change})
    assert check.status == "failed"
    assert check.found.endswith(": mnist_cnn.")
    assert len(check.details) == 1
    assert check.details[0].startswith(f"mnist_cnn, {said}: off by ")
    assert ("first weights differ" in check.why) == said.startswith("weights")


def test_what_differs_first_comes_first(
    tmp_path: Path, wheel: Path, reference: Path, running: Running, behave: Behave
) -> None:
    changes = {"answers": np.negative, "gradients": np.negative, "predictions": np.negative}
    check = compare(tmp_path, wheel, reference, running, behave, **changes)
    kinds = [line.split(", ")[1].split(":")[0].split()[0] for line in check.details]
    assert kinds == ["predictions", "gradients", "answers"]
    assert check.why == (
        "The first weights are the same, the predictions differ more than rounding explains."
    )


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"\x80\x04K\x01."])
def test_a_damaged_file_of_numbers_is_no_fault_of_the_wheel(tmp_path: Path, content: bytes) -> None:
    for name in ("ours", "its"):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(OSError, match=r"damaged|numbers"):
        differences("mnist_mlp", tmp_path / "ours", tmp_path / "its")


def test_differences_are_as_numpy_has_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    its = rng.normal(size=1000).astype(np.float32)
    ours = its + rng.normal(size=1000).astype(np.float32) * np.float32(1e-3)
    for name, array in (("ours", ours), ("its", its)):
        save(tmp_path / f"{name}.npz", {"gradients/3/lstm/kernel": array})
    (found,) = differences("x", tmp_path / "ours.npz", tmp_path / "its.npz")
    assert (found.kind, found.tensor) == ("gradients", "lstm/kernel")
    away = ours.astype(np.float64) - its.astype(np.float64)
    square = np.mean(its.astype(np.float64) ** 2)
    assert found.norm == pytest.approx(np.sqrt(np.mean(away**2) / square), rel=1e-6)
    assert found.peak == pytest.approx(np.abs(away).max() / np.sqrt(square), rel=1e-6)


@pytest.mark.parametrize(("what", "version"), [("tensorflow", "2.20.0"), ("keras", "2.21.0")])
def test_another_version_is_not_compared(
    wheel: Path, reference: Path, running: Running, behave: Behave, what: str, version: str
) -> None:
    behave("tensorflow-cpu-2.21", software={what: version})
    check = numbers.check(wheel, running, str(reference))
    assert check.status == "skipped"
    assert what in check.found


def test_a_reference_that_dies_is_not_the_wheels_fault(
    wheel: Path, reference: Path, running: Running, behave: Behave
) -> None:
    behave("tensorflow-cpu-2.21", at="mnist_cnn", trouble="SIGSEGV")
    check = numbers.check(wheel, running, str(reference))
    assert check.status == "skipped"
    assert "tensorflow-cpu 2.21.0" in check.found
    assert "Training mnist_cnn died of SIGSEGV." in check.found


def test_a_reference_that_cannot_be_had_is_not_the_wheels_fault(
    tmp_path: Path, wheel: Path, running: Running
) -> None:
    reference = make_wheel(
        tmp_path, "tensorflow-cpu", "2.21.0", requires=["no-such-thing-tfbuild==1"]
    )
    check = numbers.check(wheel, running, str(reference))
    assert check.status == "skipped"
    assert "no-such-thing-tfbuild" in "\n".join(check.details)


def test_a_wheel_that_dies_in_a_step_fails(
    wheel: Path, reference: Path, running: Running, behave: Behave
) -> None:
    behave("tensorflow-2.21", at="imdb_fasttext", trouble="SIGSEGV")
    check = numbers.check(wheel, running, str(reference))
    assert check.status == "failed"
    assert check.found == "Training imdb_fasttext died of SIGSEGV."
