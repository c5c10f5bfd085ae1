"""What is told of failures: the output of a real Bazel 4.2.3 in the bundled workspace."""

from pathlib import Path

import pytest

from tests.conftest import DATA
from tfbuild.engine.base import Exit, Facts
from tfbuild.engine.blame import failure
from tfbuild.engine.excerpt import Excerpt
from tfbuild.engine.watch import Watch
from tfbuild.errors import BuildError, EngineError
from tfbuild.progress import Silent

FACTS = Facts(name="docker", version="20.10", architecture="x86_64", cpus=8, memory=8 << 30)
KERNELS = "ERROR: /tfbuild/source/tensorflow/core/kernels/BUILD:4:12: Compiling tensorflow/core"
NONSENSE = "error: 'nonsense' was not declared in this scope"
ACTIONS = {
    "compile_error": [
        f"{KERNELS}/kernels/dot.cc failed: (Exit 1): gcc failed",
        f"tensorflow/core/kernels/dot.cc:13:18: {NONSENSE}",
    ],
    "missing_header": [
        f"{KERNELS}/kernels/dot.cc failed: (Exit 1): gcc failed",
        (
            "tensorflow/core/kernels/dot.cc:1:10: fatal error: no/such/header.h: "
            "No such file or directory"
        ),
    ],
    # The program of a genrule marks nothing as an error: what it says is told.
    "genrule": [
        (
            "ERROR: /tfbuild/source/tensorflow/core/tools/BUILD:9:8: Executing genrule "
            "//tensorflow/core/tools:coefficients failed: (Exit 3): bash failed"
        ),
        "cannot find the table",
    ],
    "link": [
        (
            "ERROR: /tfbuild/source/tensorflow/core/tools/BUILD:4:10: Linking "
            "tensorflow/core/tools/gen_coefficients [for host] failed: (Exit 1): gcc failed"
        ),
        (
            "bazel-out/host/bin/tensorflow/core/tools/_objs/gen_coefficients/gen_coefficients.o:"
            "gen_coefficients.cc:function main: error: undefined reference to 'there()'"
        ),
        "collect2: error: ld returned 1 exit status",
    ],
    # With --keep_going, which goes on after an error.
    "two_errors": [
        f"{KERNELS}/kernels/sum.cc failed: (Exit 1): gcc failed",
        f"tensorflow/core/kernels/sum.cc:13:18: {NONSENSE}",
        f"{KERNELS}/kernels/relu.cc failed: (Exit 1): gcc failed",
        f"tensorflow/core/kernels/relu.cc:11:18: {NONSENSE}",
        f"{KERNELS}/kernels/dot.cc failed: (Exit 1): gcc failed",
        f"tensorflow/core/kernels/dot.cc:13:18: {NONSENSE}",
    ],
    "missing_target": [
        (
            "ERROR: /tfbuild/source/tensorflow/python/BUILD:5:10: no such package "
            "'tensorflow/core/colonels': BUILD file not found in any of the following directories. "
            "Add a BUILD file to a directory to mark it as a package."
        ),
    ],
    "workspace": [
        "ERROR: /tfbuild/source/WORKSPACE:16:1: syntax error at 'newline': expected expression",
    ],
    "packaging": ["ModuleNotFoundError: No module named 'no_such_module'"],
}


def recorded(name: str) -> list[str]:
    return (DATA / f"failures/{name}.txt").read_text().splitlines()


def blamed(
    lines: list[str],
    tmp_path: Path,
    end: Exit = Exit(code=1),  # noqa: B008 - a value
    jobs: int | None = None,
) -> BuildError | EngineError:
    with Watch(tmp_path / "log", Silent()) as run:
        for line in lines:
            run.line(line)
    return failure(end, run, FACTS, jobs)


@pytest.mark.parametrize("name", ACTIONS)
def test_the_first_real_error_lines(name: str, tmp_path: Path) -> None:
    excerpt = Excerpt()
    for line in recorded(name):
        if not line.startswith("tfbuild-event: "):
            excerpt.take(line)
    assert excerpt.lines == ACTIONS[name]
    error = blamed(recorded(name), tmp_path)
    assert isinstance(error, BuildError)
    assert error.why.endswith("\n".join(ACTIONS[name]))
    assert str(tmp_path / "log") in error.do


def test_how_many_actions_failed(tmp_path: Path) -> None:
    assert blamed(recorded("two_errors"), tmp_path).why.splitlines()[0] == (
        "3 actions failed, of //tensorflow/core/kernels:sum, //tensorflow/core/kernels:relu, "
        "//tensorflow/core/kernels:dot."
    )


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("packaging", " while packaging"),
        ("missing_target", " while analysing"),
        ("workspace", " while loading"),
        ("link", ""),
    ],
)
def test_the_phase_is_told(name: str, phase: str, tmp_path: Path) -> None:
    assert blamed(recorded(name), tmp_path).what == f"The compile failed with 1{phase}."


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fetch_404", "http://127.0.0.1:8377/x.tar.gz: GET returned 404 File not found"),
        (
            "fetch_sha",
            "http://127.0.0.1:8377/real.tar.gz: Checksum was "
            "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4 but wanted "
            + "0"
            * 64,
        ),
    ],
)
def test_a_download_that_fails_is_the_sources_fault(name: str, why: str, tmp_path: Path) -> None:
    error = blamed(recorded(name), tmp_path)
    assert isinstance(error, EngineError)
    assert "cannot download" in error.what
    assert error.why == why


@pytest.mark.parametrize(
    "said",
    [
        # As GCC 12 says it when the kernel kills its compiler proper, and when it kills the linker.
        "gcc: fatal error: Killed signal terminated program cc1plus",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
        "cc1plus: out of memory allocating 1677721600 bytes after a total of 1 bytes",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_lack_of_memory_is_named(said: str, tmp_path: Path) -> None:
    lines = recorded("compile_error")
    at = next(number for number, line in enumerate(lines) if NONSENSE in line)
    error = blamed([*lines[:at], said, *lines[at + 1 :]], tmp_path, jobs=6)
    assert "ran out of memory" in error.what
    assert "8 GiB" in error.why
    assert said in error.why
    assert "--jobs 3" in error.do


def test_words_about_memory_in_a_warning_are_no_lack_of_it(tmp_path: Path) -> None:
    warning = "a.cc:3:1: warning: may throw std::bad_alloc when Out of memory"
    error = blamed([warning, *recorded("compile_error")], tmp_path)
    assert "memory" not in error.what


def test_one_job_cannot_be_made_fewer(tmp_path: Path) -> None:
    error = blamed([], tmp_path, Exit(code=1, out_of_memory=True), jobs=1)
    assert "on an engine with more memory" in error.do


@pytest.mark.parametrize(
    "line",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        'tfbuild-event: {"n":9,"done":3,"exit":"OOM_ERROR"}',
    ],
)
def test_bazels_own_heap(line: str, tmp_path: Path) -> None:
    error = blamed(["[3 / 9] Compiling a.cc; 3s local", line], tmp_path, Exit(code=33))
    assert "its Java heap is full" in error.what
    assert "--jobs 4" in error.do


def test_bazels_server_dies(tmp_path: Path) -> None:
    line = (
        "Server terminated abruptly (error code: 14, error message: 'Socket closed', log file: "
        "'/tfbuild/output_base/server/jvm.out')"
    )
    error = blamed(["[3 / 9] Compiling a.cc; 3s local", line], tmp_path, Exit(code=37))
    assert "Bazel's own server died" in error.what
    assert "Socket closed" in error.why
    assert "--jobs 4" in error.do


def test_a_command_of_many_lines_is_not_shown() -> None:
    excerpt = Excerpt()
    for line in (
        (
            "ERROR: /x/BUILD:1:1: Executing genrule //:x failed (Exit 1): bash failed: "
            "error executing command (from target //:x) "
        ),
        (
            "ERROR: /x/BUILD:1:1: Executing genrule //:x failed: (Exit 1): bash failed: "
            "error executing Genrule command (from target //:x) "
        ),
        "  (cd /root/execroot && \\",
        "  exec env - \\",
        "    PATH=/bin \\",
        "  /bin/bash -c 'source setup.sh; for x in 1 2",
        "do echo error: $x",
        "done')",
        "# Configuration: 1234",
        "# Execution platform: @@local_config_platform//:host",
        "",
        "the table is empty",
        "INFO: Elapsed time: 1s",
        "[3 / 4] more",
    ):
        excerpt.take(line)
    assert excerpt.lines[-1] == "the table is empty"
    assert not [line for line in excerpt.lines if "echo" in line or "command" in line]


def test_a_flood_of_errors_keeps_the_first() -> None:
    excerpt = Excerpt()
    for number in range(1000):
        excerpt.take(f"a.cc:{number}:1: error: number {number}")
    assert len(excerpt.lines) == 12
    assert excerpt.lines[0] == "a.cc:0:1: error: number 0"
